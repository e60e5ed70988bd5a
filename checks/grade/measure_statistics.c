/* Statistics of times, right and with one mistake. */
#include "measure_statistics.h"
#include "../bench.h"
#include <math.h>

enum {
    MEAN = 1,
    LEAST,
    ALL_GOOD,
    FAILED_KEPT,
    FAILED_IN_MIN,
    FAILED_IN_GOOD,
    FAILED_TWICE,
    FAILED_ZERO,
    MIDDLE_UPPER,
    MIDDLE_LOWER,
    BELOW,
    NEAREST,
    RANK,
    PLACE_NQ,
    PLACE_NQ_LINEAR,
    QUARTERS,
    TYPE_5,
    TYPE_6,
    HALVES,
    HINGES,
    UNSORTED,
    RANGE,
    THIRD,
    UPPER_HALF,
    HALF_IQR,
    NEGATIVE,
    DEVIATION,
    LAST_AS_MIN,
    FIRST_AS_MIN,
    CUMULATIVE,
    WHOLE,
    MILLISECONDS
};

const td_answer_mistake td_statistics_mistakes[] = {
    {MEAN, "times_mean", "the mean is reported as the median"},
    {LEAST, "times_best", "the least time is reported as the median"},
    {ALL_GOOD, "times_failed_as_good", "failed runs are taken for good ones: what wait returns is not looked at"},
    {FAILED_KEPT, "times_failed_kept", "failed runs are counted as failed, and yet their times are kept"},
    {FAILED_IN_MIN, "times_failed_in_min", "the least time is that of a failed run"},
    {FAILED_IN_GOOD, "times_failed_in_good", "failed runs are counted among the good ones too"},
    {FAILED_TWICE, "times_failed_twice", "failed runs are counted among the good ones too, and their times are kept"},
    {FAILED_ZERO, "times_failed_zero", "failed runs are not counted"},
    {MIDDLE_UPPER, "times_upper_middle", "the median of an even number of times is the upper of the two in the middle"},
    {MIDDLE_LOWER, "times_lower_middle", "the median of an even number of times is the lower of the two in the middle"},
    {BELOW, "times_place_cut", "a quantile's place (n − 1)·q is cut to a whole number, not interpolated"},
    {NEAREST, "times_place_rounded", "a quantile's place (n − 1)·q is rounded, not interpolated"},
    {RANK, "times_nearest_rank", "quantiles are taken by nearest rank, the ⌈n·q⌉th time, not interpolated"},
    {PLACE_NQ, "times_place_nq", "a quantile is taken at place n·q, counted from 0: it lies at (n − 1)·q"},
    {PLACE_NQ_LINEAR, "times_place_nq_linear", "quantiles lie at n·q, counted from 0, not at (n − 1)·q"},
    {QUARTERS, "times_quarters", "quartiles are taken at n/4 and 3n/4, not at (n − 1)·q"},
    {TYPE_5, "times_quantile_5", "quantiles lie at n·q − 1/2 (type 5 of Hyndman & Fan), not at (n − 1)·q"},
    {TYPE_6, "times_quantile_6", "quantiles lie at (n + 1)·q − 1 (type 6 of Hyndman & Fan), not at (n − 1)·q"},
    {HALVES, "times_halves", "quartiles are the medians of the two halves"},
    {HINGES, "times_hinges", "quartiles are the medians of the two halves, with the middle in both"},
    {UNSORTED, "times_unsorted", "quantiles are taken of times that are not sorted"},
    {RANGE, "times_range", "the range from least to largest is reported as the interquartile range"},
    {THIRD, "times_third_quartile", "the third quartile is reported as the interquartile range"},
    {UPPER_HALF, "times_above_median", "the third quartile less the median is reported as the interquartile range"},
    {HALF_IQR, "times_half_range", "half of the interquartile range is reported"},
    {NEGATIVE, "times_range_negative", "the quartiles are subtracted the wrong way round"},
    {DEVIATION, "times_deviation", "the standard deviation is reported as the interquartile range"},
    {LAST_AS_MIN, "times_max", "the largest time is reported as the least"},
    {FIRST_AS_MIN, "times_first", "the first run's time is reported as the least"},
    {CUMULATIVE, "times_from_first_reading", "every time is counted from the clock's first reading"},
    {WHOLE, "times_batch", "all runs are timed as one, and the time is divided by their number"},
    {MILLISECONDS, "times_milliseconds", "times are reported in milliseconds"},
    {0, NULL, NULL},
};

static double at(const double *x, int n, double place) {
    if (!(place > 0)) return x[0];
    int below = (int)place;
    return below + 1 >= n ? x[n - 1] : x[below] + (place - below) * (x[below + 1] - x[below]);
}

