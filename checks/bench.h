/* The timing protocol (DESIGN: measuring): boundary first, warm-up, fresh inputs, flushed cache, repeat until the
 * median is sure, report median, IQR, min and n. */
#ifndef TANDEM_CHECKS_BENCH_H
#define TANDEM_CHECKS_BENCH_H

#include "../cpu_ref/clock.h"
#include "tandem/device.h"

typedef enum td_scope { TD_SCOPE_FORWARD = 0, TD_SCOPE_FORWARD_BACKWARD, TD_SCOPE_FULL_STEP, TD_SCOPES } td_scope;
const char *td_scope_name(td_scope scope);

typedef struct td_bench_options {
    int warmup;              /* runs before the first timed one; up to four times as many while they still get faster */
    int min_runs, max_runs;  /* timed runs: min_runs are always made */
    double max_seconds;      /* then stop when this much has been spent on timed runs, or six times as much on all, with
                              * what lies between them */
    double relative_error;   /* or when the median's relative standard error is below this */
    int flush_cache;         /* write a buffer larger than the last-level cache before each run */
    const td_device *device; /* whose clock and cache: NULL = the CPU's */
} td_bench_options;
td_bench_options td_bench_defaults(void);

typedef struct td_timing {
    double median, q1, q3, min, max, mean; /* seconds */
    double relative_error; /* of the median: 1.2533·σ̂/√n / median, with σ̂ = IQR/1.349; n < 2: ∞ */
    double drift;          /* median of the second half of the runs / of the first half − 1; n < 8: 0 */
    int drifted;           /* the drift is over 10 % and over 3 of its standard errors: throttling */
    int runs;
    int failed; /* runs that returned an error: a timing with failed > 0 is never "best" and has no median */
} td_timing;

/* Ascending. */
void td_sort(double *samples, int n);
/* Type 7 of Hyndman & Fan (1996): the quantile q lies at position q·(n−1) of the n > 0 sorted samples, counted from 0.
 */
double td_quantile(const double *sorted, int n, double q);
/* Statistics of n samples, given in the order of the runs (sorted in place). Quartiles interpolate linearly between the
 * two nearest samples (Hyndman & Fan 1996, type 7). A NaN, infinite or negative sample counts as a failed run. */
void td_timing_from(double *samples, int n, td_timing *out);
/* Why this timing must not be called the best, as one short phrase; NULL if nothing speaks against it. */
const char *td_timing_flaw(const td_timing *timing);
/* Index of the smallest median among the timings without a flaw; −1 if none. */
int td_timing_best(const td_timing *timings, int count);
/* One call of body on the clock of `device`, or on the monotonic one where that is NULL. */
td_status td_bench_once(const td_device *device, td_status (*body)(void *context, int run, td_error *err),
                        void *context, int run, double *seconds, td_error *err);
/* Time `body(context, run)`. `before(context, run)` (may be NULL) is outside the interval: rotate inputs, poison
 * outputs there. It comes right after the previous run's interval, before the cache is flushed, so that it can see what
 * that run had really finished. `run` counts warm-up runs too. The first error of `body` ends the measurement: its
 * status is returned, and `out` has failed = 1 and no median. */
td_status td_bench(td_status (*body)(void *context, int run, td_error *err), void (*before)(void *context, int run),
                   void *context, const td_bench_options *options, td_timing *out, td_error *err);

/* Check, then time, then check again. Input sets rotate through more memory than the last-level cache, and in each run
 * one row of every input is new (of backward's, all but K and V), so that no answer can be a replay. After each run,
 * outside the interval: every output element must be written, inputs and guard bands unchanged, the new row right; then
 * the last output is checked. */
typedef struct td_bench_result {
    td_timing timing;                  /* no median unless both verdicts are PASS or MARGINAL */
    int verdict_before, verdict_after; /* td_verdict; SKIP = did not come to it */
    int every_element;      /* the two verdicts are on: 1 every element, 0 a sample of rows (a large problem) */
    char reason[200];       /* why SKIP or FAIL */
    double flops, bytes;    /* counted */
    size_t workspace_bytes; /* what the variant asked for */
    size_t peak_bytes;      /* measured: all tags, one set of tensors and the workspace */
} td_bench_result;
/* TD_OK when the measurement could be carried out, whatever the verdicts: an unsupported problem, a backend that cannot
 * be timed here, or a wrong answer is in `out`. */
td_status td_bench_variant(const td_variant *variant, const td_problem *problem, const td_bench_options *options,
                           td_bench_result *out, td_error *err);

/* The same for several at once, a run of each in turn, so that whatever else this machine does meets all of them alike:
 * for comparing rates on a machine that is not quiet. One round warms up; then contender c runs in every
 * contenders[c].every-th of `rounds` rounds. The cache is flushed before each run. */
typedef struct td_contender {
    const td_variant *variant;
    td_problem problem;
    int every;
} td_contender;
td_status td_bench_together(const td_contender *contenders, int count, int rounds, td_bench_result *results,
                            td_error *err);

/* Speed-up of `b` over `a`; refused (TD_BAD_PARAM) across different scopes, shapes, dtypes' element counts or global
 * batches. */
typedef struct td_boundary {
    td_scope scope;
    td_problem problem;
    int64_t global_batch; /* sequences; 0 where there is none */
    char device[64];
} td_boundary;
td_status td_speedup(const td_boundary *a, double seconds_a, const td_boundary *b, double seconds_b, double *out,
                     td_error *err);

#endif
