/* A submission is called, asks, answers, and may end in every way there is: all of them in the best tier, each outcome
 * in every tier. */
#include "child/submissions/hostile.h"
#include "probe.h"

typedef struct ending {
    uint32_t what;
    td_outcome outcome;
    const char *why; /* a part of it */
    int unfiltered;  /* the same where there is no filter */
} ending;

static const ending endings[] = {
    {WRITES_BEHIND, TD_CHILD_CRASHED, "a write right behind the end of y", 1},
    {READS_BEFORE, TD_CHILD_CRASHED, "a read 4 bytes before the start of x", 1},
    {WRITES_INPUT, TD_CHILD_CRASHED, "a write to byte 0 of x, which is an input", 1},
    {WRITES_NULL, TD_CHILD_CRASHED, "NULL", 1},
    {DIVIDES, TD_CHILD_CRASHED, "divided by zero", 1},
    {OVERFLOWS, TD_CHILD_CRASHED, "the stack is full", 1},
    {ABORTS, TD_CHILD_CRASHED, "signal 6", 1},
    {EXITS, TD_CHILD_ENDED, "exited with status 0", 1},
    {LOOPS, TD_CHILD_TIMED_OUT, "not done after 0.1 s", 1},
    {STOPS, TD_CHILD_TIMED_OUT, "not done after 0.1 s", 1},
    {SAYS_HALF, TD_CHILD_TIMED_OUT, "not done after 0.1 s", 1},
    {ASKS_ON, TD_CHILD_TIMED_OUT, "not done after 0.1 s", 1},
    {PRINTS, TD_CHILD_FLOODED, "printed more than 4 MiB", 1},
    {GARBLES, TD_CHILD_GARBLED, "no message", 1},
    {CLAIMS_MUCH, TD_CHILD_GARBLED, "message of 1099511627776 bytes", 1},
    {HANGS_UP, TD_CHILD_ENDED, "closed its connection", 1},
    {CLOSES_ALL, TD_CHILD_ENDED, "closed its connection", 1},
    {UNMAPS, TD_CHILD_CRASHED, "its program says: \"a read", 1},
    {USES_MEMORY, TD_CHILD_MEMORY, "", 1},
    {FORKS, TD_CHILD_FORBIDDEN, "system call", 0},
    {CONNECTS, TD_CHILD_FORBIDDEN, "system call", 0},
    {KILLS, TD_CHILD_FORBIDDEN, "system call", 0},
    {EXECUTES, TD_CHILD_FORBIDDEN, "system call", 0},
    {TRACES, TD_CHILD_FORBIDDEN, "system call", 0},
};

static td_status world(void *context, uint32_t what, td_wire_reader *question, td_wire_buffer *answer, td_error *err) {
    (void)context, (void)err;
    cr_expect_eq(what, 77u);
    cr_expect_eq(question->end - question->at, 8);
    td_wire_put(answer, &(float){42}, 4);
    return TD_OK;
}

static td_child *start(const td_sandbox *sandbox, const td_program *program) {
    td_limits limits = td_limits_of_child();
    td_child *child;
    td_error err;
    limits.address_bytes = (size_t)160 << 20;
    cr_assert_eq(td_child_start(&child, sandbox, &limits, program->path, 10, &err), TD_OK, "%s", err.message);
    return child;
}

static void fine(td_child *child, uint32_t what, int n, float first, td_world asked) {
    td_said said;
    float y[8];
    probe_call(child, what, n, 0, 10, asked, &said);
    cr_assert_eq(said.outcome, TD_CHILD_FINE, "%u: %s", what, said.why);
    cr_assert_eq(said.done.status, TD_OK, "%u: %s", what, said.done.message);
    cr_assert_eq(said.bytes.end - said.bytes.at, 4 * n);
    cr_assert(td_wire_get(&said.bytes, y, sizeof *y * (size_t)n));
    if (n > 0) cr_expect_eq(y[0], first, "%u: %g", what, y[0]);
    for (int i = 1; i < n; i++) cr_expect_eq(y[i], 2.0f * (float)(i + 1));
}

