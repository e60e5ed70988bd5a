/* Backward as someone learning would hand it in: see student.h. One key/value head with the query heads that read it,
 * on plain row-major float arrays. */
#ifndef TANDEM_TESTS_STUDENT_BACKWARD_H
#define TANDEM_TESTS_STUDENT_BACKWARD_H

#include "student.h"

/* Q, O, dO, dQ (heads,Tq,d), LSE (heads,Tq), K, V, dK, dV (Tk,d). Outputs arrive full of NaN. P and dS are rounded to
 * `probs` before they meet dO, K and Q. */
typedef struct student_backward {
    int heads, Tq, Tk, d, block;
    float scale;
    td_mask mask;
    td_dtype probs;
    const float *Q, *K, *V, *O, *LSE, *dO;
    float *dQ, *dK, *dV;
} student_backward;

typedef void (*student_gradient)(const student_backward *x);
/* Calls `gradient` for every key/value head. `modulo`: query head h reads key/value head h mod Hkv. */
td_status student_backward_run(const td_problem *problem, const td_tensor *t, student_gradient gradient, int modulo,
                               td_error *err);

#define STUDENT_BACKWARD_RUN(name, modulo, BODY)                                                                       \
    static void gradient_##name(const student_backward *x) {                                                           \
        BODY;                                                                                                          \
    }                                                                                                                  \
    static td_status run_##name(const td_problem *problem, const td_tensor *t, void *workspace, void *stream,          \
                                td_error *err) {                                                                       \
        (void)workspace, (void)stream;                                                                                 \
        return student_backward_run(problem, t, gradient_##name, modulo, err);                                         \
    }

static inline float student_dot(const float *x, const float *y, int d) {
    float sum = 0;
    for (int c = 0; c < d; c++) sum += x[c] * y[c];
    return sum;
}

static inline int student_backward_may_read(const student_backward *x, td_mask mask, int i, int j) {
    return mask == TD_MASK_NONE || j <= i + (mask == TD_MASK_CAUSAL_BOTTOM_RIGHT ? x->Tk - x->Tq : 0);
}

static inline void student_backward_clear(const student_backward *x) {
    for (int e = 0; e < x->heads * x->Tq * x->d; e++) x->dQ[e] = 0;
    for (int e = 0; e < x->Tk * x->d; e++) x->dK[e] = x->dV[e] = 0;
}

extern const mutant mutants_backward_formula[], mutants_backward_blockwise[], mutants_backward_imprecise[],
    mutants_backward_lazy[];
/* The same code without a bug: must not FAIL. */
extern const mutant mutants_backward_right[], mutants_backward_by_blocks[], mutants_backward_enough_bits[];

#endif
