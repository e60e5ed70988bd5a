/* Lesson 1's exercise: a device to measure, Amdahl's law, and what may be compared. */
#include "measure_cases.h"
#include "measure_judge.h"
#include <string.h>

/* One call of exercise_measure, with the device in this process. */
static td_status measure(td_grade_run *run, const td_grade_check *check, const td_device_case *c,
                         td_measure_device *device, td_grade_result *result, td_error *err) {
    enum { SECONDS = 5, LARGEST = 4096 };
    td_measure_question question = {c->setup.inputs, c->setup.warmup, c->runs};
    td_device_setup setup = c->setup;
    td_wire_buffer request = {NULL, 0, 0, 0};
    td_child *child = NULL;
    td_said said;
    td_measured got;
    setup.seed = td_grade_seed(run, check, c->name, c->secret);
    td_device_begin(device, &setup);
    td_wire_put(&request, &question, sizeof question);
    td_status s = request.failed ? td_fail(err, TD_NO_MEMORY, "no memory for a request") : TD_OK;
    if (s == TD_OK) s = td_grade_start(run, check, &child, err);
    if (s == TD_OK)
        s = td_child_run(child, TD_MEASURE, &request, td_grade_limit(run, SECONDS), LARGEST, td_device_world, device,
                         &said, err);
    if (s == TD_OK && (said.outcome != TD_CHILD_FINE || said.done.notes ||
                       (said.done.status != TD_OK && said.done.status != TD_WRONG)))
        td_grade_outcome(result, c->name, &said);
    else if (s == TD_OK && !td_wire_get(&said.bytes, &got.times, sizeof got.times))
        td_grade_wrong(result, c->name, "the reply has no times");
    else if (s == TD_OK) {
        got.status = (td_status)said.done.status;
        td_measure_judge(device, c->runs, &got, c->name, result, &run->suspects);
        td_asked_aside(&td_asked_speedup, &run->suspects);
        td_asked_aside(&td_asked_compare, &run->suspects);
    }
    td_grade_let_go(run, child);
    td_wire_free(&request);
    return s;
}

static td_status times(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err) {
    td_status s = TD_OK;
    td_measure_device *device = malloc(sizeof *device);
    if (!device) return td_fail(err, TD_NO_MEMORY, "no memory for a device's %d runs", TD_DEVICE_RUNS);
    for (const td_device_case *c = td_device_cases; c->check && s == TD_OK && td_asked_go_on(result); c++)
        if (!strcmp(c->check, check->name) && td_grade_wanted(run, check, c->name, c->secret))
            s = measure(run, check, c, device, result, err);
    free(device);
    return s;
}

static td_status speedup(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err) {
    td_speedup_question questions[TD_MEASURE_QUESTIONS];
    double got[TD_MEASURE_QUESTIONS];
    td_status s = TD_OK;
    int answered;
    for (const td_speedup_case *c = td_speedup_cases; c->name && s == TD_OK && td_asked_go_on(result); c++) {
        if (!td_grade_wanted(run, check, c->name, c->secret)) continue;
        td_speedup_questions(c, td_grade_seed(run, check, c->name, c->secret), questions);
        s = td_asked_case(&td_asked_speedup, run, check, c->name, questions, c->n, got, &answered, result, err);
    }
    return s;
}

static td_status compare(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err) {
    td_compare_question questions[TD_MEASURE_QUESTIONS];
    td_compare_answer got[TD_MEASURE_QUESTIONS];
    td_status s = TD_OK;
    int answered;
    for (const td_compare_case *c = td_compare_cases; c->check && s == TD_OK && td_asked_go_on(result); c++) {
        if (strcmp(c->check, check->name) != 0 || !td_grade_wanted(run, check, c->name, c->secret)) continue;
        td_compare_questions(c, td_grade_seed(run, check, c->name, c->secret), questions);
        s = td_asked_case(&td_asked_compare, run, check, c->name, questions, c->n, got, &answered, result, err);
        if (s != TD_OK || !answered || !c->fixed || got[0].status != TD_BAD_PARAM) continue;
        /* In the first two, scope and batch differ. Words that are the same for both name nothing. */
        if (got[1].status == TD_BAD_PARAM && !memcmp(got[0].message, got[1].message, sizeof got[0].message))
            td_grade_wrong(result, c->name, "exercise_compare says the same words whether scope or batch differs");
    }
    return s;
}

static const td_grade_check checks[] = {
    {"times", 0, 0, times},    {"warmup", 0, 0, times},    {"inputs", 0, 0, times},
    {"failures", 0, 0, times}, {"together", 0, 0, times},  {"speedup", 0, 0, speedup},
    {"ratio", 0, 0, compare},  {"refusal", 0, 0, compare}, {NULL, 0, 0, NULL},
};

static void enter(td_suspects *suspects) {
    td_measure_enter(suspects);
    td_asked_enter(&td_asked_speedup, suspects);
    td_asked_enter(&td_asked_compare, suspects);
}

const td_exercise td_exercise_1 = {1, "01_measure", {{"measure.c", "measure"}}, 1, checks, enter};
