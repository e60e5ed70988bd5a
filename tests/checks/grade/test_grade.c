/* From what a check finds to its points, and to the verdict. */
#include "../../../checks/grade/check_run.h"
#include "graded.h"

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
    run = (td_grade_run){.exercise = &exercise, .deadline = td_now() + 1000};
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
    cr_expect(run.no_such_case);
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
    comes_to(3, TD_GRADED_BUILD_FAILED, 0, 10, "a.c cannot be compiled: see what the compiler said");
    run.program[0].messages = "a.c: In function 'error':\na.c:3:1: error: no\nnext";
    comes_to(0, TD_GRADED_BUILD_FAILED, 0, 30, "a.c:3:1: error: no");
    cr_expect_str_eq(lesson.result[0].message, "a.c:3:1: error: no");
    run.program[0].messages = "main.o: in f:\nmain.o: undefined reference to `f'\ncollect2: error: ld returned 1";
    comes_to(0, TD_GRADED_BUILD_FAILED, 0, 30, "main.o: undefined reference to `f'");
    run.program[0].messages = "collect2: error: ld returned 1\n";
    comes_to(0, TD_GRADED_BUILD_FAILED, 0, 30, "collect2");
    run.program[0].messages = "ld: x.o: in f:\nx.c:3: undefined reference to `exercise_f(int)'\ncollect2: error: ld";
    comes_to(0, TD_GRADED_BUILD_FAILED, 0, 30,
             "x.c:3: undefined reference to `exercise_f(int)'\na.c does not define exercise_f");
    run.program[1].outcome = TD_NOT_THERE;
    comes_to(2, TD_GRADED_BUILD_FAILED, 0, 20, "what it said");
    td_fail(&fault[0], TD_IO, "the disk is full");
    comes_to(0, TD_GRADED_HARNESS, 0, 30, "the disk is full");
    cr_expect_eq(found_runs, 0);
}

Test(grade, time_that_is_up_takes_no_points_that_were_earned) {
    comes_to(0, TD_GRADED_PASS, 30, 30, "");
    run.deadline = td_now() - 1;
    comes_to(1, TD_GRADED_TIMED_OUT, 0, 30, "not begun");
    cr_expect_eq(found_runs, 1);
    cr_expect_eq(lesson.points[0], 30);
    cr_expect_eq(td_grade_limit(&run, 5), 0);
    cr_expect_not(td_grade_wanted(&run, &checks[0], "T16", 0));
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