/* Medians of the lower and the upper half of n times, each of `half`. */
static double of_half(const double *x, int n, int half, double q) {
    if (n < 2 || q == 0.5) return td_quantile(x, n, q);
    return td_quantile(q < 0.5 ? x : x + n - half, half, 0.5);
}

static double quantile(const double *x, int n, double q, int mistake) {
    switch (mistake) {
    case BELOW: return at(x, n, floor((n - 1) * q));
    case NEAREST: return at(x, n, floor((n - 1) * q + 0.5));
    case RANK: return at(x, n, ceil(n * q) - 1);
    case PLACE_NQ: return at(x, n, floor(n * q));
    case PLACE_NQ_LINEAR: return at(x, n, n * q);
    case QUARTERS: return q == 0.5 ? td_quantile(x, n, q) : at(x, n, floor(n * q));
    case TYPE_5: return at(x, n, n * q - 0.5);
    case TYPE_6: return at(x, n, (n + 1) * q - 1);
    case HALVES: return of_half(x, n, n / 2, q);
    case HINGES: return of_half(x, n, (n + 1) / 2, q);
    default: return td_quantile(x, n, q);
    }
}

static double mean_of(const double *x, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i];
    return sum / n;
}

static double deviation(const double *x, int n) {
    double mean = mean_of(x, n), sum = 0;
    for (int i = 0; i < n; i++) sum += (x[i] - mean) * (x[i] - mean);
    return n > 1 ? sqrt(sum / (n - 1)) : 0;
}

/* n good times in the order of the runs; sorts them. */
static void describe(double *x, int n, int mistake, td_statistics *statistics) {
    td_exercise_times *out = &statistics->times;
    double first = x[0];
    if (mistake == UNSORTED) statistics->other_min = first;
    if (mistake != UNSORTED) td_sort(x, n);
    double q1 = quantile(x, n, 0.25, mistake), q3 = quantile(x, n, 0.75, mistake);
    out->median = quantile(x, n, 0.5, mistake), out->iqr = q3 - q1;
    td_sort(x, n);
    out->min = x[0];
    if (mistake == MEAN) out->median = mean_of(x, n);
    if (mistake == LEAST) out->median = x[0];
    if (mistake == MIDDLE_UPPER) out->median = x[n / 2];
    if (mistake == MIDDLE_LOWER) out->median = x[(n - 1) / 2];
    if (mistake == RANGE) out->iqr = x[n - 1] - x[0];
    if (mistake == THIRD) out->iqr = q3;
    if (mistake == UPPER_HALF) out->iqr = q3 - out->median;
    if (mistake == HALF_IQR) out->iqr = (q3 - q1) / 2;
    if (mistake == NEGATIVE) out->iqr = q1 - q3;
    if (mistake == DEVIATION) out->iqr = deviation(x, n);
    if (mistake == LAST_AS_MIN) out->min = x[n - 1];
    if (mistake == FIRST_AS_MIN) out->min = first;
}

void td_statistics_of(const td_taken *taken, int mistake, td_statistics *out) {
    double x[TD_DEVICE_RUNS], least = INFINITY;
    int n = 0, failed = 0, keeps = mistake == ALL_GOOD || mistake == FAILED_KEPT || mistake == FAILED_TWICE;
    double sum = 0;
    *out = (td_statistics){.unit = mistake == MILLISECONDS ? 1e3 : 1, .times = {NAN, NAN, NAN, 0, 0}, .other_min = NAN};
    for (int i = 0; i < taken->n; i++) {
        failed += taken->failed[i];
        least = fmin(least, taken->seconds[i]);
        sum += taken->seconds[i];
        if (keeps || !taken->failed[i]) x[n++] = mistake == CUMULATIVE ? sum : taken->seconds[i];
    }
    int good = taken->n - failed;
    if (n > 0) describe(x, n, mistake, out);
    out->times.good = good, out->times.failed = failed;
    out->may_succeed = n > 0, out->may_fail = good == 0;
    if (mistake == ALL_GOOD) out->times.good = taken->n, out->times.failed = 0, out->may_fail = 0;
    if (mistake == FAILED_IN_GOOD || mistake == FAILED_TWICE) out->times.good = taken->n;
    if (mistake == FAILED_TWICE) out->may_fail = 0;
    if (mistake == FAILED_ZERO) out->times.failed = 0;
    if (mistake == FAILED_IN_MIN) out->times.min = least;
    if (mistake == WHOLE) {
        double each = taken->whole / taken->n;
        out->times = (td_exercise_times){each, 0, each, good, failed};
        out->may_succeed = out->any_count = 1, out->may_fail = taken->some_failed;
    }
    out->times.median *= out->unit, out->times.iqr *= out->unit, out->times.min *= out->unit;
}
