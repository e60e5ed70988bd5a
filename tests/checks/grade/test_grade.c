/* From what a check finds to its points; which cases are run; folders of submissions, and the private one. */
#include "../../../checks/grade/check_run.h"
#include "../../../checks/grade/scratch.h"
#include "../../../checks/grade/submission.h"
#include "graded.h"
#include <fcntl.h>
#include <signal.h>

/* A run without a child: what the fake checks find is put into `found`. */
static td_grade_result found;
static td_status found_status;
static int found_runs;

static td_status find(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err) {
    (void)run, (void)check;
    found_runs++;
    *result = found;
    return found_status == TD_OK ? TD_OK : td_fail(err, found_status, "no luck");
}

static const td_grade_check checks[] = {{"shapes", 0, 0, find}, {"ragged", 0, 0, find}, {"kernels", 1, 0, find},
                                        {"speed", 0, 1, find},  {"fast", 1, 2, find},   {NULL, 0, 0, NULL}};
static const td_exercise exercise = {3, "x", {{"a.c", "a"}, {"a.cu", "a"}}, 2, checks, NULL};
static td_graded_lesson lesson;
static td_grade_run run;
static td_error fault[2];
static td_suspects suspects[2];

static void enter(void) {
    lesson = (td_graded_lesson){.exercise = &exercise, .rubric = graded_rubric()};
    run = (td_grade_run){.exercise = &exercise, .deadline = td_grade_now() + 1000};
    run.program[0].messages = run.program[1].messages = "what it said";
    fault[0] = fault[1] = (td_error){TD_OK, ""};
    suspects[0] = suspects[1] = (td_suspects){0};
    found = (td_grade_result){.graded = TD_GRADED_PASS, .cases = 3};
    found_status = TD_OK, found_runs = 0;
}
TestSuite(grade, .init = enter);

/* Line i of the rubric is run: its verdict, its points of how many. */
static void comes_to(int i, td_graded graded, double points, double most, const char *message) {
    td_check_run(&run, &lesson, i, fault, suspects);
    const td_grade_result *r = &lesson.result[i];
    cr_expect_eq(r->graded, graded, "%d: %s: %s", i, td_graded_name(r->graded), r->message);
    cr_expect_eq(lesson.points[i], points, "%d: %g points", i, lesson.points[i]);
    cr_expect_eq(lesson.most[i], most);
    cr_expect(strstr(r->message, message), "'%s' in '%s'", message, r->message);
}

Test(grade, points_of_each_outcome) {
    comes_to(0, TD_GRADED_PASS, 30, 30, "");
    found.graded = TD_GRADED_PARTIAL, found.share = 0.5;
    comes_to(0, TD_GRADED_PARTIAL, 15, 30, "");
    found.share = 7;
    comes_to(0, TD_GRADED_PARTIAL, 30, 30, "");
    found.share = -1;
    comes_to(0, TD_GRADED_PARTIAL, 0, 30, "");
    found.share = NAN;
    comes_to(0, TD_GRADED_PARTIAL, 0, 30, "");
    found.graded = TD_GRADED_WRONG, found.share = 1;
    comes_to(0, TD_GRADED_WRONG, 0, 30, "");
    found.graded = TD_GRADED_SKIPPED;
    comes_to(0, TD_GRADED_SKIPPED, 0, 0, "");
    found_status = TD_IO;
    comes_to(0, TD_GRADED_HARNESS, 0, 30, "no luck");
}

Test(grade, a_check_that_judged_nothing_earns_nothing) {
    found.cases = 0;
    comes_to(0, TD_GRADED_HARNESS, 0, 30, "judged no case");
    run.public_only = 1;
    comes_to(0, TD_GRADED_SKIPPED, 0, 0, "secret");
    run.public_only = 0, run.only_case = "shapes/none";
    comes_to(0, TD_GRADED_SKIPPED, 0, 0, "no case of that name");
    comes_to(1, TD_GRADED_SKIPPED, 0, 0, "another check");
    cr_expect_eq(found_runs, 3);
}

