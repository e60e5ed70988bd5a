/* A solution of exercise 1: measure with the boundary named, predict with Amdahl's law, compare only what is alike. */
#include "tandem/exercise/measure.h"
#include <stdlib.h>
#include <string.h>

/* One run, by the device's clock. The queue is empty when this is called, and again when it returns: between the two
 * readings lies this run and nothing else. *failed: its time means nothing. */
static td_status time_one(const td_exercise_device *device, int input, double *seconds, int *failed, td_error *err) {
    double start = device->now(device->self);
    td_status status = device->submit(device->self, input, err);
    if (status != TD_OK) return status;
    status = device->wait(device->self, err);
    *seconds = device->now(device->self) - start;
    *failed = status == TD_WRONG;
    return *failed ? TD_OK : status;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, int n, double q) {
    double position = (n - 1) * q;
    int below = (int)position;
    if (below + 1 >= n) return sorted[n - 1];
    return sorted[below] + (position - below) * (sorted[below + 1] - sorted[below]);
}

td_status exercise_measure(const td_exercise_device *device, int runs, td_exercise_times *out, td_error *err) {
    double *seconds = malloc((size_t)runs * sizeof *seconds), one;
    int good = 0, failed;
    td_status status = seconds ? TD_OK : td_fail(err, TD_NO_MEMORY, "no memory for the times of %d runs", runs);
    /* The input goes on counting from warm-up into what is timed, so that it is always the one used longest ago. */
    for (int i = 0; i < device->warmup + runs && status == TD_OK; i++) {
        status = time_one(device, i % device->inputs, &one, &failed, err);
        if (status == TD_OK && i >= device->warmup && !failed) seconds[good++] = one;
    }
    if (status == TD_OK && good == 0) status = td_fail(err, TD_WRONG, "none of %d runs succeeded", runs);
    if (status == TD_OK) {
        qsort(seconds, (size_t)good, sizeof *seconds, ascending);
        out->median = quantile(seconds, good, 0.5);
        out->iqr = quantile(seconds, good, 0.75) - quantile(seconds, good, 0.25);
        out->min = seconds[0];
        out->good = good, out->failed = runs - good;
    }
    free(seconds);
    return status;
}

double exercise_speedup(double share, double times) {
    return 1 / ((1 - share) + share / times);
}

static td_status differs(const char *what, long long before, long long after, td_error *err) {
    return td_fail(err, TD_BAD_PARAM, "%s: %lld before and %lld after; a speed-up needs equal ones", what, before,
                   after);
}

td_status exercise_compare(const td_exercise_result *before, const td_exercise_result *after, double *speedup,
                           td_error *err) {
    if (strcmp(before->scope, after->scope) != 0)
        return td_fail(err, TD_BAD_PARAM, "scope: %s before and %s after; a speed-up needs equal ones", before->scope,
                       after->scope);
    if (before->B != after->B) return differs("B", before->B, after->B, err);
    if (before->T != after->T) return differs("T", before->T, after->T, err);
    if (before->C != after->C) return differs("C", before->C, after->C, err);
    if (before->global_batch != after->global_batch)
        return differs("global_batch", before->global_batch, after->global_batch, err);
    *speedup = before->seconds / after->seconds;
    return TD_OK;
}
