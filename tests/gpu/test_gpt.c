/* The GPT on the GPU, run by the emulator, as a whole: loss and gradients beside the double model's, what it refuses,
 * and what it announces. Its layers have a suite of their own, test_gpt_layers.c. */
#include "../../checks/gpt_bound.h"
#include "../../checks/memory.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const td_gpt_config small = {.layers = 2, .heads = 2, .C = 16, .vocab = 20, .T_max = 7};
static const td_gpt_config ragged = {.layers = 1, .heads = 3, .C = 9, .vocab = 13, .T_max = 5};

static double worst_of(const td_gpt_bound *b, td_dtype products, const float *values) {
    td_engine engine;
    td_model model;
    td_error err = {TD_OK, ""};
    double loss;
    const char *where;
    float *gradients = malloc((size_t)b->elements * sizeof *gradients);
    cr_assert_not_null(gradients);
    cr_assert_eq(td_emulated_engine(&engine, NULL, &err), TD_OK, "%s", err.message);
    cr_assert_eq(td_emulated_model(&model, &b->config, products, b->B, 9, NULL, &err), TD_OK, "%s", err.message);
    cr_assert_eq(td_gpt_bound_run(b, &model, &engine, values, &loss, gradients, &err), TD_OK, "%s", err.message);
    double worst = td_gpt_bound_worst(b, loss, gradients, &where);
    cr_log_info("%s products: err/tol %.3f at %s", td_dtype_name(products), worst, where);
    model.destroy(model.self);
    free(gradients);
    return worst;
}

static td_gpt_bound *bound_of(const td_gpt_config *config, td_dtype products) {
    td_gpt_bound *b;
    td_error err = {TD_OK, ""};
    cr_assert_eq(td_gpt_bound_new(&b, config, 2, config->T_max, 9, products, &err), TD_OK, "%s", err.message);
    return b;
}

Test(gpu_gpt, loss_and_gradients_stay_within_the_bound_of_their_roundings) {
    const td_gpt_config *const configs[] = {&small, &ragged};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            td_dtype products = k ? TD_BF16 : TD_F32;
            td_gpt_bound *b = bound_of(configs[i], products);
            double worst = worst_of(b, products, b->values);
            cr_expect(worst <= 1, "C = %d, %s: err/tol %g", (int)configs[i]->C, td_dtype_name(products), worst);
            td_gpt_bound_delete(b);
        }
}
