/* Accumulation in each pair of types: the figures of the course, where each type stops counting, and what overflows. */
#include "../../cpu_ref/accumulate/accumulate.h"
#include "tandem/philox.h"
#include <criterion/criterion.h>
#include <math.h>

static const td_precision f64 = {TD_F64, TD_F64}, f32 = {TD_F32, TD_F32}, fp16 = {TD_FP16, TD_FP16},
                          bf16 = {TD_BF16, TD_BF16}, fp16_in_f32 = {TD_FP16, TD_F32}, bf16_in_f32 = {TD_BF16, TD_F32};

static double *constant(int64_t n, double value) {
    static double x[1 << 16];
    cr_assert_leq(n, 1 << 16);
    for (int64_t k = 0; k < n; k++) x[k] = value;
    return x;
}

/* One hundredth a thousand times, to the five digits that are printed. float32 against the machine's own. */
Test(accumulate, a_hundredth_a_thousand_times) {
    const double *x = constant(1000, 0.01);
    float own = 0;
    for (int k = 0; k < 1000; k++) own += 0.01f;
    cr_assert_eq(td_accumulate_sum(x, 1000, f32), (double)own);
    cr_assert_float_eq(td_accumulate_sum(x, 1000, f32), 10.00013, 5e-6);
    cr_assert_float_eq(td_accumulate_sum(x, 1000, fp16), 9.953125, 1e-9);
    cr_assert_float_eq(td_accumulate_sum(x, 1000, fp16_in_f32), 10.00214, 5e-6);
}

/* A significand of p bits counts to 2^p: there the next one is half a unit away, and the tie rounds to even, down. */
Test(accumulate, ones_stop_counting_where_the_significand_ends) {
    const double *x = constant(5000, 1);
    cr_assert_eq(td_accumulate_sum(x, 5000, bf16), 256);
    cr_assert_eq(td_accumulate_sum(x, 5000, fp16), 2048);
    cr_assert_eq(td_accumulate_dot(x, x, 5000, bf16), 256);
    cr_assert_eq(td_accumulate_softmax_denominator(x, 5000, fp16), 2048);
    cr_assert_eq(td_accumulate_norm(x, 5000, bf16), 16);
    cr_assert_eq(td_accumulate_sum(x, 5000, bf16_in_f32), 5000);
    cr_assert_eq(td_accumulate_dot(x, x, 5000, fp16_in_f32), 5000);
    cr_assert_eq(td_accumulate_softmax_denominator(x, 5000, bf16_in_f32), 5000);
    cr_assert_eq(td_accumulate_norm(x, 2500, fp16_in_f32), 50);
}

Test(accumulate, an_exponential_is_a_term) {
    const double x[] = {7, 6};
    cr_assert_eq(td_accumulate_softmax_denominator(x, 2, bf16_in_f32), 1 + td_round_to(exp(-1), TD_BF16));
    cr_assert_eq(td_accumulate_softmax_denominator(x, 2, f32), td_round_to(1 + td_round_to(exp(-1), TD_F32), TD_F32));
}

Test(accumulate, squares_overflow_in_fp16_alone) {
    const double *x = constant(4, 300);
    cr_assert(isinf(td_accumulate_norm(x, 4, fp16)));
    cr_assert_eq(td_accumulate_norm(x, 4, fp16_in_f32), 600);
    cr_assert_eq(td_accumulate_norm(x, 4, f64), 600);
}

/* One after the other, the error of n terms is at most (n − 1) u Σ|x|; by halves ⌈log₂ n⌉ u Σ|x|; Kahan's 2u Σ|x| and a
 * little (Higham 2002, §4.2, §4.3). The first bound holds and is far from met; the two others would fail for it. */
Test(accumulate, pairwise_and_kahan_lose_less) {
    enum { N = 1 << 14 };
    static double x[N];
    double exact = 0;
    for (int k = 0; k < N; k++) exact += x[k] = td_round_to(td_uniform(3, 0, (uint64_t)k), TD_FP16);
    const double u = td_unit_roundoff(TD_FP16);
    double plain = fabs(td_accumulate_sum(x, N, fp16) - exact);
    cr_assert(plain <= (N - 1) * u * exact);
    cr_assert(fabs(td_accumulate_sum_pairwise(x, N, fp16) - exact) <= 14 * u * exact);
    cr_assert(fabs(td_accumulate_sum_kahan(x, N, fp16) - exact) <= 3 * u * exact);
    cr_assert_gt(plain, 14 * u * exact, "these terms tell the three apart");
}

/* In double, terms and all, they are the plain formulas. */
Test(accumulate, in_double_they_are_the_formulas) {
    const double x[] = {1, -2, 0.5}, y[] = {4, 0.25, 2};
    cr_assert_eq(td_accumulate_sum(x, 3, f64), -0.5);
    cr_assert_eq(td_accumulate_sum_pairwise(x, 3, f64), -0.5);
    cr_assert_eq(td_accumulate_sum_kahan(x, 3, f64), -0.5);
    cr_assert_eq(td_accumulate_dot(x, y, 3, f64), 4.5);
    cr_assert_eq(td_accumulate_norm(x, 3, f64), sqrt(5.25));
    cr_assert_float_eq(td_accumulate_softmax_denominator(x, 3, f64), 1 + exp(-3) + exp(-0.5), 1e-15);
    cr_assert_eq(td_accumulate_sum(x, 0, f64), 0);
    cr_assert_eq(td_accumulate_sum_pairwise(x, 0, f64), 0);
}
