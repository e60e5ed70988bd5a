/* One problem of attention backward with buffers of its own. */
#ifndef TANDEM_TESTS_BACKWARD_CASE_H
#define TANDEM_TESTS_BACKWARD_CASE_H

#include "../../../checks/check.h"
#include "../../../cpu_ref/attention_backward/attention_backward.h"
#include "../attention_case.h"

static inline const td_variant *backward_variant(int i) {
    return attention_variant(TD_OP_ATTENTION_BACKWARD, i);
}

static inline const char *backward_output_name(int output) {
    return output == TD_DQ ? "dQ" : output == TD_DK ? "dK" : "dV";
}

/* A contiguous tensor like `shape`, holding its values rounded once to `dtype`. */
static inline td_tensor backward_case_copy(const td_tensor *shape, td_dtype dtype) {
    const int64_t *n = shape->size;
    td_tensor copy = td_contiguous(NULL, dtype, n[0], n[1], n[2], n[3]);
    copy.data = malloc((size_t)td_count(&copy) * td_dtype_size(dtype) + 1);
    for (int64_t e = 0; e < td_count(&copy); e++) attention_case_set(&copy, e, attention_case_get(shape, e));
    return copy;
}

/* O and LSE as the variant of `dtype` is given them: forward's oracle on the inputs that x now holds, rounded once. */
static inline void backward_case_forward(attention_case *x, td_dtype dtype) {
    const int64_t *q = x->t[TD_Q].size;
    td_op op = x->problem.op;
    for (int k = TD_O; k <= TD_LSE; k++) {
        free(x->t[k].data);
        x->t[k] = td_contiguous(NULL, TD_F64, q[0], q[1], q[2], k == TD_O ? q[3] : 1);
        x->t[k].data = malloc((size_t)td_count(&x->t[k]) * sizeof(double) + 1);
    }
    x->problem.op = TD_OP_ATTENTION_FORWARD;
    attention_case_run(x, &td_attention_forward_dense_f64);
    x->problem.op = op;
    for (int k = TD_O; k <= TD_LSE; k++) {
        td_tensor exact = x->t[k];
        x->t[k] = backward_case_copy(&exact, k == TD_O || dtype == TD_F64 ? dtype : TD_F32);
        free(exact.data);
    }
}

/* Contiguous tensors: N(0,1) inputs rounded to `dtype`, O and LSE of forward, outputs in double. */
static inline attention_case backward_case_new(td_attention_problem a, td_dtype dtype, uint64_t seed) {
    attention_case x = attention_case_new(a, dtype, seed);
    x.problem.op = TD_OP_ATTENTION_BACKWARD;
    backward_case_forward(&x, dtype);
    for (int k = TD_DO; k <= TD_DV; k++) {
        int like = k == TD_DK || k == TD_DV ? TD_K : TD_Q;
        x.t[k] = backward_case_copy(&x.t[like], k == TD_DO ? dtype : TD_F64);
    }
    for (int64_t i = 0; i < td_count(&x.t[TD_DO]); i++) td_store(&x.t[TD_DO], i, td_normal(seed, TD_DO, (uint64_t)i));
    return x;
}

/* The variant's answer, left in x, against the oracle's within GATE (or HARD); 0 if the variant says that it cannot. */
static inline int backward_case_check(const attention_case *x, const td_variant *v, int use_hard, const char *label) {
    td_check_result r;
    td_error err = {TD_OK, ""};
    cr_assert_eq(td_check_tensors(v, &x->problem, x->t, use_hard, NULL, &r, &err), TD_OK, "%s", err.message);
    const td_comparison *c = &r.output[td_check_worst(&r)];
    cr_assert_neq(r.verdict, TD_FAIL, "%s, %s, block %ld: %s %s[%ld,%ld,%ld,%ld] = %.9g, want %.9g, tolerance %.3g",
                  v->name, label, (long)x->problem.attention.block, r.reason, r.output_name[td_check_worst(&r)],
                  (long)c->worst[0], (long)c->worst[1], (long)c->worst[2], (long)c->worst[3], c->got, c->want, c->tol);
    return r.verdict != TD_SKIP;
}

#endif
