/* Lesson 1's exercise_speedup: Amdahl's law, right and with one mistake. */
#include "../amdahl.h"
#include "measure_answers.h"
#include <math.h>

enum {
    PART_ALONE = 1,
    GUSTAFSON,
    TIME,
    TIMES,
    PRODUCT,
    LIMIT,
    OTHER_PART,
    MULTIPLIED,
    GAIN,
    NO_INFINITY,
    NEVER_SLOWER,
    PERCENT
};
static const td_answer_mistake mistakes[] = {
    {PART_ALONE, "speedup_part_alone",
     "only the part's new time is looked at: the rest of the step takes its time too"},
    {GUSTAFSON, "speedup_gustafson",
     "(1 − f) + f·s is for work that grows with the machine (Gustafson), not for a step "
     "that stays the same"},
    {TIME, "speedup_time", "the new time is returned, not how many times as fast that is"},
    {TIMES, "speedup_times", "the part's own speed-up is taken for the whole step's"},
    {PRODUCT, "speedup_product", "share times speed-up is no speed-up"},
    {LIMIT, "speedup_limit", "the limit for a part that costs nothing is returned, whatever its speed-up is"},
    {OTHER_PART, "speedup_other_part", "the rest of the step is made faster, in place of the part"},
    {MULTIPLIED, "speedup_multiplied", "the part's time is multiplied by its speed-up, not divided"},
    {GAIN, "speedup_gain", "what is gained is returned (speed-up less 1)"},
    {NO_INFINITY, "speedup_infinity", "for a part that costs nothing any more the result is not a number"},
    {NEVER_SLOWER, "speedup_never_slower", "a part that becomes slower is not allowed to slow the step"},
    {PERCENT, "speedup_percent", "the share is taken for a percentage"},
    {0, NULL, NULL},
};

static void respond(const void *question, int mistake, void *answer) {
    const td_speedup_question *q = question;
    double f = q->share, s = q->times, right = NAN;
    td_amdahl_speedup(f, s, &right, NULL);
    if (mistake == PART_ALONE) right = s / f;
    if (mistake == GUSTAFSON) right = (1 - f) + f * s;
    if (mistake == TIME) right = 1 / right;
    if (mistake == TIMES) right = s;
    if (mistake == PRODUCT) right = f * s;
    if (mistake == LIMIT) right = 1 / (1 - f);
    if (mistake == OTHER_PART) right = 1 / (f + (1 - f) / s);
    if (mistake == MULTIPLIED) right = 1 / ((1 - f) + f * s);
    if (mistake == GAIN) right -= 1;
    if (mistake == NO_INFINITY && isinf(s)) right = NAN;
    if (mistake == NEVER_SLOWER) right = fmax(right, 1);
    if (mistake == PERCENT) right = 1 / ((1 - f / 100) + f / 100 / s);
    *(double *)answer = right;
}

/* The new time t of a step that took 1 can be had as (1 − f) + f/s, as 1 − f + f/s or as 1 − f·(1 − 1/s): three or
 * four operations on numbers of at most 1 + 1/s, so that its absolute error is below 4u(1 + 1/s), relatively 4u(1 +
 * 1/s)/t, here as there; and the speed-up 1/t is rounded once more. A mistake's answer is made of the same time. */
static int agrees(const void *question, const void *got, const void *want) {
    const td_speedup_question *q = question;
    double g = *(const double *)got, w = *(const double *)want, t = (1 - q->share) + q->share / q->times;
    if (!isfinite(w) || t == 0) return isnan(w) ? isnan(g) : g == w;
    return fabs(g - w) <= 2 * (4 * (1 + 1 / q->times) / t + 1) * 0x1p-53 * fabs(w);
}

static void say(const td_asked *asked, const void *question, const void *got, const void *want, char *out,
                size_t size) {
    const td_speedup_question *q = question;
    snprintf(out, size, "%s(share %.6g, times %.6g): got %.17g, want %.17g", asked->name, q->share, q->times,
             *(const double *)got, *(const double *)want);
}

static int unwritten(const void *got) {
    return isnan(*(const double *)got);
}

const td_asked td_asked_speedup = {
    "exercise_speedup", TD_SPEEDUP, sizeof(td_speedup_question), sizeof(double), respond, agrees, say,
    unwritten,          mistakes};
