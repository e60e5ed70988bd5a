/* The float32 model against the double one, within the bound of its roundings; weights rounded to TF32's 11 bits must
 * fail. */
#include "../../../checks/gpt_bound.h"
#include "tiny.h"

static double worst_of(const td_gpt_bound *b, const float *values) {
    td_allocator allocator = td_plain_allocator();
    td_engine engine = td_cpu_engine(&allocator);
    td_model model;
    td_error err = {TD_OK, ""};
    double loss;
    const char *where;
    float *gradients = malloc((size_t)b->elements * sizeof *gradients);
    cr_assert_not_null(gradients);
    cr_assert_eq(td_cpu_model(&model, &b->config, TD_F32, b->B, 9, &allocator, &err), TD_OK, "%s", err.message);
    cr_assert_eq(td_gpt_bound_run(b, &model, &engine, values, &loss, gradients, &err), TD_OK, "%s", err.message);
    double worst = td_gpt_bound_worst(b, loss, gradients, &where);
    cr_log_info("err/tol %.2f at %s", worst, where);
    model.destroy(model.self);
    free(gradients);
    return worst;
}

Test(gpt, float32_stays_within_the_bound_of_its_roundings) {
    const td_gpt_config config = {.layers = 2, .heads = 4, .C = 32, .vocab = 64, .T_max = 24};
    td_gpt_bound *b;
    td_error err = {TD_OK, ""};
    cr_assert_eq(td_gpt_bound_new(&b, &config, 3, 24, 9, TD_F32, &err), TD_OK, "%s", err.message);
    double worst = worst_of(b, b->values);
    cr_expect(worst <= 1, "err/tol %g", worst);
    for (int64_t k = 0; k < b->elements; k++) b->values[k] = td_to_tf32(b->values[k]);
    worst = worst_of(b, b->values);
    cr_expect_not(worst <= 1, "TF32 weights pass: err/tol %g", worst);
    td_gpt_bound_delete(b);
}
