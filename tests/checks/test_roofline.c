/* Places under a roof of round numbers: bandwidth 10, peaks 100 (double) and 200 (float); ridges at 10 and 20. */
#include "../../checks/roofline.h"
#include <criterion/criterion.h>
#include <math.h>

static const td_ceilings roof = {.copy_bytes_per_s = 10, .flops_per_s = {100, 200, 200, 200}};

Test(roofline, left_of_the_ridge_memory_sets_the_floor) {
    td_roofline p;
    cr_assert_eq(td_roofline_place(&roof, TD_F32, 400, 40, 5, &p, NULL), TD_OK);
    cr_assert_eq(p.intensity, 10);
    cr_assert_eq(p.rate, 80);
    cr_assert_eq(p.roof, 100);
    cr_assert_eq(p.floor_seconds, 4);
    cr_assert_eq(p.fraction, 0.8);
    cr_assert(p.memory_bound);
}

Test(roofline, right_of_it_arithmetic_does) {
    td_roofline p;
    cr_assert_eq(td_roofline_place(&roof, TD_F64, 4000, 40, 80, &p, NULL), TD_OK);
    cr_assert_eq(p.roof, 100);
    cr_assert_eq(p.floor_seconds, 40);
    cr_assert_eq(p.fraction, 0.5);
    cr_assert(!p.memory_bound);
}

Test(roofline, without_a_measurement_there_is_a_floor_but_no_fraction) {
    td_roofline p;
    cr_assert_eq(td_roofline_place(&roof, TD_F32, 400, 40, NAN, &p, NULL), TD_OK);
    cr_assert_eq(p.floor_seconds, 4);
    cr_assert(isnan(p.rate) && isnan(p.fraction));
}

Test(roofline, refuses_counts_and_times_that_mean_nothing) {
    td_roofline p;
    cr_assert_eq(td_roofline_place(&roof, TD_F32, 0, 1, 1, &p, NULL), TD_BAD_PARAM);
    cr_assert_eq(td_roofline_place(&roof, TD_F32, 1, NAN, 1, &p, NULL), TD_BAD_PARAM);
    cr_assert_eq(td_roofline_place(&roof, TD_F32, 1, 1, 0, &p, NULL), TD_BAD_PARAM);
    cr_assert_eq(td_roofline_place(&roof, TD_F32, 1, 1, -2, &p, NULL), TD_BAD_PARAM);
}

Test(roofline, cells_carry_their_units) {
    td_ceilings c = {.copy_bytes_per_s = 10e9, .flops_per_s = {100e9, 200e9, 200e9, 200e9}};
    td_roofline p;
    cr_assert_eq(td_roofline_place(&c, TD_F64, 4e9, 1e9, 0.5, &p, NULL), TD_OK);
    td_record *r = td_record_new();
    td_record_row(r);
    td_roofline_cells(r, "dense_f64", TD_F64, &c, &p);
    cr_assert_str_eq(td_record_get_text(r, 0, "label"), "dense_f64");
    cr_assert_str_eq(td_record_get_text(r, 0, "bound_by"), "memory");
    cr_assert_eq(td_record_get(r, 0, "intensity_flop_per_byte"), 4);
    cr_assert_eq(td_record_get(r, 0, "rate_gflop_per_s"), 8);
    cr_assert(fabs(td_record_get(r, 0, "floor_ms") - 100) < 1e-9);
    cr_assert(fabs(td_record_get(r, 0, "floor_percent") - 20) < 1e-9);
    cr_assert(fabs(td_record_get(r, 0, "peak_gflop_per_s") - 100) < 1e-9);
    cr_assert(fabs(td_record_get(r, 0, "bandwidth_gb_per_s") - 10) < 1e-9);
    td_record_delete(r);
}
