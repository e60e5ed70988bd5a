/* One attention problem with buffers of its own, for the tests of the CPU variants. */
#ifndef TANDEM_TESTS_ATTENTION_CASE_H
#define TANDEM_TESTS_ATTENTION_CASE_H

#include "../../checks/compare.h"
#include "../../checks/tolerance.h"
#include "../../cpu_ref/attention_forward/attention_forward.h"
#include "tandem/philox.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

typedef struct attention_case {
    td_problem problem;
    td_tensor t[TD_ATTENTION_TENSORS];
} attention_case;

/* Element number e in the order of the indices, whatever the strides. */
static inline int64_t attention_case_at(const td_tensor *t, int64_t e) {
    int64_t j = e % t->size[3], i = e / t->size[3] % t->size[2], bh = e / t->size[3] / t->size[2];
    return td_offset(t, bh / t->size[1], bh % t->size[1], i, j);
}

static inline double attention_case_get(const td_tensor *t, int64_t e) {
    return td_load(t, attention_case_at(t, e));
}

static inline void attention_case_set(const td_tensor *t, int64_t e, double x) {
    td_store(t, attention_case_at(t, e), x);
}

/* Contiguous tensors: N(0,1) inputs rounded to `dtype`, outputs in double, so that nothing hides what run() computed.
 */
static inline attention_case attention_case_new(td_attention_problem a, td_dtype dtype, uint64_t seed) {
    attention_case x = {.problem = {.op = TD_OP_ATTENTION_FORWARD, .attention = a}};
    for (int k = TD_Q; k <= TD_LSE; k++) {
        int kv = k == TD_K || k == TD_V, output = k == TD_O || k == TD_LSE;
        td_tensor *t = &x.t[k];
        *t = td_contiguous(NULL, output ? TD_F64 : dtype, a.B, kv ? a.Hkv : a.Hq, kv ? a.Tk : a.Tq,
                           k == TD_LSE ? 1 : a.d);
        t->data = malloc((size_t)td_count(t) * td_dtype_size(t->dtype) + 1);
        for (int64_t i = 0; !output && i < td_count(t); i++) td_store(t, i, td_normal(seed, (uint64_t)k, (uint64_t)i));
    }
    return x;
}

static inline void attention_case_free(attention_case *x) {
    for (int k = 0; k < TD_ATTENTION_TENSORS; k++) free(x->t[k].data);
}

/* A result's place is a NaN until it is written; one that is not wanted has none. */
static inline void attention_case_poison(const attention_case *x) {
    int forward = x->problem.op == TD_OP_ATTENTION_FORWARD;
    for (int k = forward ? TD_O : TD_DQ; k <= (forward ? TD_LSE : TD_DV); k++)
        for (int64_t e = 0; x->t[k].data && e < td_count(&x->t[k]); e++) attention_case_set(&x->t[k], e, (double)NAN);
}

/* Run on poisoned outputs and workspace; what lies behind the workspace must stay as it was. */
static inline void attention_case_run(const attention_case *x, const td_variant *variant) {
    enum { BAND = 64 };
    size_t bytes = variant->workspace_bytes(&x->problem);
    unsigned char *workspace = aligned_alloc(64, (bytes + BAND + 63) / 64 * 64);
    memset(workspace, 0xFF, bytes);
    memset(workspace + bytes, 0x5A, BAND);
    attention_case_poison(x);
    td_error err = {0};
    cr_assert_eq(variant->run(&x->problem, x->t, workspace, NULL, &err), TD_OK, "%s: %s", variant->name, err.message);
    for (int i = 0; i < BAND; i++)
        cr_assert_eq(workspace[bytes + (size_t)i], 0x5A, "%s: byte %d behind its workspace", variant->name, i);
    free(workspace);
}

/* A contiguous copy of an output. */
static inline double *attention_case_output(const attention_case *x, int output) {
    const td_tensor *t = &x->t[output];
    double *copy = malloc((size_t)td_count(t) * sizeof *copy + 1);
    for (int64_t e = 0; e < td_count(t); e++) copy[e] = attention_case_get(t, e);
    return copy;
}

/* Run `variant` and compare its outputs with O and LSE of the oracle: within `slack` times GATE (or HARD), and finite
 * exactly where the oracle is. */
static inline void attention_case_check(attention_case *x, const td_variant *variant, double *const want[2],
                                        int use_hard, double slack, const char *label) {
    attention_case_run(x, variant);
    for (int k = TD_O; k <= TD_LSE; k++) {
        td_tensor got = x->t[k],
                  reference = td_contiguous(want[k - TD_O], TD_F64, got.size[0], got.size[1], got.size[2], got.size[3]);
        size_t count = (size_t)td_count(&got);
        double *gate = malloc(count * sizeof *gate + 1), *hard = malloc(count * sizeof *hard + 1);
        td_tensor t[TD_ATTENTION_TENSORS];
        memcpy(t, x->t, sizeof t);
        t[TD_O].data = want[0], t[TD_LSE].data = want[1];
        td_bounds bounds = {gate, hard};
        cr_assert_eq(td_tolerance(&x->problem, &variant->rounding, t, k, variant->rounding.arithmetic, &bounds, NULL),
                     TD_OK);
        double *tol = use_hard ? hard : gate;
        for (size_t e = 0; e < count; e++) tol[e] *= slack;
        td_comparison c;
        td_compare(&got, &reference, tol, k == TD_LSE, &c);
        cr_assert_neq(c.verdict, TD_FAIL, "%s, %s, block %ld: %s[%ld,%ld,%ld,%ld] = %.9g, want %.9g, tolerance %.3g",
                      variant->name, label, (long)x->problem.attention.block, k == TD_O ? "O" : "LSE", (long)c.worst[0],
                      (long)c.worst[1], (long)c.worst[2], (long)c.worst[3], c.got, c.want, c.tol);
        free(gate), free(hard);
    }
}

/* O and LSE of the oracle, for attention_case_check; the caller frees both. */
static inline void attention_case_oracle(const attention_case *x, double *want[2]) {
    attention_case_run(x, &td_attention_forward_dense_f64);
    want[0] = attention_case_output(x, TD_O), want[1] = attention_case_output(x, TD_LSE);
}

/* Every CPU variant of an operation that has no deliberate mistake; NULL past the last. */
static inline const td_variant *attention_variant(td_op op, int i) {
    for (const td_variant *const *v = td_cpu_variants; *v; v++)
        if ((*v)->op == op && !(*v)->mistake && i-- == 0) return *v;
    return NULL;
}

static inline const td_variant *attention_forward_variant(int i) {
    return attention_variant(TD_OP_ATTENTION_FORWARD, i);
}

#endif
