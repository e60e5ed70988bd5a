/* The model's attention against the oracle of attention forward, on the same numbers seen through strides. */
#include "../../../cpu_ref/attention_forward/attention_forward.h"
#include "../../../cpu_ref/gpt/operations.h"
#include "tiny.h"

enum { B = 2, HEADS = 3, T = 17, D = 5, C = HEADS * D };

/* Worst of |got − want| / bound over the outputs. Both evaluate the formula in double, so the bound is twice one
 * evaluation's first-order error: a score errs by (d + 1)u·scale·Σ|q||k| ≤ E; P_j, a quotient of exponentials of
 * scores, by 2E + (T + 4)u relative; O by that and its own T roundings, times Σ P|V|. */
static double worst(const double *got, const td_tensor *t, const double *P) {
    const double u = td_unit_roundoff(TD_F64);
    double worst = 0;
    for (int64_t b = 0; b < B; b++)
        for (int64_t h = 0; h < HEADS; h++)
            for (int64_t i = 0; i < T; i++) {
                double E = 0;
                for (int64_t j = 0; j <= i; j++) {
                    double size = 0;
                    for (int64_t c = 0; c < D; c++)
                        size += fabs(td_get(&t[TD_Q], b, h, i, c) * td_get(&t[TD_K], b, h, j, c));
                    E = fmax(E, (D + 1) * u * size / sqrt(D));
                }
                for (int64_t c = 0; c < D; c++) {
                    double sum = 0;
                    for (int64_t j = 0; j <= i; j++)
                        sum += P[((b * HEADS + h) * T + i) * T + j] * fabs(td_get(&t[TD_V], b, h, j, c));
                    double bound = 2 * (2 * E + (2 * T + 4) * u) * sum;
                    double error = fabs(got[((b * T + i) * HEADS + h) * D + c] - td_get(&t[TD_O], b, h, i, c));
                    worst = fmax(worst, error / bound);
                }
            }
    return worst;
}

Test(gpt, attention_agrees_with_the_oracle) {
    static double qkv[B * T * 3 * C], got[B * T * C], want[B * T * C], P[B * HEADS * T * T], scores[B * HEADS * T * T];
    for (int i = 0; i < B * T * 3 * C; i++) qkv[i] = 2 * td_normal(3, 0, (uint64_t)i);
    td_gpt_operations_f64.attention_forward(got, P, qkv, B, T, HEADS, D);

    td_tensor t[TD_ATTENTION_TENSORS] = {0};
    for (int which = 0; which < 3; which++)
        t[TD_Q + which] = (td_tensor){qkv + which * C, TD_F64, {B, HEADS, T, D}, {T * 3 * C, D, 3 * C, 1}};
    t[TD_O] = (td_tensor){want, TD_F64, {B, HEADS, T, D}, {T * C, D, C, 1}};
    td_problem problem = {.op = TD_OP_ATTENTION_FORWARD,
                          .attention = {B, HEADS, HEADS, T, T, D, 1 / sqrt(D), TD_MASK_CAUSAL_TOP_LEFT, 0}};
    const td_variant *oracle = &td_attention_forward_dense_f64;
    cr_assert_leq(oracle->workspace_bytes(&problem), sizeof scores);
    cr_assert_eq(oracle->run(&problem, t, scores, NULL, NULL), TD_OK);

    cr_expect(worst(got, t, P) <= 1, "err/tol %g", worst(got, t, P));
    got[7] *= 1 + 1e-12;
    cr_expect_not(worst(got, t, P) <= 1, "a relative error of 1e-12 passes");
}
