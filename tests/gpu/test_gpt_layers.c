/* Each layer of the GPU's GPT, run by the emulator, beside the double operation; and wrong ones that must fail: without
 * the residual path, with the other GELU, with a row missing from a bias' gradient, with TF32 in a float32 product. */
#include "../../checks/gpt_bound.h"
#include "../../checks/gpt_layers.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const td_layer_shape ragged = {.B = 2, .T = 5, .heads = 3, .d = 3, .vocab = 13};
static const td_layer_shape even = {.B = 3, .T = 12, .heads = 2, .d = 8, .vocab = 20};

static double worst_of(int layer, const td_gpt_layers *layers, const td_layer_shape *shape, td_dtype factor) {
    td_error err = {TD_OK, ""};
    const td_device *device = td_emulated_device(&err);
    const char *where;
    double worst;
    cr_assert_not_null(device, "%s", err.message);
    cr_assert_eq(td_layer_check(layer, layers, device, shape, factor, &worst, &where, &err), TD_OK, "%s: %s",
                 td_layer_name(layer), err.message);
    cr_log_info("%-20s %s: err/tol %.3f at %s", td_layer_name(layer), td_dtype_name(factor), worst, where);
    return worst;
}

Test(gpu_gpt_layers, each_is_within_the_bound_of_its_roundings) {
    for (int i = 0; td_layer_name(i); i++) {
        double worst = worst_of(i, &td_emulated_gpt_layers, &even, TD_BF16);
        cr_expect(worst <= 1, "%s, bf16: err/tol %g", td_layer_name(i), worst);
        if (!strcmp(td_layer_name(i), "round")) continue;
        worst = worst_of(i, &td_emulated_gpt_layers, &ragged, TD_F32);
        cr_expect(worst <= 1, "%s, f32: err/tol %g", td_layer_name(i), worst);
    }
}

static int layer_named(const char *name) {
    int i = 0;
    while (strcmp(td_layer_name(i), name) != 0) i++;
    return i;
}

/* The table with one function replaced fails that layer's check, in float32. */
static void assert_caught(const char *name, const td_gpt_layers *wrong) {
    double right = worst_of(layer_named(name), &td_emulated_gpt_layers, &even, TD_F32);
    double worst = worst_of(layer_named(name), wrong, &even, TD_F32);
    cr_expect(right <= 1 && !(worst <= 1), "%s: err/tol %g, of the wrong one %g", name, right, worst);
}

/* A host copy of `count` numbers of 4 bytes in the emulator's memory; and back, the copy freed. */
static void *copied(const void *from, int64_t count) {
    void *copy = malloc((size_t)count * sizeof(float));
    cr_assert_not_null(copy);
    cr_assert_eq(td_emulated_device(NULL)->download(copy, from, (size_t)count * sizeof(float), NULL), TD_OK);
    return copy;
}
static void put_back(void *to, void *copy, int64_t count) {
    cr_assert_eq(td_emulated_device(NULL)->upload(to, copy, (size_t)count * sizeof(float), NULL), TD_OK);
    free(copy);
}

static td_status without_residual(void *y, td_dtype factor, float *sum, const float *stream_in, const float *branch,
                                  const float *branch_bias, const td_norm *norm, void *stream, td_error *err) {
    (void)stream_in;
    put_back(sum, calloc((size_t)(norm->N * norm->C), sizeof *sum), norm->N * norm->C);
    return td_emulated_gpt_layers.residual_layernorm_forward(y, factor, sum, sum, branch, branch_bias, norm, stream,
                                                             err);
}

static td_status gelu_by_tanh(void *y, td_dtype factor, const float *x, const float *bias, int64_t N, int64_t outs,
                              void *stream, td_error *err) {
    (void)factor, (void)stream, (void)err;
    float *z = copied(x, N * outs), *b = copied(bias, outs);
    for (int64_t k = 0; k < N * outs; k++) {
        double v = (double)z[k] + (double)b[k % outs];
        z[k] = (float)(0.5 * v * (1 + tanh(0.79788456080286536 * (v + 0.044715 * v * v * v))));
    }
    free(b);
    put_back(y, z, N * outs);
    return TD_OK;
}

