/* Fixtures: reproducible, independent of strides and threads, and each of the shape that its name says. */
#include "../../checks/fixtures.h"
#include <criterion/criterion.h>
#include <math.h>
#include <omp.h>
#include <string.h>

enum { B = 2, H = 3, T = 40, D = 16, N = B * H * T * D };

static const td_tensor shape = {NULL, TD_F64, {B, H, T, D}, {0, 0, 0, 0}};

Test(fixtures, names_parse_back) {
    td_fixture f;
    td_error err;
    for (int k = 0; k < TD_FIXTURES; k++) {
        cr_assert_eq(td_fixture_parse(td_fixture_name((td_fixture)k), &f, &err), TD_OK);
        cr_assert_eq((int)f, k);
    }
    cr_assert_eq(td_fixture_parse("gauss", &f, &err), TD_BAD_PARAM);
    cr_assert(strstr(err.message, "'gauss'") && strstr(err.message, "one-hot"));
}

Test(fixtures, any_number_of_threads_and_any_strides_give_the_same_values) {
    static double one[N], four[N], strided[2 * N];
    for (int f = 0; f < TD_FIXTURES; f++)
        for (int tensor = TD_Q; tensor <= TD_V; tensor++) {
            td_tensor a = td_contiguous(one, TD_F64, B, H, T, D), b = td_contiguous(four, TD_F64, B, H, T, D);
            td_tensor c = {strided, TD_F64, {B, H, T, D}, {T * H * (D + 3), D + 3, H * (D + 3), 1}};
            omp_set_num_threads(1);
            td_fixture_fill((td_fixture)f, 7, tensor, &a);
            omp_set_num_threads(4);
            td_fixture_fill((td_fixture)f, 7, tensor, &b);
            td_fixture_fill((td_fixture)f, 7, tensor, &c);
            cr_assert_eq(memcmp(one, four, sizeof one), 0);
            for (int64_t k = 0; k < N; k++) {
                int64_t j = k % D, i = k / D % T, h = k / D / T % H, n = k / D / T / H;
                cr_assert_eq(td_get(&c, n, h, i, j), one[k]);
            }
        }
}

Test(fixtures, seed_and_tensor_change_the_values) {
    for (int f = 0; f < TD_FIXTURES; f++) {
        double x = td_fixture_value((td_fixture)f, 1, TD_V, &shape, 0, 0, 0, 0);
        cr_assert_neq(x, td_fixture_value((td_fixture)f, 2, TD_V, &shape, 0, 0, 0, 0));
        cr_assert_neq(x, td_fixture_value((td_fixture)f, 1, TD_Q, &shape, 0, 0, 0, 0));
    }
}

Test(fixtures, every_value_is_finite_in_every_dtype) {
    static double x[N];
    td_tensor view = td_contiguous(x, TD_F64, B, H, T, D);
    for (int f = 0; f < TD_FIXTURES; f++)
        for (int tensor = TD_Q; tensor <= TD_V; tensor++)
            for (int t = 0; t < TD_DTYPES; t++) {
                td_fixture_fill_rounded((td_fixture)f, 3, tensor, (td_dtype)t, &view);
                for (int k = 0; k < N; k++) cr_assert(fabs(x[k]) < 200 && td_round_to(x[k], (td_dtype)t) == x[k]);
            }
}

Test(fixtures, shapes_are_what_the_names_say) {
    double sum = 0, squares = 0, offset = 0;
    int outliers = 0, expected = 0;
    for (int64_t b = 0; b < B; b++)
        for (int64_t h = 0; h < H; h++)
            for (int64_t i = 0; i < T; i++)
                for (int64_t j = 0; j < D; j++) {
                    double x = td_fixture_value(TD_FIXTURE_NORMAL, 5, TD_K, &shape, b, h, i, j);
                    sum += x, squares += x * x;
                    offset += td_fixture_value(TD_FIXTURE_OFFSET, 5, TD_K, &shape, b, h, i, j);
                    double y = td_fixture_value(TD_FIXTURE_OUTLIER, 5, TD_K, &shape, b, h, i, j);
                    cr_assert(y == x || y == 20 * x);
                    outliers += y != x, expected++;
                    cr_assert_eq(td_fixture_value(TD_FIXTURE_OUTLIER, 5, TD_V, &shape, b, h, i, j),
                                 td_fixture_value(TD_FIXTURE_NORMAL, 5, TD_V, &shape, b, h, i, j));
                    cr_assert_eq(td_fixture_value(TD_FIXTURE_EQUAL, 5, TD_K, &shape, b, h, i, j),
                                 td_fixture_value(TD_FIXTURE_EQUAL, 5, TD_K, &shape, 0, 0, 0, 0));
                    cr_assert_eq(td_fixture_value(TD_FIXTURE_ONE_HOT, 5, TD_K, &shape, b, h, i, j),
                                 j == i % D ? 32.0 : 0.0);
                }
    /* five standard errors of each estimate */
    cr_assert_float_eq(sum / N, 0, 5 / sqrt(N));
    cr_assert_float_eq(squares / N, 1, 5 * sqrt(2.0 / N));
    cr_assert_float_eq(offset / N, 30, 5 / sqrt(N));
    cr_assert_float_eq(outliers, expected / 64.0, 5 * sqrt(expected / 64.0));
}

Test(fixtures, a_zero_stride_takes_the_value_of_index_0) {
    double storage[T * D];
    td_tensor view = {storage, TD_F64, {B, H, T, D}, {0, 0, D, 1}};
    td_fixture_fill(TD_FIXTURE_NORMAL, 9, TD_V, &view);
    for (int64_t i = 0; i < T; i++)
        for (int64_t j = 0; j < D; j++)
            cr_assert_eq(td_get(&view, 1, 2, i, j), td_fixture_value(TD_FIXTURE_NORMAL, 9, TD_V, &view, 0, 0, i, j));
}
