/* Bounds for GEMM, softmax and GELU; attention's are in tolerance_attention.c and tolerance_attention_backward.c. */
#include "tolerance.h"
#include "operations.h"
#include "tolerance_attention.h"
#include "tolerance_attention_backward.h"
#include "tolerance_terms.h"

/* λ = 6: an element of a correct computation is outside GATE with probability at most 2 exp(−18) = 3.0e-8, if its
 * rounding errors are independent with mean zero. (They are also smaller than their bound u, by about half on average,
 * so in practice it does not happen.) */
static const double lambda = 6;

double td_gate_lambda(void) {
    return lambda;
}

double td_gate_failure_probability(void) {
    return 2 * exp(-lambda * lambda / 2);
}

/* GEMM: C_ij is a sum of K products (td_sum), each product or, with fused multiply-add, none of them rounded.
 * HARD: (K products and K sums) γ_K+1 Σ|a b|. Both: the store, twice half a unit in the last place so that a correctly
 * rounded result is a PASS; K products that may be flushed to zero. */
static void bound_gemm(const td_matrix_problem *p, const td_rounding *r, const td_tensor *t, td_dtype output, int64_t i,
                       double *gate, double *hard) {
    double u = td_unit_roundoff(r->arithmetic);
    for (int64_t j = 0; j < p->N; j++) {
        double want = td_get(&t[TD_C], 0, 0, i, j);
        gate[j] = hard[j] = 0;
        if (!isfinite(want)) continue;
        td_sum sum = {0};
        for (int64_t k = 0; k < p->K; k++)
            td_sum_add(&sum, td_get(&t[TD_A], 0, 0, i, k) * td_get(&t[TD_B], 0, 0, k, j));
        double fixed = 2 * td_half_ulp(want, output) + (double)p->K * td_flush_unit(r->arithmetic);
        hard[j] = td_gamma((double)p->K + 1, u) * sum.magnitude + fixed;
        gate[j] = fmin(lambda * u * sqrt(td_sum_variance(&sum)) + fixed, hard[j]);
    }
}

/* Softmax: y_k = w_k / l, w_k = exp(x_k − m), l = Σ w. In w_k the subtraction makes an error u|x_k − m| and the
 * exponential e·u, together c_k; l gathers Σ p c and the errors of a sum of n terms, each partial sum of which an
 * online variant rescales by a further exponential; the division or reciprocal adds 2u, rounding to `probs` u_P. All
 * are relative to y_k, so y_k times the root of the sum of squares, or times exp(sum) − 1. */
static void bound_softmax(const td_matrix_problem *p, const td_rounding *r, const td_tensor *t, td_dtype output,
                          int64_t i, double *gate, double *hard) {
    double u = td_unit_roundoff(r->arithmetic), up = td_unit_roundoff(r->probs), e = r->exp_ulp, n = (double)p->N;
    double m = -INFINITY, l = 0, c_squares = 0, c_mean = 0;
    for (int64_t k = 0; k < p->N; k++) m = fmax(m, td_get(&t[TD_X], 0, 0, i, k));
    for (int64_t k = 0; k < p->N; k++) l += exp(td_get(&t[TD_X], 0, 0, i, k) - m);
    td_sum sum = {0};
    for (int64_t k = 0; k < p->N; k++) {
        double below = m - td_get(&t[TD_X], 0, 0, i, k), y = exp(-below) / l;
        if (y == 0) continue;
        c_squares += y * y * (below * below + e * e);
        c_mean += y * (below + e);
        td_sum_add(&sum, y);
    }
    double l_squares = c_squares + 2 * td_sum_variance(&sum) + e * e * sum.partials, l_sum = c_mean + n * (2 + e);
    for (int64_t k = 0; k < p->N; k++) {
        double want = td_get(&t[TD_Y], 0, 0, i, k);
        gate[k] = hard[k] = 0;
        if (!isfinite(want)) continue;
        double below = want == 0 ? 0 : m - td_get(&t[TD_X], 0, 0, i, k);
        double fixed = 2 * td_half_ulp(want, output) + 2 * td_flush_unit(r->arithmetic) + td_underflow_unit(r->probs);
        hard[k] = want * td_gamma(below + e + l_sum + 2 + up / u, u) + fixed;
        double relative = u * sqrt(below * below + e * e + l_squares + 4 + up * up / (u * u));
        gate[k] = fmin(want * expm1(lambda * relative) + fixed, hard[k]);
    }
}

/* GELU: y = x/2·(1 + T(a)), T = erf, a = x/√2, or T = tanh, a = √(2/π)(x + 0.044715 x³). Rounding a (≤ 5u relative)
 * moves T by at most 5u·|a T'(a)| ≤ 2.5u, T itself is good to e·u plus a rounding or two; 1 + T cancels for x < 0, so
 * these stay absolute: |x|/2·(e + 5)u. The sum and the products add 3u|y|. So few errors do not average: GATE is HARD.
 */
static void bound_gelu(const td_matrix_problem *p, const td_rounding *r, const td_tensor *t, td_dtype output, int64_t i,
                       double *gate, double *hard) {
    double u = td_unit_roundoff(r->arithmetic);
    for (int64_t j = 0; j < p->N; j++) {
        double x = td_get(&t[TD_X], 0, 0, i, j), want = td_get(&t[TD_Y], 0, 0, i, j);
        gate[j] = hard[j] = 0;
        if (!isfinite(want)) continue;
        hard[j] = u * (fabs(x) / 2 * (r->exp_ulp + 5) + 3 * fabs(want)) + 2 * td_half_ulp(want, output) +
                  td_flush_unit(r->arithmetic);
        gate[j] = hard[j];
    }
}

td_status td_tolerance(const td_problem *problem, const td_rounding *rounding, const td_tensor *tensors, int output,
                       td_dtype output_dtype, td_bounds *bounds, td_error *err) {
    void (*row)(const td_matrix_problem *, const td_rounding *, const td_tensor *, td_dtype, int64_t, double *,
                double *);
    switch (problem->op) {
    case TD_OP_ATTENTION_FORWARD:
        return td_tolerance_attention(&problem->attention, rounding, lambda, tensors, output, output_dtype, bounds,
                                      err);
    case TD_OP_ATTENTION_BACKWARD:
        return td_tolerance_attention_backward(&problem->attention, rounding, lambda, tensors, output, output_dtype,
                                               bounds, err);
    case TD_OP_GEMM: row = bound_gemm; break;
    case TD_OP_SOFTMAX: row = bound_softmax; break;
    case TD_OP_GELU: row = bound_gelu; break;
    default: return td_fail(err, TD_UNSUPPORTED, "operation %d: no bounds are derived for it", (int)problem->op);
    }
    const td_matrix_problem *p = &problem->matrix;
#pragma omp parallel for
    for (int64_t i = 0; i < p->M; i++)
        row(p, rounding, tensors, output_dtype, i, bounds->gate + i * p->N, bounds->hard + i * p->N);
    return TD_OK;
}