/* What goes well, in one child: call after call. */
static void goes_well(const td_sandbox *sandbox, const td_program *program) {
    td_child *child = start(sandbox, program);
    td_said said;
    for (int n = 0; n < 4; n++) fine(child, DOUBLES, n, 2, NULL);
    fine(child, ASKS, 3, 42, world);
    fine(child, IS_PARALLEL, 3, 2, NULL);
    probe_call(child, DECLINES, 1, 0, 10, NULL, &said);
    cr_expect_eq(said.done.status, TD_UNSUPPORTED);
    cr_expect_str_eq(said.done.message, "not written yet");
    for (uint32_t what = ROUNDS_UP; what <= FLUSHES; what++) {
        probe_call(child, what, 1, 0, 10, NULL, &said);
        cr_expect_eq(said.done.notes, (uint32_t)TD_NOTE_ROUNDING);
        probe_call(child, DOUBLES, 1, 0, 10, NULL, &said);
        cr_expect_eq(said.done.notes, 0u, "the modes are set right again");
    }
    for (uint32_t what = OPENS; what <= OUTLIVES && sandbox->filtered; what++) fine(child, what, 1, 2, NULL);
    const td_ended *ended = td_child_end(child);
    cr_expect_gt(ended->resident_bytes, 0u);
    probe_call(child, DOUBLES, 1, 0, 10, NULL, &said);
    cr_expect_eq(said.outcome, TD_CHILD_ENDED);
    td_child_delete(child);
}

static void ends(const td_sandbox *sandbox, const td_program *program, const ending *e) {
    td_child *child = start(sandbox, program);
    td_said said;
    double limit = e->outcome == TD_CHILD_TIMED_OUT ? 0.1 : 10;
    probe_call(child, e->what, 2, e->what == READS_BEFORE, limit, NULL, &said);
    cr_expect_eq(said.outcome, e->outcome, "%u: %s: %s", e->what, td_outcome_name(said.outcome), said.why);
    cr_expect(strstr(said.why, e->why), "%u: %s", e->what, said.why);
    /* It is no more, and says so whenever it is called. */
    probe_call(child, DOUBLES, 2, 0, 10, NULL, &said);
    cr_expect_eq(said.outcome, e->outcome);
    td_child_delete(child);
}

/* It answers, and writes more than it was asked for: the next call finds that. */
static void says_more(const td_sandbox *sandbox, const td_program *program, uint32_t what) {
    td_child *child = start(sandbox, program);
    td_said said;
    probe_call(child, what, 2, 0, 10, NULL, &said);
    cr_expect_eq(said.outcome, TD_CHILD_FINE, "%s", said.why);
    if (what == GOES_ON) {
        /* Between calls it stands still, threads and all: only now can it write. */
        usleep(40000);
        probe_call(child, LOOPS, 2, 0, 5, NULL, &said);
    } else {
        probe_call(child, DOUBLES, 2, 0, 5, NULL, &said);
    }
    cr_expect_eq(said.outcome, TD_CHILD_GARBLED, "%u: %s: %s", what, td_outcome_name(said.outcome), said.why);
    td_child_delete(child);
}

static void in_tier(td_tier tier) {
    char folder[64];
    td_program program;
    td_sandbox sandbox = probe_sandbox(tier);
    support_folder(folder);
    probe_build_file(&program, &sandbox, folder, "hostile.c");
    cr_assert_eq(program.outcome, TD_BUILT, "%s", program.messages);
    goes_well(&sandbox, &program);
    td_outcome shown = TD_CHILD_FINE;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (tier != TD_TIER_BUBBLEWRAP && endings[i].outcome == shown) continue;
        shown = endings[i].outcome;
        if (sandbox.filtered || endings[i].unfiltered) ends(&sandbox, &program, &endings[i]);
    }
    says_more(&sandbox, &program, FAKES_DONE);
    says_more(&sandbox, &program, GOES_ON);
    td_program_free(&program);
    support_folder_remove(folder);
    probe_all_gone();
}

/* As on a machine whose kernel, or whose build of Tandem, has none. */
Test(grade_session, goes_well_without_a_filter) {
    char folder[64];
    td_program program;
    td_sandbox sandbox = probe_sandbox(TD_TIER_NONE);
    sandbox.filtered = 0;
    support_folder(folder);
    probe_build_file(&program, &sandbox, folder, "hostile.c");
    cr_assert_eq(program.outcome, TD_BUILT, "%s", program.messages);
    goes_well(&sandbox, &program);
    td_program_free(&program);
    support_folder_remove(folder);
    probe_all_gone();
}

Test(grade_session, ends_in_bubblewrap) {
    in_tier(TD_TIER_BUBBLEWRAP);
}
Test(grade_session, ends_under_a_second_uid) {
    in_tier(TD_TIER_SECOND_UID);
}
Test(grade_session, ends_without_a_sandbox) {
    in_tier(TD_TIER_NONE);
}
