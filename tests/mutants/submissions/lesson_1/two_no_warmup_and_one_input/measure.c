#include "tandem/exercise/measure.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* x sorted, n >= 1 */
static double quantile(const double *x, int n, double q) {
    double at = (n - 1) * q;
    int low = (int)floor(at);
    if (low >= n - 1) return x[n - 1];
    return x[low] + (at - low) * (x[low + 1] - x[low]);
}

td_status exercise_measure(const td_exercise_device *device, int runs, td_exercise_times *out, td_error *err) {
    double *times = malloc((size_t)runs * sizeof *times);
    if (!times) return td_fail(err, TD_NO_MEMORY, "times");
    int good = 0, failed = 0, input = 0;
    td_status status = TD_OK;

    for (int i = 0; i < runs; i++) {
        double start = device->now(device->self);
        status = device->submit(device->self, input, err);
        if (status != TD_OK) goto end;
        status = device->wait(device->self, err);
        double stop = device->now(device->self);
        if (status == TD_OK)
            times[good++] = stop - start;
        else if (status == TD_WRONG)
            failed++;
        else
            goto end;
        input = 0;
    }

    memset(out, 0, sizeof *out);
    out->good = good;
    out->failed = failed;
    if (good == 0) {
        status = td_fail(err, TD_WRONG, "all %d runs failed", runs);
        goto end;
    }
    status = TD_OK;
    qsort(times, (size_t)good, sizeof *times, compare_doubles);
    out->median = quantile(times, good, 0.5);
    out->iqr = quantile(times, good, 0.75) - quantile(times, good, 0.25);
    out->min = times[0];
end:
    free(times);
    return status;
}

double exercise_speedup(double share, double times) {
    return 1.0 / ((1.0 - share) + share / times);
}

td_status exercise_compare(const td_exercise_result *before, const td_exercise_result *after, double *speedup,
                           td_error *err) {
    if (strcmp(before->scope, after->scope) != 0)
        return td_fail(err, TD_BAD_PARAM, "scope differs: %s and %s", before->scope, after->scope);
    if (before->B != after->B) return td_fail(err, TD_BAD_PARAM, "B differs: %lld and %lld", before->B, after->B);
    if (before->T != after->T) return td_fail(err, TD_BAD_PARAM, "T differs: %lld and %lld", before->T, after->T);
    if (before->C != after->C) return td_fail(err, TD_BAD_PARAM, "C differs: %lld and %lld", before->C, after->C);
    if (before->global_batch != after->global_batch)
        return td_fail(err, TD_BAD_PARAM, "global_batch differs: %lld and %lld", before->global_batch,
                       after->global_batch);
    *speedup = before->seconds / after->seconds;
    return TD_OK;
}
