/* The comparator: what must fail, fails; first things first; strides; units. */
#include "../../checks/compare.h"
#include <criterion/criterion.h>
#include <math.h>

/* A row of n ≤ 8 against a reference with the same tolerance everywhere. */
static td_comparison row(int n, const double *got, const double *want, double tol, int sign) {
    double tols[8];
    for (int j = 0; j < n; j++) tols[j] = tol;
    td_tensor g = td_contiguous((void *)got, TD_F64, 1, 1, 1, n), w = td_contiguous((void *)want, TD_F64, 1, 1, 1, n);
    td_comparison c;
    td_compare(&g, &w, tols, sign, &c);
    return c;
}

Test(compare, verdict_follows_the_worst_ratio) {
    const double want[3] = {1, 2, 3}, ok[3] = {1, 2.5, 3}, near[3] = {1, 2, 3.75}, edge[3] = {0, 2, 3},
                 far[3] = {1, 3.5, 4};
    td_comparison c = row(3, ok, want, 1, 0);
    cr_assert_eq(c.verdict, TD_PASS);
    cr_assert_eq(c.err_over_tol, 0.5);
    cr_assert_eq(c.worst[3], 1);
    cr_assert(c.got == 2.5 && c.want == 2 && c.tol == 1 && c.max_abs == 0.5);
    cr_assert_eq(row(3, near, want, 1, 0).verdict, TD_MARGINAL);
    cr_assert_eq(row(3, edge, want, 1, 0).verdict, TD_MARGINAL, "err = tol is inside");
    c = row(3, far, want, 1, 0);
    cr_assert_eq(c.verdict, TD_FAIL);
    cr_assert(c.wrong == 1 && c.elements == 3 && c.nonfinite == 0 && c.worst[3] == 1);
    cr_assert_float_eq(c.rel_l2, sqrt((1.5 * 1.5 + 1) / 14), 1e-15);
}

Test(compare, nan_fails_first_even_behind_a_larger_error) {
    const double want[4] = {1, 2, 3, 4}, got[4] = {1e9, 2, NAN, INFINITY};
    td_comparison c = row(4, got, want, 1, 0);
    cr_assert_eq(c.verdict, TD_FAIL);
    cr_assert(c.worst[3] == 2 && isnan(c.got) && c.nonfinite == 2 && c.wrong == 3);
    cr_assert(isinf(c.err_over_tol));
}

Test(compare, finite_where_the_reference_is_not_fails) {
    const double bad[] = {NAN, INFINITY, -INFINITY}, zero[1] = {0};
    for (int k = 0; k < 3; k++)
        for (int sign = 0; sign < 2; sign++) {
            td_comparison c = row(1, zero, &bad[k], 1e300, sign);
            cr_assert(c.verdict == TD_FAIL && c.nonfinite == 1);
            c = row(1, &bad[k], zero, 1e300, sign);
            cr_assert(c.verdict == TD_FAIL && c.nonfinite == 1);
        }
}

Test(compare, sign_of_infinity_matters_for_lse_only) {
    const double kind[] = {NAN, INFINITY, -INFINITY};
    for (int g = 0; g < 3; g++)
        for (int w = 0; w < 3; w++) {
            cr_assert_eq(row(1, &kind[g], &kind[w], 0, 0).verdict, TD_PASS);
            cr_assert_eq(row(1, &kind[g], &kind[w], 0, 1).verdict, g == w ? TD_PASS : TD_FAIL, "%d %d", g, w);
        }
}

Test(compare, a_useless_tolerance_admits_nothing) {
    const double want[2] = {1, 2}, off[2] = {1, 2 + 0x1p-51};
    cr_assert_eq(row(2, want, want, 0, 0).verdict, TD_PASS, "equal needs no tolerance");
    cr_assert_eq(row(2, off, want, 0, 0).verdict, TD_FAIL);
    cr_assert_eq(row(2, off, want, NAN, 0).verdict, TD_FAIL);
    cr_assert_eq(row(2, off, want, INFINITY, 0).verdict, TD_FAIL);
    cr_assert_eq(row(2, off, want, -1, 0).verdict, TD_FAIL);
    cr_assert_eq(row(2, want, want, NAN, 0).verdict, TD_FAIL);
}

