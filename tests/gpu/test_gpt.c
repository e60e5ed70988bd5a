/* The GPT on the GPU, run by the emulator, as a whole: loss and gradients beside the double model's, what it refuses,
 * and what it announces. Its layers have a suite of their own, test_gpt_layers.c. */
#include "../../checks/gpt_bound.h"
#include "../../checks/memory.h"
#include "tandem/device.h"
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

static td_model model_of(td_dtype products) {
    td_model model;
    td_error err = {TD_OK, ""};
    cr_assert_eq(td_emulated_model(&model, &small, products, 2, 9, NULL, &err), TD_OK, "%s", err.message);
    return model;
}

/* All values, or all gradients. */
static float *downloaded(const td_model *m, int gradients, int64_t *elements) {
    *elements = 0;
    for (int i = 0; i < m->parameters; i++) *elements += m->parameter[i].count;
    float *copy = malloc((size_t)*elements * sizeof *copy);
    cr_assert_not_null(copy);
    const void *from = gradients ? m->parameter[0].gradient : m->parameter[0].value;
    cr_assert_eq(td_emulated_device(NULL)->download(copy, from, (size_t)*elements * sizeof *copy, NULL), TD_OK);
    return copy;
}

static const int32_t tokens[14] = {3, 19, 4, 4, 0, 7, 3, 3, 1, 2, 3, 4, 5, 6};
static const int32_t targets[14] = {19, 4, 4, -1, 7, 3, 11, 1, -5, 3, 4, 5, 6, 0};

Test(gpu_gpt, begins_with_the_values_of_the_cpu_bit_for_bit) {
    td_allocator plain = td_plain_allocator();
    td_model gpu = model_of(TD_BF16), cpu;
    int64_t elements;
    cr_assert_eq(td_cpu_model(&cpu, &small, TD_F32, 2, 9, &plain, NULL), TD_OK);
    float *values = downloaded(&gpu, 0, &elements);
    cr_assert_eq(gpu.parameters, cpu.parameters);
    cr_expect_eq(memcmp(values, cpu.parameter[0].value, (size_t)elements * sizeof *values), 0);
    for (int i = 0; i < gpu.parameters; i++) {
        const td_parameter *a = &gpu.parameter[i], *b = &cpu.parameter[i];
        cr_expect_str_eq(a->name, b->name);
        cr_expect(a->count == b->count && a->decay == b->decay && a->uses == b->uses && a->dtype == TD_F32);
        cr_expect_eq((float *)a->value - (float *)gpu.parameter[0].value,
                     (float *)b->value - (float *)cpu.parameter[0].value);
        cr_expect_eq((float *)a->gradient - (float *)gpu.parameter[0].gradient,
                     (float *)b->value - (float *)cpu.parameter[0].value);
    }
    free(values);
    gpu.destroy(gpu.self), cpu.destroy(cpu.self);
}

typedef struct announced {
    int next, wrong;
} announced;

static void count_down(void *context, int parameter) {
    announced *a = context;
    a->wrong += parameter != a->next--;
}

Test(gpu_gpt, adds_to_gradients_and_announces_them_from_the_last_to_the_first) {
    td_model m = model_of(TD_F32);
    int64_t counted, elements;
    cr_assert_eq(m.forward(m.self, tokens, targets, 2, 7, &counted, NULL), TD_OK);
    cr_assert_eq(counted, 12);
    cr_assert_eq(m.backward(m.self, 0.25, NULL, NULL, NULL), TD_OK);
    float *once = downloaded(&m, 1, &elements);
    announced a = {m.parameters - 1, 0};
    cr_assert_eq(m.backward(m.self, 0.5, count_down, &a, NULL), TD_OK);
    cr_expect(a.next == -1 && a.wrong == 0, "%d left, %d out of order", a.next + 1, a.wrong);
    float *thrice = downloaded(&m, 1, &elements);
    double apart = 0, size = 0;
    for (int64_t e = 0; e < elements; e++) {
        double g = (double)once[e];
        apart += ((double)thrice[e] - 3 * g) * ((double)thrice[e] - 3 * g), size += 9 * g * g;
    }
    /* twice the scale is exact up to the order of attention's atomics and the last addition: 8 u is some roundings */
    double allowed = 8 * td_unit_roundoff(TD_F32) * sqrt(size);
    cr_expect(size > 0 && sqrt(apart) <= allowed, "%g of %g", sqrt(apart), allowed);
    free(once), free(thrice);
    m.destroy(m.self);
}

