/* Lesson 1 in the child: a device whose every answer comes from the parent, and two functions asked several times. */
#include "child.h"
#include "measure_wire.h"
#include <math.h>

static td_status submit(void *self, int input, td_error *err) {
    int32_t question = input;
    td_wire_reader answer;
    (void)self;
    return td_child_ask(TD_DEVICE_SUBMIT, &question, sizeof question, &answer, err);
}

static td_status wait_for_all(void *self, td_error *err) {
    td_wire_reader answer;
    (void)self;
    return td_child_ask(TD_DEVICE_WAIT, NULL, 0, &answer, err);
}

static double now(void *self) {
    td_wire_reader answer;
    double seconds = NAN;
    (void)self;
    if (td_child_ask(TD_DEVICE_NOW, NULL, 0, &answer, NULL) == TD_OK) td_wire_get(&answer, &seconds, sizeof seconds);
    return seconds;
}

static td_status measure(td_wire_reader *request, td_wire_buffer *reply, td_error *err) {
    td_measure_question q;
    td_exercise_times times = {NAN, NAN, NAN, -1, -1};
    if (!td_wire_get(request, &q, sizeof q)) return td_fail(err, TD_INTERNAL, "the request has no device");
    td_exercise_device device = {
        .self = &q, .inputs = q.inputs, .warmup = q.warmup, .submit = submit, .wait = wait_for_all, .now = now};
    td_status s = exercise_measure(&device, q.runs, &times, err);
    td_wire_put(reply, &times, sizeof times);
    return s;
}

static td_status speedup(td_wire_reader *request, td_wire_buffer *reply, td_error *err) {
    td_speedup_question q;
    if (!td_wire_get(request, &q, sizeof q)) return td_fail(err, TD_INTERNAL, "a question is missing");
    double answer = exercise_speedup(q.share, q.times);
    td_wire_put(reply, &answer, sizeof answer);
    return TD_OK;
}

static td_exercise_result result(const td_compare_question *q, int i) {
    return (td_exercise_result){q->scope[i], q->B[i], q->T[i], q->C[i], q->global_batch[i], q->seconds[i]};
}

static td_status compare(td_wire_reader *request, td_wire_buffer *reply, td_error *err) {
    td_compare_question q;
    td_compare_answer a = {.speedup = NAN};
    td_error said = {TD_OK, ""};
    if (!td_wire_get(request, &q, sizeof q)) return td_fail(err, TD_INTERNAL, "a question is missing");
    td_exercise_result before = result(&q, TD_BEFORE), after = result(&q, TD_AFTER);
    a.status = exercise_compare(&before, &after, &a.speedup, &said);
    memcpy(a.message, said.message, sizeof a.message);
    td_wire_put(reply, &a, sizeof a);
    return TD_OK;
}

td_status td_child_serve(uint32_t what, td_wire_reader *request, td_wire_buffer *reply, td_error *err) {
    int64_t n;
    td_status s = TD_OK;
    if (what == TD_MEASURE) return measure(request, reply, err);
    if (!td_wire_get(request, &n, sizeof n)) return td_fail(err, TD_INTERNAL, "the request has no count");
    for (int64_t i = 0; i < n && s == TD_OK; i++)
        s = what == TD_SPEEDUP ? speedup(request, reply, err) : compare(request, reply, err);
    return s;
}
