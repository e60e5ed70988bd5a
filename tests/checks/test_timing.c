/* The statistics of a timing, on samples whose answers are known by hand. */
#include "../../checks/bench.h"
#include <criterion/criterion.h>
#include <math.h>

static td_timing timing_of(const double *values, int n) {
    double samples[64];
    for (int i = 0; i < n; i++) samples[i] = values[i];
    td_timing t;
    td_timing_from(samples, n, &t);
    return t;
}

static int near(double a, double b) {
    return fabs(a - b) <= 1e-12 * (fabs(a) + fabs(b));
}

Test(timing, odd_and_even_medians) {
    cr_assert_eq(timing_of((double[]){5, 1, 3}, 3).median, 3);
    cr_assert_eq(timing_of((double[]){4, 1, 3, 2}, 4).median, 2.5);
}

Test(timing, quartiles_interpolate_between_the_nearest_samples) {
    td_timing t = timing_of((double[]){4, 1, 3, 2}, 4); /* positions 0.75 and 2.25 */
    cr_assert_eq(t.q1, 1.75);
    cr_assert_eq(t.q3, 3.25);
    t = timing_of((double[]){5, 4, 3, 2, 1}, 5);
    cr_assert_eq(t.q1, 2);
    cr_assert_eq(t.q3, 4);
    cr_assert_eq(t.min, 1);
    cr_assert_eq(t.max, 5);
    cr_assert(near(t.relative_error, 1.2533 * 2 / 1.349 / sqrt(5) / 3));
}

Test(timing, one_outlier_moves_the_mean_and_not_the_median) {
    td_timing t = timing_of((double[]){1, 1, 1, 1, 1, 1, 1, 1, 1, 1001}, 10);
    cr_assert_eq(t.median, 1);
    cr_assert_eq(t.q3, 1);
    cr_assert_eq(t.mean, 101);
    cr_assert_eq(t.max, 1001);
}

Test(timing, one_sample_has_no_spread_to_speak_of) {
    td_timing t = timing_of((double[]){7}, 1);
    cr_assert_eq(t.median, 7);
    cr_assert_eq(t.q1, 7);
    cr_assert_eq(t.q3, 7);
    cr_assert_eq(t.relative_error, INFINITY);
}

Test(timing, two_samples) {
    td_timing t = timing_of((double[]){2, 4}, 2);
    cr_assert_eq(t.median, 3);
    cr_assert_eq(t.q1, 2.5);
    cr_assert_eq(t.q3, 3.5);
}

Test(timing, what_is_no_time_counts_as_a_failed_run) {
    double bad[] = {NAN, INFINITY, -1};
    for (int i = 0; i < 3; i++) {
        td_timing t = timing_of((double[]){1, bad[i], 1}, 3);
        cr_assert_eq(t.failed, 1);
        cr_assert(isnan(t.median) && isnan(t.min) && isnan(t.mean));
        cr_assert_not_null(td_timing_flaw(&t));
    }
    td_timing none = timing_of(NULL, 0);
    cr_assert_eq(none.runs, 0);
    cr_assert(isnan(none.median));
    cr_assert_not_null(td_timing_flaw(&none));
}

Test(timing, a_failed_or_throttled_or_unsteady_timing_is_never_the_best) {
    td_timing sound = timing_of((double[]){9, 9, 9, 9}, 4);
    td_timing slower = timing_of((double[]){10, 10, 10, 10}, 4);
    td_timing failed = timing_of((double[]){1, NAN, 1, 1}, 4);
    td_timing throttled = timing_of((double[]){1, 1.01, 1, 1.01, 1, 1.01, 1.3, 1.31, 1.3, 1.31, 1.3, 1.31}, 12);
    td_timing unsteady = timing_of((double[]){1, 3, 1, 3, 1, 3}, 6);
    cr_assert_str_eq(td_timing_flaw(&failed), "a run failed");
    cr_assert(throttled.drifted && near(throttled.drift, 1.305 / 1.005 - 1), "%g", throttled.drift);
    cr_assert_str_eq(td_timing_flaw(&throttled), "throttled: later runs slower");
    cr_assert_not_null(td_timing_flaw(&unsteady));
    td_timing all[] = {failed, slower, throttled, sound, unsteady};
    cr_assert_eq(td_timing_best(all, 5), 3);
    td_timing spoilt[] = {failed, throttled, unsteady};
    cr_assert_eq(td_timing_best(spoilt, 3), -1);
    cr_assert_eq(td_timing_best(NULL, 0), -1);
}

Test(timing, noise_without_a_trend_is_no_drift) {
    td_timing t = timing_of((double[]){1, 1.2, 1, 1.2, 1, 1.2, 1, 1.2, 1, 1.2, 1.2, 1.2}, 12);
    cr_assert(!t.drifted);
    cr_assert_null(td_timing_flaw(&t));
}
