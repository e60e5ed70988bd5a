/* The clock, and what is said of a set of samples: a median with its quartiles, never a mean alone. */
#include "bench.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void td_sort(double *samples, int n) {
    qsort(samples, (size_t)n, sizeof *samples, ascending);
}

double td_quantile(const double *sorted, int n, double q) {
    double position = q * (n - 1);
    int below = (int)position;
    if (below + 1 >= n) return sorted[n - 1];
    return sorted[below] + (position - below) * (sorted[below + 1] - sorted[below]);
}

/* The sample median of n normal values has the standard error √(π/2)·σ/√n; the IQR of a normal is 1.349 σ. The IQR
 * stands in for σ because one interrupted run would spoil a standard deviation. */
static double median_error(const double *sorted, int n) {
    return 1.2533 * (td_quantile(sorted, n, 0.75) - td_quantile(sorted, n, 0.25)) / 1.349 / sqrt(n);
}

/* Compare the two halves in the order of the runs. A processor that throttles is slower in the second one. */
static void find_drift(const double *samples, int n, td_timing *out) {
    if (n < 8) return;
    int half = n / 2;
    double *first = malloc((size_t)half * sizeof *first), *second = malloc((size_t)half * sizeof *second);
    if (first && second) {
        memcpy(first, samples, (size_t)half * sizeof *first);
        memcpy(second, samples + n - half, (size_t)half * sizeof *second);
        td_sort(first, half);
        td_sort(second, half);
        double a = td_quantile(first, half, 0.5), b = td_quantile(second, half, 0.5);
        out->drift = b / a - 1;
        out->drifted = out->drift > 0.1 && b - a > 3 * hypot(median_error(first, half), median_error(second, half));
    }
    free(first);
    free(second);
}

void td_timing_from(double *samples, int n, td_timing *out) {
    memset(out, 0, sizeof *out);
    out->median = out->q1 = out->q3 = out->min = out->max = out->mean = out->relative_error = NAN;
    out->runs = n;
    for (int i = 0; i < n; i++)
        if (!(samples[i] >= 0 && samples[i] < INFINITY)) out->failed++;
    if (n == 0 || out->failed) return;

    find_drift(samples, n, out);
    td_sort(samples, n);
    out->median = td_quantile(samples, n, 0.5);
    out->q1 = td_quantile(samples, n, 0.25);
    out->q3 = td_quantile(samples, n, 0.75);
    out->min = samples[0];
    out->max = samples[n - 1];
    double sum = 0;
    for (int i = 0; i < n; i++) sum += samples[i];
    out->mean = sum / n;
    out->relative_error = n < 2 ? INFINITY : out->median > 0 ? median_error(samples, n) / out->median : 0;
}

const char *td_timing_flaw(const td_timing *timing) {
    if (timing->failed) return "a run failed";
    if (timing->runs == 0 || !(timing->median >= 0)) return "no runs";
    if (timing->drifted) return "throttled: later runs slower";
    if (!(timing->q3 - timing->q1 <= 0.5 * timing->median)) return "unsteady: IQR over half the median";
    return NULL;
}

int td_timing_best(const td_timing *timings, int count) {
    int best = -1;
    for (int i = 0; i < count; i++)
        if (!td_timing_flaw(&timings[i]) && (best < 0 || timings[i].median < timings[best].median)) best = i;
    return best;
}
