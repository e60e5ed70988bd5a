/* The table of operations, and what makes a problem and its tensors legal. */
#include "operations.h"
#include <math.h>

static void attention_shape(const td_problem *problem, int tensor, int64_t size[4]) {
    const td_attention_problem *a = &problem->attention;
    int is_kv = tensor == TD_K || tensor == TD_V || tensor == TD_DK || tensor == TD_DV;
    size[0] = a->B;
    size[1] = is_kv ? a->Hkv : a->Hq;
    size[2] = is_kv ? a->Tk : a->Tq;
    size[3] = tensor == TD_LSE ? 1 : a->d;
}

static void gemm_shape(const td_problem *problem, int tensor, int64_t size[4]) {
    const td_matrix_problem *m = &problem->matrix;
    size[0] = size[1] = 1;
    size[2] = tensor == TD_B ? m->K : m->M;
    size[3] = tensor == TD_A ? m->K : m->N;
}

static void rows_shape(const td_problem *problem, int tensor, int64_t size[4]) {
    (void)tensor; /* X and Y are alike */
    size[0] = size[1] = 1;
    size[2] = problem->matrix.M;
    size[3] = problem->matrix.N;
}

static const td_operation operations[TD_OPS] = {
    [TD_OP_ATTENTION_FORWARD] =
        {"attention_forward",
         5,
         {{"Q", TD_Q, 0, 0}, {"K", TD_K, 0, 0}, {"V", TD_V, 0, 0}, {"O", TD_O, 1, 0}, {"LSE", TD_LSE, 1, 1}},
         "dense_f64",
         "online_f64",
         attention_shape},
    [TD_OP_ATTENTION_BACKWARD] = {"attention_backward",
                                  9,
                                  {{"Q", TD_Q, 0, 0},
                                   {"K", TD_K, 0, 0},
                                   {"V", TD_V, 0, 0},
                                   {"O", TD_O, 0, 0},
                                   {"LSE", TD_LSE, 0, 1},
                                   {"dO", TD_DO, 0, 0},
                                   {"dQ", TD_DQ, 1, 0},
                                   {"dK", TD_DK, 1, 0},
                                   {"dV", TD_DV, 1, 0}},
                                  "backward_dense_f64",
                                  "backward_recompute_f64",
                                  attention_shape},
    [TD_OP_GEMM] =
        {"gemm", 3, {{"A", TD_A, 0, 0}, {"B", TD_B, 0, 0}, {"C", TD_C, 1, 0}}, "gemm_naive_f64", NULL, gemm_shape},
    [TD_OP_SOFTMAX] = {"softmax", 2, {{"X", TD_X, 0, 0}, {"Y", TD_Y, 1, 0}}, "softmax_f64", NULL, rows_shape},
    [TD_OP_GELU] = {"gelu", 2, {{"X", TD_X, 0, 0}, {"Y", TD_Y, 1, 0}}, "gelu_f64", NULL, rows_shape},
};

const td_operation *td_operation_of(td_op op) {
    return (unsigned)op < TD_OPS ? &operations[op] : NULL;
}

static td_status at_least(const char *name, int64_t value, int64_t low, td_error *err) {
    if (value >= low) return TD_OK;
    return td_fail(err, TD_BAD_PARAM, "%s = %lld: must be at least %lld", name, (long long)value, (long long)low);
}

static td_status attention_validate(const td_attention_problem *a, td_error *err) {
    td_status s;
    if ((s = at_least("B", a->B, 0, err)) || (s = at_least("Hq", a->Hq, 1, err)) ||
        (s = at_least("Hkv", a->Hkv, 1, err)) || (s = at_least("Tq", a->Tq, 0, err)) ||
        (s = at_least("Tk", a->Tk, 0, err)) || (s = at_least("block", a->block, 0, err)))
        return s;
    if (a->Hq % a->Hkv)
        return td_fail(err, TD_BAD_PARAM, "Hq = %lld: must be a multiple of Hkv = %lld", (long long)a->Hq,
                       (long long)a->Hkv);
    if (a->d < 1 || a->d > 256) return td_fail(err, TD_BAD_PARAM, "d = %lld: must be in 1 … 256", (long long)a->d);
    if (!isfinite(a->scale)) return td_fail(err, TD_BAD_PARAM, "scale = %g: must be finite", a->scale);
    if ((unsigned)a->mask >= TD_MASKS)
        return td_fail(err, TD_BAD_PARAM, "mask = %d: must be none, causal-top-left or causal-bottom-right",
                       (int)a->mask);
    return TD_OK;
}

static td_status matrix_validate(const td_matrix_problem *m, td_error *err) {
    td_status s;
    if ((s = at_least("M", m->M, 0, err)) || (s = at_least("N", m->N, 0, err))) return s;
    return at_least("K", m->K, 0, err);
}

/* total += n0·n1·n2·n3, or 1 when the sum would pass the limit. */
static int too_many(int64_t *total, const int64_t n[4]) {
    int64_t product = 1;
    for (int k = 0; k < 4; k++)
        if (n[k] == 0) return 0;
    for (int k = 0; k < 4; k++)
        if (__builtin_mul_overflow(product, n[k], &product)) return 1;
    return __builtin_add_overflow(*total, product, total) || *total >= TD_MAX_ELEMENTS;
}