Test(grade, what_stands_on_correctness_waits_for_its_own_part) {
    comes_to(0, TD_GRADED_PASS, 30, 30, "");
    found.graded = TD_GRADED_WRONG;
    comes_to(1, TD_GRADED_WRONG, 0, 30, "");
    found.graded = TD_GRADED_SKIPPED; /* no GPU: in nobody's way */
    comes_to(2, TD_GRADED_SKIPPED, 0, 0, "");
    found = (td_grade_result){.graded = TD_GRADED_PASS, .cases = 1, .ratio = 1};
    comes_to(3, TD_GRADED_NOT_RUN, 0, 10, "only once ragged passes");
    cr_expect_eq(found_runs, 3);
    run.limits.gpu = 1;
    comes_to(4, TD_GRADED_PASS, 10, 10, "");
    run.only_case = "speed"; /* a replay is of what it names */
    comes_to(3, TD_GRADED_PASS, 10, 10, "");
}

Test(grade, what_needs_a_gpu_is_asked_of_all_or_of_none) {
    found = (td_grade_result){.graded = TD_GRADED_WRONG, .cases = 1, .failed_cases = 1};
    comes_to(2, TD_GRADED_WRONG, 0, 20, "");
    comes_to(4, TD_GRADED_SKIPPED, 0, 0, "on a GPU alone");
    run.program[1].outcome = TD_BUILD_FAILED;
    comes_to(4, TD_GRADED_SKIPPED, 0, 0, "on a GPU alone");
    run.limits.gpu = 1;
    comes_to(4, TD_GRADED_BUILD_FAILED, 0, 10, "what it said");
    run.program[1].outcome = TD_BUILT;
    comes_to(4, TD_GRADED_NOT_RUN, 0, 10, "only once kernels passes");
    cr_expect_eq(found_runs, 1);
}

Test(grade, a_ratio_earns_its_share) {
    lesson.result[0].graded = lesson.result[1].graded = lesson.result[2].graded = TD_GRADED_PASS;
    found.ratio = 0.625;
    comes_to(3, TD_GRADED_PARTIAL, 5, 10, "");
    found.ratio = 3;
    comes_to(3, TD_GRADED_PASS, 10, 10, "");
    found.ratio = 0.01;
    comes_to(3, TD_GRADED_PARTIAL, 0, 10, "");
    found.ratio = 0;
    comes_to(3, TD_GRADED_HARNESS, 0, 10, "there is none");
    found.ratio = NAN;
    comes_to(3, TD_GRADED_HARNESS, 0, 10, "there is none");
    found.graded = TD_GRADED_CRASHED, found.ratio = 3;
    comes_to(3, TD_GRADED_CRASHED, 0, 10, "");
}

Test(grade, what_was_not_built_is_not_run) {
    run.program[0].outcome = TD_BUILD_FAILED;
    comes_to(0, TD_GRADED_BUILD_FAILED, 0, 30, "what it said");
    comes_to(3, TD_GRADED_BUILD_FAILED, 0, 10, "what it said");
    run.program[0].messages = "a.c: In function 'f':\na.c:3:1: error: no\nnext";
    comes_to(0, TD_GRADED_BUILD_FAILED, 0, 30, "a.c:3:1: error: no");
    cr_expect_null(strstr(lesson.result[0].message, "next"));
    run.program[1].outcome = TD_NOT_THERE;
    comes_to(2, TD_GRADED_BUILD_FAILED, 0, 20, "what it said");
    td_fail(&fault[0], TD_IO, "the disk is full");
    comes_to(0, TD_GRADED_HARNESS, 0, 30, "the disk is full");
    cr_expect_eq(found_runs, 0);
}

Test(grade, time_that_is_up_takes_no_points_that_were_earned) {
    comes_to(0, TD_GRADED_PASS, 30, 30, "");
    run.deadline = td_grade_now() - 1;
    comes_to(1, TD_GRADED_TIMED_OUT, 0, 30, "not begun");
    cr_expect_eq(found_runs, 1);
    cr_expect_eq(lesson.points[0], 30);
    cr_expect_eq(td_grade_limit(&run, 5), 0);
    cr_expect_not(td_grade_wanted(&run, &checks[0], "T16", 0));
}

