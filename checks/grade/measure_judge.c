/* Judging exercise_measure. What is right does not depend on the submission: the device settles how long each run
 * takes. Why an answer is wrong does: the device has seen which runs were submitted between which readings of the
 * clock, so it knows the times that were taken. A mistake in what was done shows in them, one in the statistics in how
 * the answer follows from them; each is named where it changes the answer, so that two are both named. */
#include "measure_judge.h"
#include <math.h>
#include <string.h>

/* A run's time, taken right, is longer than the run by the submission, the wait and one reading; who subtracts any of
 * these, or reads the clock between them, is closer. All times shift by 0 to that, so each order statistic does, what
 * is linear between two of them too, and the difference of two quartiles by as much either way. Then the clock's
 * rounding: it stays below 2^10 s, so that each of the few sums in a run's time is off by 2^−43 s at most; all by less
 * than 2^−39. */
static const double call_seconds = TD_DEVICE_SUBMIT_SECONDS + TD_DEVICE_WAIT_SECONDS + TD_DEVICE_NOW_SECONDS + 0x1p-39;
/* Whoever took just these times may have read the clock once more or less. */
static const double reading_seconds = 2 * TD_DEVICE_NOW_SECONDS;

static int near(double got, double want, double tolerance) {
    return fabs(got - want) <= tolerance;
}

static int agree(const td_measured *got, const td_statistics *want, double tolerance) {
    const td_exercise_times *g = &got->times, *w = &want->times;
    tolerance *= want->unit;
    if (got->status != TD_OK) return want->may_fail;
    return want->may_succeed && near(g->median, w->median, tolerance) && near(g->iqr, w->iqr, tolerance) &&
           (near(g->min, w->min, tolerance) || near(g->min, want->other_min, tolerance)) &&
           (want->any_count || (g->good == w->good && g->failed == w->failed));
}

void td_measure_want(const td_device_setup *setup, int runs, int submitted, td_statistics *want) {
    td_taken taken = {.n = runs};
    int first = submitted - runs > setup->warmup ? submitted - runs : setup->warmup;
    for (int i = 0; i < runs; i++) {
        taken.seconds[i] = td_device_seconds(setup, first + i);
        taken.failed[i] = td_device_fails(setup, first + i);
    }
    td_statistics_of(&taken, 0, want);
}

/* What was done wrong, apart from statistics. */
enum {
    NO_WARMUP = 1,
    SHORT_WARMUP,
    SAME_INPUT,
    CACHED_INPUT,
    QUEUE_NOT_EMPTY,
    NO_WAIT,
    LATE_WAIT,
    REPEATED,
    GAVE_UP,
    NONE_GOOD,
    DEEDS
};
static const td_answer_mistake deeds[] = {
    {NO_WARMUP, "times_no_warmup", "the first runs are timed: there is no warm-up"},
    {SHORT_WARMUP, "times_short_warmup", "fewer runs than the warm-up takes come before those that are timed"},
    {SAME_INPUT, "times_same_input", "all timed runs have the same input, which is in the cache"},
    {CACHED_INPUT, "times_cached_input", "a timed run has an input that is still in the cache"},
    {QUEUE_NOT_EMPTY, "times_queue_not_empty",
     "the clock is read before the queue is empty: earlier runs are timed too"},
    {NO_WAIT, "times_no_wait", "nothing waits for the runs: what is timed is putting them into the queue"},
    {LATE_WAIT, "times_late_wait", "the clock is read before the wait: what is timed is putting a run into the queue"},
    {REPEATED, "times_failed_repeated",
     "failed runs are made again, until there are as many good ones as were asked for"},
    {GAVE_UP, "times_failed_ends", "a failed run ends the measurement, and the times of the good ones are lost"},
    {NONE_GOOD, "times_none_good", "that no run was good is not reported"},
    {0, NULL, NULL},
};

/* The times that were taken of the last n runs, and what was done in taking them. */
static void look_back(const td_measure_device *device, int n, td_taken *taken, int *did) {
    int first = device->submitted - n, cached = 0, same = 1, waits = 1, unfinished = 0;
    const td_device_setup *setup = &device->setup;
    *taken = (td_taken){.n = n};
    for (int i = 0; i < n; i++) {
        const td_device_run *run = &device->run[first + i];
        taken->seconds[i] = run->after - run->before;
        taken->failed[i] = run->alone && run->told;
        taken->some_failed |= run->told;
        waits &= run->alone;
        unfinished |= !run->finished;
        cached |= run->cached && setup->cached < 1;
        same &= run->input == device->run[first].input;
        did[QUEUE_NOT_EMPTY] |= !run->from_idle;
        did[GAVE_UP] |= run->alone && run->told; /* if TD_WRONG is returned */
    }
    taken->whole = device->run[first + n - 1].after - device->run[first].before;
    did[NO_WARMUP] = first == 0 && setup->warmup > 0 && setup->slow > 0;
    did[SHORT_WARMUP] = first > 0 && first < setup->warmup && setup->slow > 0;
    did[SAME_INPUT] = cached && same && !unfinished;
    did[CACHED_INPUT] = cached && !same && !unfinished;
    did[NO_WAIT] = unfinished && !waits;
    did[LATE_WAIT] = unfinished && waits;
    did[QUEUE_NOT_EMPTY] &= !unfinished;
}

