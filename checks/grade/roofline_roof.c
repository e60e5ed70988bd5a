/* Lesson 2's floor, intensity and roof (Williams, Waterman & Patterson 2009). */
#include "roofline_answers.h"
#include "tandem/exercise/roofline.h"
#include <math.h>

/* All three are one quotient or product of given numbers. A count beyond 2^53 is rounded to a double first; then there
 * is one operation, or two where one multiplies by 1/peak: at most four roundings, two counts' among them, each off by
 * u = 2^−53 at most, so 4u for the submission and as many for this file: relatively 8u, and u more for the products of
 * the u's. */
static int near(double got, double want) {
    return fabs(got - want) <= 9 * 0x1p-53 * fabs(want);
}

static int reals_agree(const void *question, const void *got, const void *want) {
    (void)question;
    return near(((const td_roofline_answer *)got)->real, ((const td_roofline_answer *)want)->real);
}

static int real_unwritten(const void *got) {
    return isnan(((const td_roofline_answer *)got)->real);
}

enum {
    FLOOR_SUM = 1,
    FLOOR_MIN,
    FLOOR_LESSER,
    FLOOR_COMPUTE,
    FLOOR_MEMORY,
    FLOOR_CROSSED,
    FLOOR_SWAPPED,
    FLOOR_COUNTS,
    FLOOR_MS
};
static const td_answer_mistake floor_mistakes[] = {
    {FLOOR_SUM, "floor_sum", "the floor is the sum of both times: they can overlap, and the larger one counts"},
    {FLOOR_MIN, "floor_least", "the floor is the smaller of the two times"},
    {FLOOR_LESSER, "floor_lesser", "the smaller of the two times is taken, and named as what sets the floor"},
    {FLOOR_COMPUTE, "floor_compute_only", "the floor is the time of arithmetic alone"},
    {FLOOR_MEMORY, "floor_memory_only", "the floor is the time of memory alone"},
    {FLOOR_CROSSED, "floor_rates_crossed", "FLOPs are divided by the bandwidth, and bytes by the peak"},
    {FLOOR_SWAPPED, "floor_bound_swapped", "what sets the floor is named the wrong way round"},
    {FLOOR_COUNTS, "floor_bound_by_count", "what sets the floor is decided by the counts, not by the times"},
    {FLOOR_MS, "floor_milliseconds", "the floor is given in milliseconds"},
    {0, NULL, NULL},
};

static void floor_of(const void *question, int mistake, void *answer) {
    const td_roofline_question *q = question;
    td_roofline_answer *a = answer;
    double F = (double)q->flops, M = (double)q->bytes, compute = F / q->peak, memory = M / q->bandwidth;
    if (mistake == FLOOR_CROSSED) compute = F / q->bandwidth, memory = M / q->peak;
    int by_memory = memory > compute;
    a->real = fmax(compute, memory);
    if (mistake == FLOOR_SUM) a->real = compute + memory;
    if (mistake == FLOOR_MIN) a->real = fmin(compute, memory);
    if (mistake == FLOOR_LESSER) a->real = fmin(compute, memory), by_memory = !by_memory;
    if (mistake == FLOOR_COMPUTE) a->real = compute, by_memory = 0;
    if (mistake == FLOOR_MEMORY) a->real = memory, by_memory = 1;
    if (mistake == FLOOR_SWAPPED) by_memory = !by_memory;
    if (mistake == FLOOR_COUNTS) by_memory = M > F;
    if (mistake == FLOOR_MS) a->real *= 1e3;
    a->bound = by_memory ? TD_EXERCISE_MEMORY : TD_EXERCISE_COMPUTE;
}

static int floors_agree(const void *question, const void *got, const void *want) {
    return reals_agree(question, got, want) &&
           ((const td_roofline_answer *)got)->bound == ((const td_roofline_answer *)want)->bound;
}