td_status td_problem_validate(const td_problem *problem, td_error *err) {
    if (!problem) return td_fail(err, TD_BAD_PARAM, "problem: must not be NULL");
    const td_operation *operation = td_operation_of(problem->op);
    if (!operation) return td_fail(err, TD_BAD_PARAM, "op = %d: must be in 0 … %d", (int)problem->op, TD_OPS - 1);
    int is_attention = td_op_is_attention(problem->op);
    td_status s = is_attention ? attention_validate(&problem->attention, err) : matrix_validate(&problem->matrix, err);
    if (s) return s;
    int64_t total = 0, size[4];
    int over = 0;
    for (int k = 0; k < operation->tensors; k++) {
        operation->shape(problem, operation->role[k].index, size);
        over |= too_many(&total, size);
    }
    const td_attention_problem *a = &problem->attention;
    if (is_attention) over |= too_many(&total, (int64_t[4]){a->B, a->Hq, a->Tq, a->Tk});
    return over ? td_fail(err, TD_BAD_PARAM, "%s: more than 2^59 elements; make a size smaller", operation->name)
                : TD_OK;
}

/* The view's extreme offsets, in bytes, must be 63-bit numbers: added to an address they stay below 2^63. */
static int reach_overflows(const td_tensor *t) {
    int64_t total = 0;
    for (int k = 0; k < 4; k++) {
        int64_t reach, stride = t->stride[k];
        if (t->size[k] < 2) continue;
        if (stride == INT64_MIN || __builtin_mul_overflow(t->size[k] - 1, stride < 0 ? -stride : stride, &reach) ||
            __builtin_add_overflow(total, reach, &total))
            return 1;
    }
    return total > INT64_MAX / 16 - 1;
}

static td_status tensor_validate(const td_tensor_role *role, const td_tensor *t, const int64_t size[4], td_error *err) {
    if (role->is_output && !t->data) return TD_OK; /* not wanted */
    if ((unsigned)t->dtype >= TD_DTYPES)
        return td_fail(err, TD_BAD_PARAM, "%s: dtype = %d is none of f64, f32, bf16, fp16", role->name, (int)t->dtype);
    for (int k = 0; k < 4; k++)
        if (t->size[k] != size[k])
            return td_fail(err, TD_BAD_PARAM, "%s: size %d is %lld; this problem needs %lld", role->name, k,
                           (long long)t->size[k], (long long)size[k]);
    if (td_count(t) == 0) return TD_OK;
    if (!t->data) return td_fail(err, TD_BAD_PARAM, "%s: data must not be NULL", role->name);
    if ((uintptr_t)t->data % td_dtype_size(t->dtype))
        return td_fail(err, TD_BAD_PARAM, "%s: data must be aligned to its elements", role->name);
    if (reach_overflows(t)) return td_fail(err, TD_BAD_PARAM, "%s: strides reach beyond 64-bit offsets", role->name);
    for (int k = 0; k < 4 && role->is_output; k++)
        if (t->size[k] > 1 && t->stride[k] == 0)
            return td_fail(err, TD_BAD_PARAM, "%s: stride %d is 0; an output's elements need places of their own",
                           role->name, k);
    return TD_OK;
}

/* First byte of a view and the byte past its last; a negative stride reaches below `data`. */
static void byte_range(const td_tensor *t, int64_t *first, int64_t *end) {
    int64_t element = (int64_t)td_dtype_size(t->dtype), low = 0, high = 0;
    for (int k = 0; k < 4; k++) {
        int64_t reach = t->size[k] < 2 ? 0 : (t->size[k] - 1) * t->stride[k];
        *(reach < 0 ? &low : &high) += reach;
    }
    *first = (int64_t)(intptr_t)t->data + low * element;
    *end = (int64_t)(intptr_t)t->data + (high + 1) * element;
}

static int overlap(const td_tensor *a, const td_tensor *b) {
    int64_t a_first, a_end, b_first, b_end;
    if (!a->data || !b->data || td_count(a) == 0 || td_count(b) == 0) return 0;
    byte_range(a, &a_first, &a_end);
    byte_range(b, &b_first, &b_end);
    return a_first < b_end && b_first < a_end;
}

/* Inputs may share memory; an output shares it with none. All tensors are legal by themselves. */
static td_status outputs_validate(const td_operation *operation, const td_tensor *tensors, td_error *err) {
    for (int o = 0; o < operation->tensors; o++)
        for (int k = 0; k < operation->tensors; k++) {
            const td_tensor_role *output = &operation->role[o], *other = &operation->role[k];
            if (o == k || !output->is_output || !overlap(&tensors[output->index], &tensors[other->index])) continue;
            return td_fail(err, TD_BAD_PARAM, "%s, %s: overlap in memory; an output needs memory of its own",
                           output->name, other->name);
        }
    return TD_OK;
}

td_status td_tensors_validate(const td_problem *problem, const td_tensor *tensors, td_error *err) {
    const td_operation *operation = td_operation_of(problem->op);
    if (!tensors) return td_fail(err, TD_BAD_PARAM, "tensors: must not be NULL");
    for (int k = 0; k < operation->tensors; k++) {
        const td_tensor_role *role = &operation->role[k];
        int64_t size[4];
        operation->shape(problem, role->index, size);
        td_status s = tensor_validate(role, &tensors[role->index], size, err);
        if (s) return s;
    }
    return outputs_validate(operation, tensors, err);
}
