/* The CPU variants of attention forward against the oracle, and against themselves. */
#include "attention_case.h"
#include <math.h>
#include <omp.h>

static const struct {
    int64_t B, Hq, Hkv, Tq, Tk, d;
} shapes[] = {{1, 1, 1, 1, 1, 1},   {2, 4, 2, 5, 7, 3},    {1, 2, 1, 17, 33, 5}, {1, 1, 1, 33, 17, 8},
              {1, 1, 1, 31, 31, 4}, {1, 1, 1, 3, 0, 2},    {1, 1, 1, 0, 3, 2},   {0, 1, 1, 3, 3, 2},
              {1, 3, 3, 16, 16, 1}, {1, 1, 1, 20, 40, 63}, {1, 1, 1, 2, 4, 256}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static td_attention_problem shaped(int i, td_mask mask, int64_t block) {
    return (td_attention_problem){shapes[i].B, shapes[i].Hq, shapes[i].Hkv, shapes[i].Tq, shapes[i].Tk,
                                  shapes[i].d, 0.5,          mask,          block};
}

static double largest(const double *x, int64_t n) {
    double most = 0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
    return most;
}

/* Dense and online share every score bit for bit. The exponentials differ: exp(s − m) against a product of at most
 * n factors exp(m_k − m_{k+1}) and one exp(s − m_n), each with a relative error of (1 + its argument) u and the
 * arguments adding up to s − m. With the sums over n keys both ways, |O − O'| ≤ (2 |s − m| + 6 n) u Σ_j P_j |V_j| to
 * first order: here n ≤ 40 and |s − m| < 100, so 440 u = 4.9e-14, and Σ P |V| ≤ max |V|. LSE: the same, relative to l,
 * plus the roundings of m + ln l. */
Test(attention_forward, online_f64_equals_dense_f64_at_every_block_size) {
    for (int i = 0; i < SHAPES; i++)
        for (int mask = 0; mask < TD_MASKS; mask++) {
            attention_case x = attention_case_new(shaped(i, (td_mask)mask, 0), TD_F64, 1);
            attention_case_run(&x, &td_attention_forward_dense_f64);
            double *want[2] = {attention_case_output(&x, TD_O), attention_case_output(&x, TD_LSE)};
            double scale[2] = {0, 0};
            scale[0] = largest(x.t[TD_V].data, td_count(&x.t[TD_V]));
            for (int64_t r = 0; r < td_count(&x.t[TD_LSE]); r++)
                if (!isinf(want[1][r])) scale[1] = fmax(scale[1], 1 + fabs(want[1][r]));
            for (x.problem.attention.block = 0; x.problem.attention.block <= shapes[i].Tk + 1;
                 x.problem.attention.block++) {
                attention_case_run(&x, &td_attention_forward_online_f64);
                for (int k = 0; k < 2; k++) {
                    const double *got = x.t[TD_O + k].data;
                    for (int64_t e = 0; e < td_count(&x.t[TD_O + k]); e++)
                        cr_assert(got[e] == want[k][e] || fabs(got[e] - want[k][e]) <= 4.9e-14 * scale[k],
                                  "shape %d mask %d block %ld %s[%ld]: %.17g, want %.17g", i, mask,
                                  (long)x.problem.attention.block, k ? "LSE" : "O", (long)e, got[e], want[k][e]);
                }
            }
            free(want[0]), free(want[1]);
            attention_case_free(&x);
        }
}

/* First order, per query: a score is off by δ ≤ (d + 3) u_a Σ|q k||scale| + u_s |s|, a probability by a factor
 * e^{2δ} (1 + u_p)(1 + 4 n u_a + …), so O by (2δ + u_p + 6 n u_a) Σ P |V| and LSE by δ + … . Coarse on purpose: it is
 * a smoke test that runs with no harness; the derived tolerances belong to the checks. */
Test(attention_forward, every_variant_is_near_the_oracle) {
    const td_variant *v;
    for (int k = 0; (v = attention_forward_variant(k)); k++)
        for (int i = 0; i < SHAPES; i++)
            for (int mask = 0; mask < TD_MASKS; mask++) {
                attention_case x = attention_case_new(shaped(i, (td_mask)mask, 5), v->dtype, 2);
                attention_case_run(&x, &td_attention_forward_dense_f64);
                double *O = attention_case_output(&x, TD_O), *L = attention_case_output(&x, TD_LSE);
                attention_case_run(&x, v);
                const td_attention_problem *a = &x.problem.attention;
                double ua = td_unit_roundoff(v->rounding.arithmetic), us = td_unit_roundoff(v->rounding.scores),
                       up = td_unit_roundoff(v->rounding.probs), most_v = 0, most_qk = 0;
                for (int64_t e = 0; e < td_count(&x.t[TD_V]); e++) most_v = fmax(most_v, fabs(td_load(&x.t[TD_V], e)));
                for (int64_t e = 0; e < td_count(&x.t[TD_K]); e++)
                    most_qk = fmax(most_qk, fabs(td_load(&x.t[TD_K], e)));
                most_qk *= 4.0 * (double)a->d * a->scale; /* |q| < 4 for these seeds */
                double delta = ((double)a->d + 3) * ua * most_qk + us * fmin(most_qk, 40.0);
                double tol_o = (2 * delta + 2 * up + 6.0 * (double)(a->Tk + 4) * ua) * most_v;
                double tol_l = delta + 6.0 * (double)(a->Tk + 4) * ua + 50 * ua;
                for (int64_t e = 0; e < td_count(&x.t[TD_O]); e++)
                    cr_assert(fabs(((double *)x.t[TD_O].data)[e] - O[e]) <= tol_o,
                              "%s shape %d mask %d O[%ld]: %g, want %g, tol %g", v->name, i, mask, (long)e,
                              ((double *)x.t[TD_O].data)[e], O[e], tol_o);
                for (int64_t e = 0; e < td_count(&x.t[TD_LSE]); e++) {
                    double got = ((double *)x.t[TD_LSE].data)[e];
                    cr_assert(got == L[e] || fabs(got - L[e]) <= tol_l,
                              "%s shape %d mask %d LSE[%ld]: %g, want %g, tol %g", v->name, i, mask, (long)e, got, L[e],
                              tol_l);
                }
                free(O), free(L);
                attention_case_free(&x);
            }
}

Test(attention_forward, no_bit_depends_on_the_number_of_threads) {
    const td_variant *v;
    for (int k = 0; (v = attention_forward_variant(k)); k++) {
        attention_case x = attention_case_new(
            (td_attention_problem){1, 2, 1, 37, 50, 7, 0.4, TD_MASK_CAUSAL_BOTTOM_RIGHT, 16}, v->dtype, 3);
        omp_set_num_threads(1);
        attention_case_run(&x, v);
        double *O = attention_case_output(&x, TD_O), *L = attention_case_output(&x, TD_LSE);
        for (int threads = 2; threads <= 5; threads++) {
            omp_set_num_threads(threads);
            attention_case_run(&x, v);
            cr_assert_eq(memcmp(O, x.t[TD_O].data, (size_t)td_count(&x.t[TD_O]) * 8), 0, "%s, %d threads", v->name,
                         threads);
            cr_assert_eq(memcmp(L, x.t[TD_LSE].data, (size_t)td_count(&x.t[TD_LSE]) * 8), 0, "%s, %d threads", v->name,
                         threads);
        }
        free(O), free(L);
        attention_case_free(&x);
    }
}
