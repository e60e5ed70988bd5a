/* As asked, and what the clock itself takes is measured first and taken off. */
#include "tandem/exercise/measure.h"
#include <stdlib.h>
#include <string.h>

static double clock_cost(const td_exercise_device *dev) {
    double least = 0;
    for (int i = 0; i < 5; i++) {
        double a = dev->now(dev->self), b = dev->now(dev->self);
        if (i == 0 || b - a < least) least = b - a;
    }
    return least;
}

/* One run on the next input; the seconds it took. */
static td_status one_run(const td_exercise_device *dev, int *next, double *seconds, td_error *err) {
    int input = *next;
    *next = input + 1 == dev->inputs ? 0 : input + 1;
    double t0 = dev->now(dev->self);
    td_status s = dev->submit(dev->self, input, err);
    if (s) return s;
    s = dev->wait(dev->self, err);
    *seconds = dev->now(dev->self) - t0;
    return s;
}

static void insert(double *sorted, int n, double x) {
    int i = n;
    while (i > 0 && sorted[i - 1] > x) {
        sorted[i] = sorted[i - 1];
        i--;
    }
    sorted[i] = x;
}

static double quartile(const double *sorted, int n, int k) {
    int place = (n - 1) * k; /* in quarters */
    int whole = place / 4, rest = place % 4;
    if (rest == 0) return sorted[whole];
    return sorted[whole] * (4 - rest) / 4.0 + sorted[whole + 1] * rest / 4.0;
}

td_status exercise_measure(const td_exercise_device *device, int runs, td_exercise_times *out, td_error *err) {
    int next = 0;
    double seconds = 0, *sorted = calloc((size_t)runs, sizeof(double));
    td_exercise_times result = {0, 0, 0, 0, 0};
    if (sorted == NULL) return td_fail(err, TD_NO_MEMORY, "calloc");
    for (int i = 0; i < device->warmup; i++) {
        td_status s = one_run(device, &next, &seconds, err);
        if (s != TD_OK && s != TD_WRONG) {
            free(sorted);
            return s;
        }
    }
    double overhead = clock_cost(device);
    for (int i = 0; i < runs; i++) {
        td_status s = one_run(device, &next, &seconds, err);
        if (s == TD_WRONG) {
            result.failed++;
        } else if (s != TD_OK) {
            free(sorted);
            return s;
        } else {
            insert(sorted, result.good, seconds - overhead);
            result.good++;
        }
    }
    if (result.good > 0) {
        result.median = quartile(sorted, result.good, 2);
        result.iqr = quartile(sorted, result.good, 3) - quartile(sorted, result.good, 1);
        result.min = sorted[0];
    }
    free(sorted);
    *out = result;
    return result.good > 0 ? TD_OK : td_fail(err, TD_WRONG, "no run succeeded");
}

double exercise_speedup(double share, double times) {
    double new_time = share / times + 1 - share;
    return 1 / new_time;
}

td_status exercise_compare(const td_exercise_result *before, const td_exercise_result *after, double *speedup,
                           td_error *err) {
    const char *what = NULL;
    if (strcmp(before->scope, after->scope)) what = "scope";
    if (before->B != after->B) what = "B";
    if (before->T != after->T) what = "T";
    if (before->C != after->C) what = "C";
    if (before->global_batch != after->global_batch) what = "global_batch";
    if (what) return td_fail(err, TD_BAD_PARAM, "%s: the two results differ in it", what);
    *speedup = before->seconds / after->seconds;
    return TD_OK;
}
