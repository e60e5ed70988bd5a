/* Amdahl's law. The comparisons are written so that a NaN is refused. */
#include "amdahl.h"

td_status td_amdahl_seconds(double whole, double share, double factor, double *out, td_error *err) {
    if (!(whole >= 0)) return td_fail(err, TD_BAD_PARAM, "whole = %g s: must be 0 or more", whole);
    if (!(share >= 0 && share <= 1)) return td_fail(err, TD_BAD_PARAM, "share = %g: must be 0 to 1", share);
    if (!(factor > 0)) return td_fail(err, TD_BAD_PARAM, "factor = %g: must be above 0", factor);
    *out = whole * ((1 - share) + share / factor);
    return TD_OK;
}

td_status td_amdahl_speedup(double share, double factor, double *out, td_error *err) {
    double seconds;
    td_status status = td_amdahl_seconds(1, share, factor, &seconds, err);
    if (!status) *out = 1 / seconds;
    return status;
}
