/* A submission written, built and called in a few lines. */
#ifndef TANDEM_TESTS_PROBE_H
#define TANDEM_TESTS_PROBE_H

#include "../../../checks/file.h"
#include "../../../checks/grade/build.h"
#include "../../../checks/grade/session.h"
#include "../../support.h"

/* The submission in submissions/NAME.c, built under `folder`. */
static inline void probe_build_file(td_program *program, const td_sandbox *sandbox, const char *folder,
                                    const char *file) {
    td_part part = {file, "probe"};
    td_error err;
    char submission[PATH_MAX];
    cr_assert_eq(td_resource_find("tests/checks/grade/child/submissions", submission, sizeof submission, &err), TD_OK,
                 "%s", err.message);
    cr_assert_eq(td_program_build(program, sandbox, &part, NULL, submission, folder, 0, &err), TD_OK, "%s",
                 err.message);
}

/* probe.c with this text, in folder/submission, built under `folder`. */
static inline void probe_build(td_program *program, const td_sandbox *sandbox, const char *folder, const char *text) {
    static const td_part part = {"probe.c", "probe"};
    td_error err;
    char submission[200];
    snprintf(submission, sizeof submission, "%s/submission", folder);
    mkdir(submission, 0755);
    support_write(support_path(submission, "probe.c"), text, strlen(text));
    cr_assert_eq(td_program_build(program, sandbox, &part, NULL, submission, folder, 0, &err), TD_OK, "%s",
                 err.message);
}

static inline void probe_tensor(td_wire_buffer *request, int is_output, int at_start, const float *data, int n) {
    td_wire_tensor t = {TD_F32, is_output, at_start, 1, {1, 1, 1, n}, {n, n, n, 1}, 0, n};
    td_wire_put(request, &t, sizeof t);
    if (!is_output) td_wire_put(request, data, (size_t)n * sizeof *data);
}

/* Call number `what` with x = 1, 2, 3 … n, and n elements of y. */
static inline void probe_call(td_child *child, uint32_t what, int n, int at_start, double limit, td_world world,
                              td_said *said) {
    td_wire_buffer request = {NULL, 0, 0, 0};
    td_error err;
    float *x = malloc(sizeof *x * (size_t)(n + 1));
    for (int i = 0; i < n; i++) x[i] = (float)(i + 1);
    probe_tensor(&request, 0, at_start, x, n);
    probe_tensor(&request, 1, at_start, NULL, n);
    cr_assert_eq(td_child_run(child, what, &request, limit, (size_t)n * 4 + 256, world, NULL, said, &err), TD_OK, "%s",
                 err.message);
    td_wire_free(&request);
    free(x);
}

/* This tier, or the test is skipped with the reason. */
static inline td_sandbox probe_sandbox(td_tier tier) {
    td_sandbox sandbox;
    td_error err;
    td_status status = td_sandbox_find(&sandbox, tier, &err);
    if (status == TD_UNSUPPORTED) cr_skip_test("%s", err.message);
    cr_assert_eq(status, TD_OK, "%s", err.message);
    return sandbox;
}

/* No process of ours is left, not even a dead one. */
static inline void probe_all_gone(void) {
    cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1);
}

#endif
