/* The timing loop: warm up until it settles, then repeat until the median is sure. */
#include "bench.h"
#include "flush.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

td_bench_options td_bench_defaults(void) {
    return (td_bench_options){
        .warmup = 2, .min_runs = 5, .max_runs = 200, .max_seconds = 2, .relative_error = 0.01, .flush_cache = 1};
}

typedef struct loop {
    td_status (*body)(void *context, int run, td_error *err);
    void (*before)(void *context, int run);
    void *context;
    td_flush flush;
    int run;
} loop;

td_status td_bench_once(const td_device *device, td_status (*body)(void *context, int run, td_error *err),
                        void *context, int run, double *seconds, td_error *err) {
    td_status status = device ? device->start(err) : TD_OK;
    double start = td_now();
    if (!status) status = body(context, run, err);
    *seconds = td_now() - start;
    return device && !status ? device->stop(seconds, err) : status;
}

static td_status one_run(loop *l, double *seconds, td_error *err) {
    if (l->before) l->before(l->context, l->run);
    td_flush_now(&l->flush);
    l->run++;
    return td_bench_once(l->flush.device, l->body, l->context, l->run - 1, seconds, err);
}

/* Pages are touched, tables built and clocks raised in the first runs: go on while they still get faster. */
static td_status warm_up(loop *l, const td_bench_options *options, td_error *err) {
    double fastest = INFINITY, seconds;
    for (int i = 0; i < 4 * options->warmup; i++) {
        td_status status = one_run(l, &seconds, err);
        if (status) return status;
        if (i + 1 >= options->warmup && seconds > 0.95 * fastest) break;
        fastest = fmin(fastest, seconds);
    }
    return TD_OK;
}

static td_status timed_runs(loop *l, const td_bench_options *options, double *samples, double *scratch, td_timing *out,
                            td_error *err) {
    double spent = 0, began = td_now();
    for (int n = 0; n < options->max_runs;) {
        td_status status = one_run(l, &samples[n], err);
        if (status) samples[n] = NAN;
        spent += samples[n++];
        memcpy(scratch, samples, (size_t)n * sizeof *samples);
        td_timing_from(scratch, n, out);
        if (status) return status;
        if (n < options->min_runs) continue;
        if (spent >= options->max_seconds || td_now() - began >= 6 * options->max_seconds) break;
        if (out->relative_error <= options->relative_error) break;
    }
    return TD_OK;
}

td_status td_bench(td_status (*body)(void *context, int run, td_error *err), void (*before)(void *context, int run),
                   void *context, const td_bench_options *options, td_timing *out, td_error *err) {
    td_timing_from(NULL, 0, out);
    if (options->warmup < 0) return td_fail(err, TD_BAD_PARAM, "warmup = %d: must be 0 or more", options->warmup);
    if (options->min_runs < 1 || options->max_runs < options->min_runs)
        return td_fail(err, TD_BAD_PARAM, "runs = %d to %d: must be 1 or more, the smaller first", options->min_runs,
                       options->max_runs);

    loop l = {.body = body, .before = before, .context = context, .flush = {.device = options->device}};
    double *samples = malloc(2 * (size_t)options->max_runs * sizeof *samples);
    td_status status = samples ? TD_OK : td_fail(err, TD_NO_MEMORY, "no memory for %d samples", options->max_runs);
    if (!status && options->flush_cache) status = td_flush_new(&l.flush, options->device, err);
    if (!status && (status = warm_up(&l, options, err))) out->failed = 1;
    if (!status) status = timed_runs(&l, options, samples, samples + options->max_runs, out, err);
    free(samples);
    td_flush_free(&l.flush);
    return status;
}
