/* Lesson 1's exercise: the device by hand, right answers by hand, and each mistake by its own name and no other. */
#include "../../../checks/grade/measure_cases.h"
#include "../../../checks/grade/measure_judge.h"
#include "asked.h"
#include "whole.h"
#include <math.h>

enum { WAITS = 0, WAITS_LATE, NEVER_WAITS };
/* How a student measures; all zero is right. */
typedef struct habits {
    int statistics;   /* a mistake of td_statistics_mistakes */
    int warmup;       /* runs less than it takes */
    int extra_warmup; /* runs more */
    int wait;
    int warmup_queued, one_input, restarts, repeats, gives_up, silent, batch;
} habits;

static int input_of(const habits *h, const td_device_setup *s, int index, int first) {
    return h->one_input ? 0 : (h->restarts && index >= first ? index - first : index) % s->inputs;
}

/* Time `runs` runs in these ways. */
static td_measured student(const habits *h, const td_device_setup *setup, int runs, td_measure_device *device) {
    td_taken taken = {0};
    td_statistics statistics;
    int index = 0, good = 0, first = setup->warmup - h->warmup + h->extra_warmup;
    td_device_begin(device, setup);
    if (first < 0) first = 0;
    for (; index < first; index++) {
        td_device_submit(device, input_of(h, setup, index, first), NULL);
        if (!h->warmup_queued) td_device_wait(device, NULL);
    }
    double start = h->batch ? td_device_now(device) : 0;
    for (; h->repeats ? good < runs && taken.n < 900 : taken.n < runs; index++) {
        double before = h->batch ? start : td_device_now(device), after = NAN;
        td_device_submit(device, input_of(h, setup, index, first), NULL);
        if (h->wait == WAITS_LATE) after = td_device_now(device);
        int failed = !h->batch && h->wait != NEVER_WAITS && td_device_wait(device, NULL) != TD_OK;
        if (!h->batch && h->wait != WAITS_LATE) after = td_device_now(device);
        if (failed && h->gives_up) return (td_measured){TD_WRONG, {NAN, NAN, NAN, 0, 0}};
        taken.seconds[taken.n] = after - before;
        taken.failed[taken.n++] = failed;
        good += !failed;
    }
    if (h->batch) {
        td_device_wait(device, NULL);
        double each = (td_device_now(device) - start) / runs;
        return (td_measured){TD_OK, {each, 0, each, runs, 0}};
    }
    td_statistics_of(&taken, h->statistics, &statistics);
    if (!statistics.may_succeed && !h->silent) return (td_measured){TD_WRONG, statistics.times};
    return (td_measured){TD_OK, statistics.times};
}

static td_suspects suspects_of_lesson_1(void) {
    td_suspects s = {0};
    td_exercise_1.enter(&s);
    return s;
}

/* All devices of all checks; how many cases failed. */
static int measured_with(const habits *h, uint64_t seed, td_suspects *suspects) {
    static td_measure_device device;
    int failed = 0;
    for (const td_device_case *c = td_device_cases; c->check; c++) {
        td_device_setup setup = c->setup;
        td_grade_result result = {.graded = TD_GRADED_PASS};
        setup.seed = seed + (uint64_t)(c - td_device_cases);
        td_measured got = student(h, &setup, c->runs, &device);
        int cases = suspects->failed;
        td_measure_judge(&device, c->runs, &got, c->name, &result, suspects);
        cr_expect_eq(suspects->failed - cases, result.failed_cases);
        failed += suspects->failed - cases;
    }
    return failed;
}

static void found_alone(const habits *h, const char *name) {
    for (uint64_t seed = 100; seed < 400; seed += 100) { /* what is named must not hang on the seed */
        td_suspects suspects = suspects_of_lesson_1();
        cr_expect_gt(measured_with(h, seed, &suspects), 0, "%s is not found", name);
        asked_named_alone(&suspects, name);
    }
}

