/* Amdahl's law against values worked out by hand. */
#include "../../checks/amdahl.h"
#include <criterion/criterion.h>
#include <math.h>

static double speedup(double share, double factor) {
    double s = -1;
    cr_assert_eq(td_amdahl_speedup(share, factor, &s, NULL), TD_OK);
    return s;
}

Test(amdahl, known_values) {
    cr_assert_eq(speedup(0.75, 3), 2);
    cr_assert_eq(speedup(0.75, INFINITY), 4);
    cr_assert_eq(speedup(0, INFINITY), 1);
    cr_assert_eq(speedup(1, INFINITY), INFINITY);
    cr_assert_eq(speedup(0.5, 0.5), 1 / 1.5); /* twice as slow */
    double seconds = -1;
    cr_assert_eq(td_amdahl_seconds(8, 0.25, INFINITY, &seconds, NULL), TD_OK);
    cr_assert_eq(seconds, 6);
}

Test(amdahl, refuses_what_is_no_share_or_factor) {
    double out = -1, bad_share[] = {-0.1, 1.1, NAN}, bad_factor[] = {0, -1, NAN};
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(td_amdahl_speedup(bad_share[i], 2, &out, NULL), TD_BAD_PARAM);
        cr_assert_eq(td_amdahl_speedup(0.5, bad_factor[i], &out, NULL), TD_BAD_PARAM);
    }
    cr_assert_eq(td_amdahl_seconds(NAN, 0.5, 2, &out, NULL), TD_BAD_PARAM);
    cr_assert_eq(out, -1);
}