Test(compare, one_wrong_element_in_a_large_tensor_is_found) {
    enum { N = 2 * 3 * 5 * 7 };
    double want[N], got[N], tol[N];
    td_tensor w = td_contiguous(want, TD_F64, 2, 3, 5, 7), g = td_contiguous(got, TD_F64, 2, 3, 5, 7);
    for (int k = 0; k < N; k++) want[k] = got[k] = k, tol[k] = 1e-3;
    for (int k = 0; k < N; k++) {
        td_comparison c;
        got[k] = k + 2e-3;
        td_compare(&g, &w, tol, 0, &c);
        cr_assert(c.verdict == TD_FAIL && c.wrong == 1 && c.elements == N);
        cr_assert_eq(td_offset(&w, c.worst[0], c.worst[1], c.worst[2], c.worst[3]), k);
        got[k] = k;
    }
}

Test(compare, got_may_be_strided_and_narrow) {
    float storage[64];
    for (int k = 0; k < 64; k++) storage[k] = NAN;                     /* what lies between the rows is not looked at */
    td_tensor got = {storage + 1, TD_F32, {1, 2, 3, 2}, {0, 3, 7, 1}}; /* (T, H, d) with a padded row */
    double want[12], tol[12];
    td_tensor w = td_contiguous(want, TD_F64, 1, 2, 3, 2);
    for (int64_t h = 0, n = 0; h < 2; h++)
        for (int64_t i = 0; i < 3; i++)
            for (int64_t j = 0; j < 2; j++, n++) {
                want[n] = (double)n, tol[n] = 1e-6;
                td_set(&got, 0, h, i, j, (double)n);
            }
    td_comparison c;
    td_compare(&got, &w, tol, 0, &c);
    cr_assert(c.verdict == TD_PASS && c.elements == 12 && c.max_abs == 0);
    td_set(&got, 0, 1, 2, 0, 10.5);
    td_compare(&got, &w, tol, 0, &c);
    cr_assert(c.verdict == TD_FAIL && c.worst[1] == 1 && c.worst[2] == 2 && c.worst[3] == 0);
}

Test(compare, different_sizes_fail) {
    double x[6] = {0};
    td_tensor a = td_contiguous(x, TD_F64, 1, 1, 2, 3), b = td_contiguous(x, TD_F64, 1, 1, 3, 2);
    td_comparison c;
    td_compare(&a, &b, x, 0, &c);
    cr_assert(c.verdict == TD_FAIL && c.elements == 0);
}

Test(compare, no_elements_pass_and_say_so) {
    td_tensor empty = td_contiguous(NULL, TD_F64, 2, 3, 0, 4);
    td_comparison c;
    td_compare(&empty, &empty, NULL, 1, &c);
    cr_assert(c.verdict == TD_PASS && c.elements == 0 && c.err_over_tol == 0 && c.rel_l2 == 0);
}

Test(compare, ulp_counts_steps_of_the_candidates_dtype) {
    const double want[] = {1.0, 1.0, 1.5, 8.0, 0x1p-140};
    const double steps[] = {3, 1, -2, 5, 4};
    const td_dtype dtype[] = {TD_F32, TD_BF16, TD_FP16, TD_F64, TD_F32};
    const double unit[] = {0x1p-23, 0x1p-7, 0x1p-10, 0x1p-49, 0x1p-149};
    for (int k = 0; k < 5; k++) {
        double store;
        td_tensor got = td_contiguous(&store, dtype[k], 1, 1, 1, 1);
        td_tensor w = td_contiguous((void *)&want[k], TD_F64, 1, 1, 1, 1);
        td_store(&got, 0, want[k] + steps[k] * unit[k]);
        double tol = 1.0;
        td_comparison c;
        td_compare(&got, &w, &tol, 0, &c);
        cr_assert_eq(c.max_ulp, fabs(steps[k]), "case %d: %g", k, c.max_ulp);
    }
}