Test(grade, wanted_are_public_or_all_or_the_one_named) {
    cr_expect(td_grade_wanted(&run, &checks[0], "T16", 0) && td_grade_wanted(&run, &checks[0], "T16", 1));
    run.public_only = 1;
    cr_expect(td_grade_wanted(&run, &checks[0], "T16", 0) && !td_grade_wanted(&run, &checks[0], "T16", 1));
    run.public_only = 0, run.only_case = "shapes/T16";
    cr_expect(td_grade_wanted(&run, &checks[0], "T16", 1));
    cr_expect_not(td_grade_wanted(&run, &checks[0], "T1", 1));
    cr_expect_not(td_grade_wanted(&run, &checks[0], "T160", 1));
    cr_expect_not(td_grade_wanted(&run, &checks[1], "T16", 1));
    run.only_case = "shapes";
    cr_expect(td_grade_wanted(&run, &checks[0], "T1", 1) && !td_grade_wanted(&run, &checks[1], "T1", 1));
    run.only_case = "shapesx";
    cr_expect_not(td_grade_wanted(&run, &checks[0], "T1", 1));
}

Test(grade, seeds_repeat_and_differ) {
    run.seed = 1, run.secret = 1;
    uint64_t a = td_grade_seed(&run, &checks[0], "T16", 0);
    cr_expect_eq(a, td_grade_seed(&run, &checks[0], "T16", 0));
    cr_expect_neq(a, td_grade_seed(&run, &checks[0], "T17", 0));
    cr_expect_neq(a, td_grade_seed(&run, &checks[1], "T16", 0));
    cr_expect_neq(a, td_grade_seed(&run, &checks[0], "T16", 1));
    uint64_t s = td_grade_seed(&run, &checks[0], "T16", 1);
    run.secret = 2;
    cr_expect_eq(a, td_grade_seed(&run, &checks[0], "T16", 0));
    cr_expect_neq(s, td_grade_seed(&run, &checks[0], "T16", 1));
    run.seed = 2;
    cr_expect_neq(a, td_grade_seed(&run, &checks[0], "T16", 0));
}

static td_grade_result fresh(void) {
    return (td_grade_result){.graded = TD_GRADED_PASS, .err_over_tol = NAN};
}

Test(grade, comparisons_are_counted_by_case_and_the_first_failure_is_told) {
    td_grade_result r = fresh();
    td_comparison fine = {.verdict = TD_PASS, .elements = 8, .err_over_tol = 0.2};
    td_comparison bad = {.verdict = TD_FAIL,
                         .elements = 8,
                         .wrong = 2,
                         .err_over_tol = 250000,
                         .worst = {0, 1, 16, 3},
                         .got = 0.5,
                         .want = 0.25,
                         .tol = 1e-6};
    td_grade_compared(&r, "T1", "O", &fine);
    td_grade_compared(&r, "T1", "LSE", &fine);
    cr_expect(r.cases == 1 && r.failed_cases == 0 && r.graded == TD_GRADED_PASS);
    fine.err_over_tol = 0.4;
    td_grade_compared(&r, "T2", "O", &fine);
    fine.err_over_tol = 0.1;
    td_grade_compared(&r, "T3", "O", &fine);
    cr_expect_eq(r.cases, 3);
    cr_expect_eq(r.err_over_tol, 0.4);
    cr_expect_str_eq(r.case_name, "T2");
    td_grade_compared(&r, "T17", "O", &bad);
    td_grade_compared(&r, "T17", "LSE", &bad);
    td_grade_compared(&r, "T18", "O", &bad);
    cr_expect(r.cases == 5 && r.failed_cases == 2 && r.graded == TD_GRADED_WRONG);
    cr_expect_str_eq(r.case_name, "T17");
    cr_expect_str_eq(r.message, "O[b 0,h 1,t 16,d 3]: got 0.5, want 0.25, tolerance 1e-06 (err/tol 2.5e+05)\n"
                                "2 of 8 elements are wrong");
    r = fresh(), bad.got = NAN, bad.nonfinite = 1, bad.err_over_tol = INFINITY;
    td_grade_compared(&r, "T1", "loss", &bad);
    cr_expect(strstr(r.message, "loss[0,1,16,3]: got nan, want 0.25") && strstr(r.message, "NaN or infinity"), "%s",
              r.message);
    r = fresh(), bad = (td_comparison){.verdict = TD_PASS, .elements = 1, .err_over_tol = NAN};
    td_grade_compared(&r, "T1", "O", &bad);
    cr_expect_eq(r.graded, TD_GRADED_WRONG);
    r = fresh(), bad = (td_comparison){.verdict = TD_FAIL, .err_over_tol = INFINITY};
    td_grade_compared(&r, "T1", "O", &bad);
    cr_expect(strstr(r.message, "its sizes"), "%s", r.message);
}