static double gradients_size(const td_model *m) {
    int64_t elements;
    double sum = 0;
    float *g = downloaded(m, 1, &elements);
    for (int64_t e = 0; e < elements; e++) sum += fabs((double)g[e]);
    free(g);
    return sum;
}

Test(gpu_gpt, a_batch_that_counts_nothing_adds_nothing) {
    td_model m = model_of(TD_BF16);
    int32_t none[14];
    int64_t counted = 1;
    double loss = 1;
    announced a = {m.parameters - 1, 0};
    for (int n = 0; n < 14; n++) none[n] = -1;
    cr_assert_eq(m.forward(m.self, tokens, none, 2, 7, &counted, NULL), TD_OK);
    cr_assert_eq(m.loss(m.self, &loss, NULL), TD_OK);
    cr_assert_eq(m.backward(m.self, 1, NULL, NULL, NULL), TD_OK);
    cr_expect(counted == 0 && loss == 0 && gradients_size(&m) == 0);
    for (int64_t B = 0; B <= 2; B += 2) { /* no sequences; sequences of no tokens */
        counted = 1, loss = 1, a.next = m.parameters - 1;
        cr_assert_eq(m.forward(m.self, tokens, targets, B, B ? 0 : 7, &counted, NULL), TD_OK);
        cr_assert_eq(m.loss(m.self, &loss, NULL), TD_OK);
        cr_assert_eq(m.backward(m.self, 1, count_down, &a, NULL), TD_OK);
        cr_expect(counted == 0 && loss == 0 && gradients_size(&m) == 0);
        cr_expect(a.next == -1 && a.wrong == 0);
    }
    m.destroy(m.self);
}

Test(gpu_gpt, what_it_cannot_do_is_refused) {
    td_model m = model_of(TD_F32), none;
    td_error err = {TD_OK, ""};
    int64_t counted;
    double loss;
    int32_t bad[14];
    memcpy(bad, tokens, sizeof bad);
    bad[8] = 20;
    cr_expect_eq(m.backward(m.self, 1, NULL, NULL, &err), TD_BAD_PARAM);
    cr_expect_eq(m.loss(m.self, &loss, &err), TD_BAD_PARAM);
    cr_expect_eq(m.forward(m.self, bad, targets, 2, 7, &counted, &err), TD_BAD_PARAM);
    cr_expect(strstr(err.message, "sequence 1, position 1: token 20"), "%s", err.message);
    cr_expect_eq(m.forward(m.self, tokens, targets, 3, 7, &counted, &err), TD_BAD_PARAM);
    cr_expect_eq(m.forward(m.self, tokens, targets, 1, 8, &counted, &err), TD_BAD_PARAM);
    cr_expect_eq(m.forward(m.self, tokens, targets, 2, 7, &counted, &err), TD_OK);
    cr_expect_eq(m.backward(m.self, INFINITY, NULL, NULL, &err), TD_BAD_PARAM);
    m.destroy(m.self);
    td_gpt_config odd = small;
    odd.heads = 3;
    cr_expect_eq(td_emulated_model(&none, &odd, TD_F32, 2, 9, NULL, &err), TD_BAD_PARAM);
    cr_expect_eq(td_emulated_model(&none, &small, TD_FP16, 2, 9, NULL, &err), TD_BAD_PARAM);
    cr_expect(strstr(err.message, "products"), "%s", err.message);
    td_allocator device = td_emulated_device(NULL)->allocator;
    td_memory *memory = td_memory_over(&device, 40 << 20);
    td_allocator little = td_memory_allocator(memory);
    td_gpt_config wide = small;
    wide.vocab = 1 << 18;
    cr_expect_eq(td_emulated_model(&none, &wide, TD_F32, 2, 9, &little, &err), TD_NO_MEMORY);
    cr_expect_eq(td_memory_delete(memory), 0, "something was left");
}
