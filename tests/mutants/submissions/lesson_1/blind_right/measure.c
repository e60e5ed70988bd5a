#include "tandem/exercise/measure.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double quantile(const double *x, int n, double q) {
    double place = (n - 1) * q;
    int below = (int)place;
    if (below + 1 >= n) return x[n - 1];
    return x[below] + (place - below) * (x[below + 1] - x[below]);
}

td_status exercise_measure(const td_exercise_device *device, int runs, td_exercise_times *out, td_error *err) {
    double *times = malloc((size_t)runs * sizeof *times);
    if (!times) return td_fail(err, TD_NO_MEMORY, "no memory for %d times", runs);
    int good = 0, failed = 0, input = 0;
    td_status status;
    for (int r = 0; r < device->warmup; r++) {
        status = device->submit(device->self, input, err);
        if (status) return free(times), status;
        input = (input + 1) % device->inputs;
        status = device->wait(device->self, err);
        if (status && status != TD_WRONG) return free(times), status;
    }
    for (int r = 0; r < runs; r++) {
        double start = device->now(device->self);
        status = device->submit(device->self, input, err);
        if (status) return free(times), status;
        status = device->wait(device->self, err);
        double end = device->now(device->self);
        input = (input + 1) % device->inputs;
        if (status == TD_WRONG) {
            failed++;
            continue;
        }
        if (status) return free(times), status;
        times[good++] = end - start;
    }
    if (good == 0) return free(times), td_fail(err, TD_WRONG, "all %d runs failed", runs);
    qsort(times, (size_t)good, sizeof *times, ascending);
    out->median = quantile(times, good, 0.5);
    out->iqr = quantile(times, good, 0.75) - quantile(times, good, 0.25);
    out->min = times[0];
    out->good = good;
    out->failed = failed;
    free(times);
    return TD_OK;
}

double exercise_speedup(double share, double times) {
    return 1.0 / ((1.0 - share) + share / times);
}

td_status exercise_compare(const td_exercise_result *before, const td_exercise_result *after, double *speedup,
                           td_error *err) {
    if (strcmp(before->scope, after->scope) != 0) return td_fail(err, TD_BAD_PARAM, "scope differs");
    if (before->B != after->B) return td_fail(err, TD_BAD_PARAM, "B differs");
    if (before->T != after->T) return td_fail(err, TD_BAD_PARAM, "T differs");
    if (before->C != after->C) return td_fail(err, TD_BAD_PARAM, "C differs");
    if (before->global_batch != after->global_batch) return td_fail(err, TD_BAD_PARAM, "global_batch differs");
    *speedup = before->seconds / after->seconds;
    return TD_OK;
}