Test(grade_lesson_1, the_device_queues_and_waits) {
    static td_measure_device d;
    td_device_setup setup = {.inputs = 3, .warmup = 1, .cache = 1, .slow = 2, .cached = 0.5, .period = 3, .seed = 9};
    td_device_begin(&d, &setup);
    double t0 = td_device_now(&d);
    cr_assert_eq(td_device_submit(&d, 0, NULL), TD_OK);
    double t1 = td_device_now(&d);
    cr_expect_float_eq(t1 - t0, TD_DEVICE_SUBMIT_SECONDS + TD_DEVICE_NOW_SECONDS, 1e-12, "submit returns at once");
    td_device_wait(&d, NULL);
    double t2 = td_device_now(&d);
    cr_expect_float_eq(t2 - t1, td_device_seconds(&setup, 0) + TD_DEVICE_WAIT_SECONDS, 1e-12, "it began before t1");
    cr_expect_eq(td_device_submit(&d, 3, NULL), TD_BAD_PARAM);
    cr_expect_eq(td_device_submit(&d, -1, NULL), TD_BAD_PARAM);
    int failed = 0;
    for (int i = 1; i < 7; i++) {
        cr_assert_eq(td_device_submit(&d, i < 4 ? i % 3 : 0, NULL), TD_OK);
        cr_expect_eq(d.run[i].seconds, td_device_seconds(&setup, i) * (i > 3 ? 0.5 : 1), "run %d", i);
        cr_expect_eq(td_device_wait(&d, NULL) == TD_WRONG, td_device_fails(&setup, i));
        failed += td_device_fails(&setup, i);
    }
    cr_expect_eq(failed, 2);
    while (d.submitted < TD_DEVICE_RUNS) cr_assert_eq(td_device_submit(&d, 0, NULL), TD_OK);
    cr_expect_eq(td_device_submit(&d, 0, NULL), TD_UNSUPPORTED);
}

Test(grade_lesson_1, statistics_by_hand) {
    td_taken taken = {.n = 5, .seconds = {5, 1, 100, 2, 4}, .failed = {0, 0, 1, 0, 0}};
    td_statistics s;
    td_statistics_of(&taken, 0, &s);
    cr_expect_eq(s.times.median, 3);
    cr_expect_eq(s.times.iqr, 4.25 - 1.75);
    cr_expect_eq(s.times.min, 1);
    cr_expect_eq(s.times.good, 4);
    cr_expect_eq(s.times.failed, 1);
    taken = (td_taken){.n = 1, .seconds = {7}};
    td_statistics_of(&taken, 0, &s);
    cr_expect_eq(s.times.median, 7);
    cr_expect_eq(s.times.iqr, 0);
    taken.failed[0] = 1;
    td_statistics_of(&taken, 0, &s);
    cr_expect(s.may_fail && !s.may_succeed);
}

Test(grade_lesson_1, what_is_right_may_be_done_in_several_ways) {
    habits ways[] = {{0}, {.extra_warmup = 3}, {.extra_warmup = 1}};
    for (int i = 0; i < 3; i++) {
        td_suspects suspects = suspects_of_lesson_1();
        cr_expect_eq(measured_with(&ways[i], 1 + 50 * (uint64_t)i, &suspects), 0);
    }
}

Test(grade_lesson_1, each_statistic_is_named_alone) {
    for (const td_answer_mistake *m = td_statistics_mistakes; m->which; m++)
        if (strcmp(m->name, "times_batch") != 0) found_alone(&(habits){.statistics = m->which}, m->name);
}

Test(grade_lesson_1, each_deed_is_named_alone) {
    found_alone(&(habits){.warmup = 1000}, "times_no_warmup");
    found_alone(&(habits){.warmup_queued = 1}, "times_queue_not_empty");
    found_alone(&(habits){.wait = NEVER_WAITS}, "times_no_wait");
    found_alone(&(habits){.wait = WAITS_LATE}, "times_late_wait");
    found_alone(&(habits){.one_input = 1}, "times_same_input");
    found_alone(&(habits){.restarts = 1}, "times_cached_input");
    found_alone(&(habits){.repeats = 1}, "times_failed_repeated");
    found_alone(&(habits){.gives_up = 1}, "times_failed_ends");
    found_alone(&(habits){.silent = 1}, "times_none_good");
    found_alone(&(habits){.batch = 1}, "times_batch");
}

Test(grade_lesson_1, two_mistakes_are_both_named) {
    td_suspects suspects = suspects_of_lesson_1();
    const td_suspect *named[8];
    measured_with(&(habits){.warmup = 1000, .statistics = 1}, 5, &suspects);
    int n = td_suspects_named(&suspects, named, 8);
    cr_assert_eq(n, 2, "%d are named", n);
    cr_expect_str_eq(named[0]->name, "times_no_warmup");
    cr_expect_str_eq(named[1]->name, "times_mean");
}

