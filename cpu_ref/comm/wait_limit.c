#include "wait_limit.h"
#include <stdlib.h>

td_status td_wait_limit(double *seconds, td_error *err) {
    const char *given = getenv("TANDEM_HANG");
    *seconds = 8;
    if (!given || !*given) return TD_OK;
    char *end;
    double value = strtod(given, &end);
    if (*end || !(value > 0 && value <= 1e6))
        return td_fail(err, TD_BAD_PARAM, "TANDEM_HANG=%.40s: must be seconds, above 0 and at most 1000000", given);
    *seconds = value;
    return TD_OK;
}