Test(grade, outcomes_of_children_by_weight) {
    td_grade_result r = fresh();
    td_said said = {.outcome = TD_CHILD_FINE, .done = {TD_UNSUPPORTED, 0, "not written\x1b yet"}};
    td_grade_outcome(&r, "a", &said);
    cr_expect_eq(r.graded, TD_GRADED_WRONG);
    cr_expect_str_eq(r.message, "the function returned TD_UNSUPPORTED: not written? yet");
    said = (td_said){.outcome = TD_CHILD_TIMED_OUT, .why = "it was not done after 5 s"};
    td_grade_outcome(&r, "b", &said);
    cr_expect_eq(r.graded, TD_GRADED_TIMED_OUT);
    cr_expect_str_eq(r.case_name, "b");
    cr_expect(strstr(r.message, "not done after 5 s"), "%s", r.message);
    said = (td_said){.outcome = TD_CHILD_CRASHED, .why = "7 bytes behind the end of O"};
    td_grade_outcome(&r, "c", &said);
    td_grade_wrong(&r, "d", "not %d", 7);
    cr_expect_eq(r.graded, TD_GRADED_CRASHED);
    cr_expect_str_eq(r.case_name, "c");
    cr_expect(r.cases == 4 && r.failed_cases == 4);
    td_grade_right(&r, "e");
    cr_expect(r.cases == 5 && r.failed_cases == 4);
}