/* Answers to all questions of one function, with one mistake. */
static int answered_with(const td_asked *asked, int mistake, uint64_t seed, td_suspects *suspects) {
    int failed = 0;
    td_compare_question q[TD_MEASURE_QUESTIONS];
    td_speedup_question s[TD_MEASURE_QUESTIONS];
    for (const td_speedup_case *c = td_speedup_cases; c->name; c++) {
        td_speedup_questions(c, seed, s);
        failed +=
            asked_judged(&td_asked_speedup, asked == &td_asked_speedup ? mistake : 0, (const char *)s, c->n, suspects);
    }
    for (const td_compare_case *c = td_compare_cases; c->check; c++) {
        td_compare_questions(c, seed, q);
        failed +=
            asked_judged(&td_asked_compare, asked == &td_asked_compare ? mistake : 0, (const char *)q, c->n, suspects);
    }
    return failed;
}

Test(grade_lesson_1, each_answer_is_named_alone) {
    const td_asked *functions[] = {&td_asked_speedup, &td_asked_compare};
    for (int f = 0; f < 2; f++) {
        td_suspects right = suspects_of_lesson_1();
        cr_expect_eq(answered_with(functions[f], 0, 3, &right), 0);
        for (const td_answer_mistake *m = functions[f]->mistakes; m->which; m++) {
            td_suspects suspects = suspects_of_lesson_1();
            cr_expect_gt(answered_with(functions[f], m->which, 4, &suspects), 0, "%s is not found", m->name);
            asked_named_alone(&suspects, m->name);
        }
    }
}

static double speedup(double share, double times) {
    td_speedup_question q = {share, times};
    double answer;
    td_asked_speedup.respond(&q, 0, &answer);
    return answer;
}

Test(grade_lesson_1, speedups_by_hand) {
    cr_expect_eq(speedup(0.75, 3), 2);
    cr_expect_eq(speedup(0.5, INFINITY), 2);
    cr_expect_eq(speedup(0, INFINITY), 1);
    cr_expect_eq(speedup(1, INFINITY), INFINITY);
    td_speedup_question q = {0.96, 1e3};
    double want = speedup(q.share, q.times), rewritten = 1 / (1 - q.share * (1 - 1 / q.times)),
           wrong = want * (1 + 1e-12);
    cr_expect(td_asked_speedup.agrees(&q, &rewritten, &want), "another way to write it");
    cr_expect_not(td_asked_speedup.agrees(&q, &wrong, &want));
    wrong = NAN;
    cr_expect_not(td_asked_speedup.agrees(&q, &wrong, &want));
}

Test(grade_lesson_1, a_refusal_names_what_differs) {
    cr_expect_eq(td_message_names("the scope differs"), TD_NAMES_SCOPE);
    cr_expect_eq(td_message_names("B: 4 and 8"), TD_NAMES_B);
    cr_expect_eq(td_message_names("TB, C4 and BATCHES"), TD_NAMES_BATCH);
    cr_expect_eq(td_message_names("before.T=3"), TD_NAMES_T);
    cr_expect_eq(td_message_names("other Shape"), TD_NAMES_B | TD_NAMES_T | TD_NAMES_C);
    cr_expect_eq(td_message_names("Cannot compare B_2"), 0);
    td_compare_question q = {{"step", "step"}, {2, 2}, {3, 4}, {5, 5}, {6, 6}, {1, 2}};
    td_compare_answer want, got;
    td_asked_compare.respond(&q, 0, &want);
    cr_expect_eq(want.status, TD_BAD_PARAM);
    got = (td_compare_answer){.status = TD_BAD_PARAM, .message = "C differs"};
    cr_expect_not(td_asked_compare.agrees(&q, &got, &want));
    memset(got.message, 'T', sizeof got.message); /* no end, and no word of its own */
    cr_expect_not(td_asked_compare.agrees(&q, &got, &want));
    strcpy(got.message, "T differs");
    cr_expect(td_asked_compare.agrees(&q, &got, &want));
}

/* The whole of it is graded by make check-grader. */
Test(grade_lesson_1, solution_and_skeleton) {
    whole_solution_and_skeleton(1, "lessons/01_measure/exercise", (const char *[]){"together", "refusal", NULL});
}
