/* One attention problem with buffers of its own, for the tests of the CPU variants. */
#ifndef TANDEM_TESTS_ATTENTION_CASE_H
#define TANDEM_TESTS_ATTENTION_CASE_H

#include "../../cpu_ref/attention_forward/attention_forward.h"
#include "tandem/philox.h"
#include <criterion/criterion.h>
#include <stdlib.h>

typedef struct attention_case {
    td_problem problem;
    td_tensor t[TD_ATTENTION_TENSORS];
} attention_case;

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
    for (int k = TD_Q; k <= TD_LSE; k++) free(x->t[k].data);
}

/* Run on poisoned outputs and workspace. */
static inline void attention_case_run(const attention_case *x, const td_variant *variant) {
    size_t bytes = variant->workspace_bytes(&x->problem);
    void *workspace = aligned_alloc(64, (bytes + 64) / 64 * 64);
    memset(workspace, 0xFF, bytes);
    for (int k = TD_O; k <= TD_LSE; k++) memset(x->t[k].data, 0xFF, (size_t)td_count(&x->t[k]) * sizeof(double));
    td_error err = {0};
    cr_assert_eq(variant->run(&x->problem, x->t, workspace, NULL, &err), TD_OK, "%s: %s", variant->name, err.message);
    free(workspace);
}

/* A copy of output TD_O or TD_LSE. */
static inline double *attention_case_output(const attention_case *x, int output) {
    size_t bytes = (size_t)td_count(&x->t[output]) * sizeof(double);
    return memcpy(malloc(bytes + 1), x->t[output].data, bytes);
}

/* Every variant of attention forward that has no deliberate mistake; NULL past the last. */
static inline const td_variant *attention_forward_variant(int i) {
    for (const td_variant *const *v = td_cpu_variants; *v; v++)
        if ((*v)->op == TD_OP_ATTENTION_FORWARD && !(*v)->mistake && i-- == 0) return *v;
    return NULL;
}

#endif
