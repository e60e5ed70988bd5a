/* The CPU's engine: numbers known exactly, long arrays on one thread and on four, refusals. */
#include "../../checks/memory.h"
#include "tandem/engine.h"
#include "tandem/philox.h"
#include <criterion/criterion.h>
#include <math.h>
#include <omp.h>

static td_engine engine(void) {
    td_allocator allocator = td_plain_allocator();
    return td_cpu_engine(&allocator);
}

Test(engine, squares_are_summed_over_all_slices) {
    float a[11], b[3] = {0.5f, -2, 0};
    double want = 4.25, sum;
    for (int i = 0; i < 11; i++) a[i] = (float)(i - 4), want += a[i] * a[i];
    const td_slice slices[] = {{a, 11}, {NULL, 0}, {b, 3}};
    cr_expect_eq(engine().sum_of_squares(slices, 3, TD_F32, &sum, NULL), TD_OK);
    cr_expect_eq(sum, want);
}

/* More than one round of blocks, and an end inside a block. */
Test(engine, no_result_depends_on_the_number_of_threads) {
    enum { N = (1 << 20) + 4097 + 5 };
    float *x = malloc(N * sizeof *x);
    double one, four;
    for (int64_t i = 0; i < N; i++) x[i] = (float)td_normal(1, 2, (uint64_t)i);
    const td_slice slices[] = {{x, N}};
    omp_set_num_threads(1);
    engine().sum_of_squares(slices, 1, TD_F32, &one, NULL);
    omp_set_num_threads(4);
    engine().sum_of_squares(slices, 1, TD_F32, &four, NULL);
    cr_expect_eq(one, four);
    double plain = 0;
    for (int64_t i = 0; i < N; i++) plain += (double)x[i] * x[i];
    /* two orders of adding N positive terms: each is within N roundings */
    cr_expect(fabs(one - plain) <= 2.0 * N * 0x1p-53 * plain, "%.17g, %.17g", one, plain);
    int slice;
    int64_t element;
    x[N - 1] = NAN, x[N / 2] = -INFINITY;
    engine().first_not_finite(slices, 1, TD_F32, &slice, &element, NULL);
    cr_expect(slice == 0 && element == N / 2, "%d, %lld", slice, (long long)element);
    free(x);
}

Test(engine, what_is_not_finite_is_found_in_its_slice) {
    double a[2] = {1, 1e308}, b[3] = {0, 1, NAN};
    const td_slice slices[] = {{a, 2}, {NULL, 0}, {b, 3}};
    int slice = 7;
    int64_t element = 7;
    cr_expect_eq(engine().first_not_finite(slices, 2, TD_F64, &slice, &element, NULL), TD_OK);
    cr_expect(slice == -1 && element == -1);
    cr_expect_eq(engine().first_not_finite(slices, 3, TD_F64, &slice, &element, NULL), TD_OK);
    cr_expect(slice == 2 && element == 2);
}

Test(engine, conversions_round_once) {
    float wide[4] = {1, 0x1.01p0f, -3, 100};
    uint16_t narrow[4];
    float back[4];
    cr_expect_eq(engine().convert(narrow, TD_BF16, wide, TD_F32, 4, 0.5, NULL), TD_OK);
    cr_expect_eq(engine().convert(back, TD_F32, narrow, TD_BF16, 4, 2, NULL), TD_OK);
    const float want[4] = {1, 1, -3, 100}; /* bf16 has 8 bits: 1 + 2⁻⁸ is a tie, to even */
    cr_expect_arr_eq(back, want, sizeof want);
    cr_expect_eq(engine().convert(wide, TD_F32, wide, TD_F32, 4, 0.25, NULL), TD_OK);
    cr_expect_eq(wide[3], 25);
    td_error err;
    double d[4];
    cr_expect_eq(engine().convert(d, TD_F64, wide, TD_F32, 4, 1, &err), TD_UNSUPPORTED);
    cr_expect(strstr(err.message, "convert f32 to f64"), "%s", err.message);
}

Test(engine, a_table_takes_groups_that_exist_and_dtypes_that_it_updates) {
    float x[4] = {0};
    td_adam_slice slice = {x, x + 1, x + 2, x + 3, 1, TD_ADAM_GROUPS};
    td_adam_table *table;
    td_error err;
    cr_expect_eq(engine().adam_table(&table, &slice, 1, TD_F32, &err), TD_BAD_PARAM);
    cr_expect(strstr(err.message, "group 16"), "%s", err.message);
    slice.group = 0;
    cr_expect_eq(engine().adam_table(&table, &slice, 1, TD_BF16, &err), TD_UNSUPPORTED);
    cr_expect_null(table);
    cr_expect_eq(engine().adam_table(&table, NULL, 0, TD_F32, &err), TD_OK);
    cr_expect_eq(engine().adam(table, &(td_adam_call){.step = 1}, &err), TD_OK);
    engine().adam_table_free(table);
}

/* Two groups in one table; the factor reaches m and v as well as the values. */
Test(engine, adam_updates_each_slice_with_its_group_and_the_factor) {
    double p[2] = {1, 1}, g[2] = {4, -4}, m[2] = {0}, v[2] = {0};
    const td_adam_slice slices[] = {{p, g, m, v, 1, 0}, {p + 1, g + 1, m + 1, v + 1, 1, 3}};
    td_adam_call call = {.beta1 = 0.5, .beta2 = 0.75, .eps = 1e-300, .factor = 0.25, .step = 1};
    call.group[0] = (td_adam_group){0.125, 0};
    call.group[3] = (td_adam_group){0.25, 0.5};
    td_adam_table *table;
    cr_assert_eq(engine().adam_table(&table, slices, 2, TD_F64, NULL), TD_OK);
    cr_expect_eq(engine().adam(table, &call, NULL), TD_OK);
    engine().adam_table_free(table);
    const double want_p[2] = {0.875, 1 - 0.125 + 0.25}, want_m[2] = {0.5, -0.5}, want_v[2] = {0.25, 0.25};
    cr_expect_arr_eq(p, want_p, sizeof p);
    cr_expect_arr_eq(m, want_m, sizeof m);
    cr_expect_arr_eq(v, want_v, sizeof v);
}
