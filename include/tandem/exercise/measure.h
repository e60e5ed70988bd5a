/* Exercise of lesson 1: time work on a device that answers before it has worked, and say what a speed-up can gain.
 * Your file is measure.c. */
#ifndef TANDEM_EXERCISE_MEASURE_H
#define TANDEM_EXERCISE_MEASURE_H

#include "../status.h"

/* A device with a clock of its own. It behaves as a GPU does: submit returns when the run is queued; the first runs are
 * slower, until clocks and caches have settled; a run on the input of a recent run finds it in the cache and is faster
 * than it would ever be in training; and a run may fail. */
typedef struct td_exercise_device {
    void *self;
    int inputs; /* different inputs, more than the cache holds */
    int warmup; /* runs after which times have settled */
    /* Queue one run on input 0 … inputs − 1. */
    td_status (*submit)(void *self, int input, td_error *err);
    /* Until everything queued is done. TD_WRONG if a run since the last wait failed: its time means nothing. */
    td_status (*wait)(void *self, td_error *err);
    double (*now)(void *self); /* seconds; a reading costs a little of them */
} td_exercise_device;

/* All in seconds, of the runs that did not fail. Quantiles as lesson 1 takes them: sorted, x[(n − 1)·q], linear between
 * neighbours. */
typedef struct td_exercise_times {
    double median, iqr, min; /* iqr: third quartile less first */
    int good, failed;
} td_exercise_times;

/* Time each of `runs` runs (1 or more) by itself, after the warm-up, each on an input that is not in the cache. A run
 * that failed counts in `failed` and in nothing else. No good run: TD_WRONG. */
td_status exercise_measure(const td_exercise_device *device, int runs, td_exercise_times *out, td_error *err);

/* How many times as fast the whole step becomes when the part that takes `share` of its time (0 … 1) becomes `times`
 * as fast (> 0; INFINITY: it costs nothing any more). Amdahl 1967. */
double exercise_speedup(double share, double times);

/* May two results be set against each other as a speed-up? Only with equal scope, shape and global batch. Writes
 * before.seconds / after.seconds, or returns TD_BAD_PARAM with a message that names what differs. */
typedef struct td_exercise_result {
    const char *scope; /* "forward", "forward+backward", "step" */
    long long B, T, C, global_batch;
    double seconds;
} td_exercise_result;
td_status exercise_compare(const td_exercise_result *before, const td_exercise_result *after, double *speedup,
                           td_error *err);

#endif