static void view(const td_measure_device *device, int runs, const td_measured *got, const td_statistics *want,
                 int right, td_suspects *suspects) {
    td_taken taken;
    td_statistics base, wrong;
    int did[DEEDS] = {0}, n = runs, explained = 0;
    /* Whoever repeats failed runs times more of them. */
    did[REPEATED] = got->status == TD_OK && got->times.failed > 0 && got->times.good == runs &&
                    device->submitted >= device->setup.warmup + runs + got->times.failed;
    if (did[REPEATED]) n += got->times.failed;
    if (n > device->submitted) n = device->submitted;
    if (n == 0) return;
    look_back(device, n, &taken, did);
    td_statistics_of(&taken, 0, &base);
    if (got->status == TD_WRONG) { /* there are no times in which anything else could show */
        int gave_up = did[GAVE_UP] && want->may_succeed;
        memset(did, 0, sizeof did);
        did[GAVE_UP] = gave_up;
    } else
        did[GAVE_UP] = 0;
    did[NONE_GOOD] = got->status == TD_OK && base.times.good == 0 && got->times.good == 0 && got->times.failed == n;
    explained = agree(got, &base, reading_seconds) || did[GAVE_UP];
    for (const td_answer_mistake *m = td_statistics_mistakes; m->which; m++) {
        td_measured other;
        td_statistics_of(&taken, m->which, &wrong);
        int fits = agree(got, &wrong, reading_seconds);
        other = (td_measured){wrong.may_succeed ? TD_OK : TD_WRONG, wrong.times};
        td_suspects_view(suspects, td_suspects_enter(suspects, m->name, m->text), fits,
                         fits && !agree(&other, &base, reading_seconds));
        explained |= fits;
    }
    did[NONE_GOOD] &= !explained;
    explained |= did[NONE_GOOD];
    for (const td_answer_mistake *m = deeds; m->which; m++)
        td_suspects_view(suspects, td_suspects_enter(suspects, m->name, m->text), right || explained, did[m->which]);
}

void td_measure_enter(td_suspects *suspects) {
    for (const td_answer_mistake *m = deeds; m->which; m++) td_suspects_enter(suspects, m->name, m->text);
    for (const td_answer_mistake *m = td_statistics_mistakes; m->which; m++)
        td_suspects_enter(suspects, m->name, m->text);
}

static void say(const td_measured *got, const td_statistics *want, const char *case_name, td_grade_result *result) {
    const td_exercise_times *g = &got->times, *w = &want->times;
    const char *name[] = {"median", "iqr", "min"};
    double is[] = {g->median, g->iqr, g->min}, should[] = {w->median, w->iqr, w->min};
    char text[600] = "";
    int used = 0;
    if (got->status == TD_WRONG)
        td_grade_wrong(result, case_name, "exercise_measure returned TD_WRONG: %d runs are good, and %d fail", w->good,
                       w->failed);
    else if (!want->may_succeed)
        td_grade_wrong(result, case_name, "exercise_measure returned TD_OK: no run was good, want TD_WRONG");
    if (got->status == TD_WRONG || !want->may_succeed) return;
    for (int i = 0; i < 3; i++)
        if (!near(is[i], should[i], call_seconds))
            used += snprintf(text + used, sizeof text - (size_t)used, "%s: got %.9g s, want %.9g s, up to %.2g s off\n",
                             name[i], is[i], should[i], call_seconds);
    if (g->good != w->good || g->failed != w->failed)
        used += snprintf(text + used, sizeof text - (size_t)used, "good %d, failed %d, want %d and %d\n", g->good,
                         g->failed, w->good, w->failed);
    if (used > 0) text[used - 1] = '\0';
    td_grade_wrong(result, case_name, "%s", text);
}

void td_measure_judge(const td_measure_device *device, int runs, const td_measured *got, const char *case_name,
                      td_grade_result *result, td_suspects *suspects) {
    td_statistics want;
    td_measure_want(&device->setup, runs, device->submitted, &want);
    int right = agree(got, &want, call_seconds);
    if (right)
        td_grade_right(result, case_name);
    else
        say(got, &want, case_name, result);
    td_suspects_case(suspects, !right);
    view(device, runs, got, &want, right, suspects);
}