Test(grade, notes_and_strange_statuses_are_told) {
    static const struct {
        td_wire_done done;
        const char *said;
    } all[] = {{{TD_OK, TD_NOTE_INPUT_CHANGED, ""}, "an input was changed"},
               {{TD_OK, TD_NOTE_ROUNDING, ""}, "rounding mode"},
               {{-5, 0, ""}, "a status that does not exist, without a message"},
               {{TD_IO, 0, "m"}, "TD_IO: m"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        td_grade_result r = fresh();
        td_said said = {.done = all[i].done};
        td_grade_outcome(&r, "a", &said);
        cr_expect_eq(r.graded, TD_GRADED_WRONG);
        cr_expect(strstr(r.message, all[i].said), "'%s' in '%s'", all[i].said, r.message);
    }
    td_grade_result r = fresh();
    td_said said = {.outcome = TD_CHILD_FINE};
    memset(said.done.message, 'x', sizeof said.done.message); /* no end */
    td_grade_outcome(&r, "a", &said);
    cr_expect_eq(r.graded, TD_GRADED_HARNESS, "nothing failed");
    said.done.status = TD_WRONG;
    r = fresh();
    td_grade_outcome(&r, "a", &said);
    cr_expect_eq(r.graded, TD_GRADED_WRONG);
}

Test(grade, the_verdict_is_the_worst) {
    td_grade *g = calloc(1, sizeof *g);
    cr_expect_eq(td_grade_verdict(g), TD_GRADED_BUILD_FAILED, "nothing was handed in");
    static const td_graded order[] = {TD_GRADED_SKIPPED,      TD_GRADED_PASS,      TD_GRADED_PARTIAL,
                                      TD_GRADED_WRONG,        TD_GRADED_TIMED_OUT, TD_GRADED_CRASHED,
                                      TD_GRADED_BUILD_FAILED, TD_GRADED_HARNESS};
    g->lessons = 1, g->lesson[0].rubric.n = 2;
    for (int worse = 0; worse < 8; worse++)
        for (int better = 0; better <= worse; better++)
            for (int swap = 0; swap < 2; swap++) {
                g->lesson[0].result[swap].graded = order[worse], g->lesson[0].result[!swap].graded = order[better];
                cr_expect_eq(td_grade_verdict(g), order[worse]);
            }
    g->lesson[0].result[0].graded = g->lesson[0].result[1].graded = TD_GRADED_NOT_RUN;
    cr_expect_eq(td_grade_verdict(g), TD_GRADED_WRONG);
    free(g);
}

Test(grade, folders_of_submissions) {
    char folder[64], path[4096], in[4096], said[600];
    td_error err = {TD_OK, ""};
    support_folder(folder);
    cr_expect_eq(td_submission_open(support_path(folder, "no\nne"), path, &err), TD_BAD_PARAM);
    cr_expect(strstr(err.message, "no?ne: must be a folder"), "%s", err.message);
    cr_assert_eq(td_submission_open(folder, path, &err), TD_OK);
    cr_expect_not(td_submission_holds(path, &exercise, in));
    td_submission_lacks(path, &exercise, said, (int)sizeof said);
    cr_expect_str_eq(said, "no a.c, no a.cu; the folder is empty");
    support_write(support_path(folder, "b\x1b.c"), "", 0);
    td_submission_lacks(path, NULL, said, (int)sizeof said);
    cr_expect_str_eq(said, "no exercise's file is there; the folder holds b?.c");
    cr_expect_eq(td_submission_open(support_path(folder, "b\x1b.c"), path, &err), TD_BAD_PARAM);
    cr_assert_eq(td_submission_open(folder, path, &err), TD_OK);
    support_write(support_path(folder, "a.cu"), "", 0);
    cr_expect(td_submission_holds(path, &exercise, in));
    cr_expect_str_eq(in, path);
    /* a link to elsewhere is no folder of the exercise */
    cr_assert_eq(symlink("/tmp", support_path(folder, "lesson-3")), 0);
    cr_expect(td_submission_holds(path, &exercise, in));
    cr_expect_str_eq(in, path);
    cr_assert_eq(unlink(support_path(folder, "lesson-3")), 0);
    cr_assert_eq(mkdir(support_path(folder, "lesson-3"), 0700), 0);
    cr_expect_not(td_submission_holds(path, &exercise, in));
    cr_expect_str_eq(in, support_path(path, "lesson-3"));
    for (int i = 0; i < 60; i++) {
        char name[64];
        snprintf(name, sizeof name, "a-rather-long-name-of-a-file-%d", i);
        support_write(support_path(folder, name), "", 0);
    }
    td_submission_lacks(path, &exercise, said, (int)sizeof said);
    cr_expect(strlen(said) < sizeof said && !strcmp(said + strlen(said) - strlen(", …"), ", …"), "%s", said);
    support_folder_remove(folder);
}

/* A grader that was killed leaves its folder; the next one removes it, and no other's. */
Test(grade, the_private_folder_is_left_by_nobody) {
    char folder[64];
    struct stat st;
    td_error err = {TD_OK, ""};
    td_scratch mine, next;
    support_folder(folder);
    setenv("TMPDIR", folder, 1);
    pid_t pid = fork();
    if (pid == 0) {
        td_scratch lost;
        if (td_scratch_make(&lost, &err) != TD_OK || mkdir(support_path(lost.path, "deep"), 0700) != 0) _exit(1);
        symlink(folder, support_path(lost.path, "deep/link"));
        kill(getpid(), SIGKILL);
    }
    int status;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert(WIFSIGNALED(status));
    cr_assert_eq(support_entries(folder), 1);
    mkdir(support_path(folder, "another"), 0700);
    cr_assert_eq(td_scratch_make(&mine, &err), TD_OK, "%s", err.message);
    cr_expect_eq(support_entries(folder), 2, "another, and mine");
    cr_assert_eq(stat(mine.path, &st), 0);
    cr_expect_eq(st.st_mode & 0777, 0700);
    cr_assert_eq(td_scratch_make(&next, &err), TD_OK);
    cr_expect_eq(access(mine.path, F_OK), 0, "held as long as I live");
    td_scratch_remove(&next);
    td_scratch_remove(&mine);
    td_scratch_remove(&mine);
    cr_expect_eq(support_entries(folder), 1);
    setenv("TMPDIR", support_path(folder, "none"), 1);
    cr_expect_eq(td_scratch_make(&mine, &err), TD_IO);
    unsetenv("TMPDIR");
    support_folder_remove(folder);
}