enum { INTENSITY_INVERTED = 1, INTENSITY_NO_ZERO, INTENSITY_WHOLE };
static const td_answer_mistake intensity_mistakes[] = {
    {INTENSITY_INVERTED, "intensity_inverted", "intensity is bytes a FLOP: it is FLOPs a byte"},
    {INTENSITY_NO_ZERO, "intensity_by_zero", "intensity is divided by no bytes: it is 0 where nothing moves"},
    {INTENSITY_WHOLE, "intensity_whole_division",
     "intensity is divided in integers, and loses what is behind the point"},
    {0, NULL, NULL},
};

static void intensity(const void *question, int mistake, void *answer) {
    const td_roofline_question *q = question;
    double F = (double)q->flops, M = (double)q->bytes, right = q->bytes ? F / M : 0;
    if (mistake == INTENSITY_INVERTED) right = q->bytes ? M / F : 0;
    if (mistake == INTENSITY_NO_ZERO) right = F / M;
    if (mistake == INTENSITY_WHOLE) right = q->bytes ? (double)(q->flops / q->bytes) : 0;
    ((td_roofline_answer *)answer)->real = right;
}

/* 0 FLOPs over 0 bytes is NAN, ∞ over 0: both are answers of the mistake that divides. */
static int intensities_agree(const void *question, const void *got, const void *want) {
    double g = ((const td_roofline_answer *)got)->real, w = ((const td_roofline_answer *)want)->real;
    if (!isfinite(w)) return isnan(w) ? isnan(g) : g == w;
    return reals_agree(question, got, want);
}

enum { ROOF_PEAK = 1, ROOF_SLOPE, ROOF_LARGER, ROOF_SUM, ROOF_INVERTED, ROOF_SOFT, ROOF_FIXED };
static const td_answer_mistake roof_mistakes[] = {
    {ROOF_PEAK, "roof_flat", "the roof is the peak, whatever the intensity is"},
    {ROOF_SLOPE, "roof_no_peak", "the roof is what memory feeds, without the peak above it"},
    {ROOF_LARGER, "roof_larger", "the roof is the larger of the two rates: both limit"},
    {ROOF_SUM, "roof_sum", "the roof is the sum of the two rates"},
    {ROOF_INVERTED, "roof_inverted", "the bandwidth is divided by the intensity: a byte feeds that many FLOPs"},
    {ROOF_FIXED, "roof_no_intensity", "the bandwidth is held against the peak, without the intensity between them"},
    {ROOF_SOFT, "roof_times_added", "the roof is that of times added, not overlapped"},
    {0, NULL, NULL},
};

static void roof(const void *question, int mistake, void *answer) {
    const td_roofline_question *q = question;
    double slope = q->intensity * q->bandwidth, height = fmin(q->peak, slope);
    if (mistake == ROOF_PEAK) height = q->peak;
    if (mistake == ROOF_SLOPE) height = slope;
    if (mistake == ROOF_LARGER) height = fmax(q->peak, slope);
    if (mistake == ROOF_SUM) height = q->peak + slope;
    if (mistake == ROOF_INVERTED) height = fmin(q->peak, q->bandwidth / q->intensity);
    if (mistake == ROOF_FIXED) height = fmin(q->peak, q->bandwidth);
    if (mistake == ROOF_SOFT) height = 1 / (1 / q->peak + 1 / slope);
    ((td_roofline_answer *)answer)->real = height;
}

const td_asked td_asked_floor = {"exercise_floor",
                                 TD_FLOOR,
                                 sizeof(td_roofline_question),
                                 sizeof(td_roofline_answer),
                                 floor_of,
                                 floors_agree,
                                 td_roofline_say,
                                 real_unwritten,
                                 floor_mistakes};
const td_asked td_asked_intensity = {"exercise_intensity",
                                     TD_INTENSITY,
                                     sizeof(td_roofline_question),
                                     sizeof(td_roofline_answer),
                                     intensity,
                                     intensities_agree,
                                     td_roofline_say,
                                     real_unwritten,
                                     intensity_mistakes};
const td_asked td_asked_roof = {"exercise_roof",
                                TD_ROOF,
                                sizeof(td_roofline_question),
                                sizeof(td_roofline_answer),
                                roof,
                                reals_agree,
                                td_roofline_say,
                                real_unwritten,
                                roof_mistakes};