static td_status bias_without_the_last_row(float *dbias, void *rounded, const void *dy, td_dtype dtype, float scale,
                                           int64_t N, int64_t outs, void *stream, td_error *err) {
    return td_emulated_gpt_layers.bias_backward(dbias, rounded, dy, dtype, scale, N - 1, outs, stream, err);
}

static td_status dbias_of_gelu_without_the_last_row(void *dx, td_dtype factor, float *dbias, const float *dy,
                                                    const float *x, const float *bias, int64_t N, int64_t outs,
                                                    void *stream, td_error *err) {
    float *before = copied(dbias, outs);
    td_status s = td_emulated_gpt_layers.bias_gelu_backward(dx, factor, dbias, dy, x, bias, N, outs, stream, err);
    put_back(dbias, before, outs);
    float *last = copied((const float *)dx + (N - 1) * outs, outs);
    if (!s) s = td_emulated_gpt_layers.bias_gelu_backward(dx, factor, dbias, dy, x, bias, N - 1, outs, stream, err);
    put_back((float *)dx + (N - 1) * outs, last, outs);
    return s;
}

static td_status product_in_tf32(td_products *products, const td_product *p, td_error *err) {
    td_product rounded = *p;
    float *a = copied(p->A, p->m * p->k);
    for (int64_t k = 0; k < p->m * p->k; k++) a[k] = td_to_tf32(a[k]);
    const td_allocator *allocator = &td_emulated_device(NULL)->allocator;
    rounded.A = allocator->alloc(allocator->context, (size_t)(p->m * p->k) * sizeof *a, TD_MEM_DATA);
    put_back((void *)rounded.A, a, p->m * p->k);
    td_status s = td_emulated_gpt_layers.product(products, &rounded, err);
    allocator->free(allocator->context, (void *)rounded.A);
    return s;
}

static td_status tokens_seen_once(float *dtoken, float *dposition, const float *dx, const int32_t *tokens, int64_t B,
                                  int64_t T, int64_t C, void *stream, td_error *err) {
    return td_emulated_gpt_layers.embedding_backward(dtoken, dposition, dx, tokens, B > 1 ? B - 1 : B, T, C, stream,
                                                     err);
}

static td_status uncounted_targets_counted(float *loss, void *z, td_dtype factor, const float *bias,
                                           const int32_t *targets, int64_t N, int64_t vocab, void *stream,
                                           td_error *err) {
    int32_t *copy = copied(targets, N);
    for (int64_t n = 0; n < N; n++) copy[n] = copy[n] < 0 ? 0 : copy[n];
    put_back((int32_t *)targets, copy, N);
    return td_emulated_gpt_layers.cross_entropy(loss, z, factor, bias, targets, N, vocab, stream, err);
}

Test(gpu_gpt_layers, wrong_ones_are_caught) {
    td_gpt_layers wrong = td_emulated_gpt_layers;
    wrong.residual_layernorm_forward = without_residual;
    assert_caught("residual layernorm", &wrong);
    wrong.bias_gelu_forward = gelu_by_tanh;
    assert_caught("bias gelu", &wrong);
    wrong.bias_backward = bias_without_the_last_row;
    assert_caught("bias backward", &wrong);
    wrong.bias_gelu_backward = dbias_of_gelu_without_the_last_row;
    assert_caught("bias gelu backward", &wrong);
    wrong.product = product_in_tf32;
    assert_caught("linear", &wrong);
    wrong.embedding_backward = tokens_seen_once;
    assert_caught("embedding backward", &wrong);
    wrong.cross_entropy = uncounted_targets_counted;
    assert_caught("cross entropy", &wrong);
}
