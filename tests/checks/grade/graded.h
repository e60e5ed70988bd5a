/* A record of a grading made by hand, for the tests of its reports; and an exercise that exists nowhere else. */
#ifndef TANDEM_TESTS_GRADED_H
#define TANDEM_TESTS_GRADED_H

#include "../../../checks/grade/grade.h"
#include "../../../cpu_ref/clock.h"
#include "../../support.h"
#include <math.h>

static inline td_status graded_no_run(td_grade_run *run, const td_grade_check *check, td_grade_result *result,
                                      td_error *err) {
    (void)run, (void)check, (void)result;
    return td_fail(err, TD_INTERNAL, "never run");
}

static const td_grade_check graded_checks[] = {{"shapes", 0, 0, graded_no_run},
                                               {"ragged", 0, 0, graded_no_run},
                                               {"kernels", 1, 0, graded_no_run},
                                               {"speed", 0, TD_CHECK_LAST | TD_CHECK_RATIO, graded_no_run},
                                               {"fast", 1, TD_CHECK_LAST | TD_CHECK_RATIO, graded_no_run},
                                               {NULL, 0, 0, NULL}};
static const td_exercise graded_exercise = {
    3, "03_online_softmax", {{"online_softmax.c", "online_softmax"}, {"kernels.cu", "kernels"}},
    2, graded_checks,       NULL};

static const td_sandbox graded_open = {
    .tier = TD_TIER_NONE, .filtered = 0, .why = "namespaces are forbidden here", .jail = ""};
static const td_sandbox graded_closed = {.tier = TD_TIER_BUBBLEWRAP, .filtered = 1, .why = "", .jail = ""};

static inline td_rubric graded_rubric(void) {
    return (td_rubric){5,
                       100,
                       {{"shapes", "common shapes", 30, 0, 0},
                        {"ragged", "lengths that fit no block: 1 < T & \"odd\"", 30, 0, 0},
                        {"kernels", "the same on a GPU", 20, 0, 0},
                        {"speed", "as fast as the reference solution", 10, 1, 0.25},
                        {"fast", "as fast on a GPU", 10, 1, 0.25}}};
}

/* One of each: right, wrong with a named mistake, skipped, half of a speed's points, not run. Free it with free(). */
static inline td_grade *graded_record(void) {
    td_grade *g = calloc(1, sizeof *g);
    cr_assert_not_null(g);
    td_graded_lesson *l = &g->lesson[0];
    strcpy(g->submission, "work/it's \x1b[31m\nhers");
    g->sandbox = &graded_open, g->seed = 7, g->secret = 8811, g->lessons = 1, g->complete = 1;
    l->exercise = &graded_exercise, l->rubric = graded_rubric(), l->done = 5;
    l->result[0] = (td_grade_result){TD_GRADED_PASS, 1, 24, 0, "T16", "", 0.25, 0, 0, 0, "", {{0, 0}}};
    l->result[1] = (td_grade_result){TD_GRADED_WRONG, 0, 12, 3, "T17 d46", "", INFINITY, 0, 0, 0, "", {{0, 0}}};
    strcpy(l->result[1].message,
           "O[b 0,h 1,t 16,d 3]: got 0.5, want 0.25\n]]> <b>&\x1b[2J \xff\xc2\x9b \xef\xbf\xbf\t|");
    l->result[2] = (td_grade_result){TD_GRADED_SKIPPED, 0, 0, 0, "", "no GPU # here", NAN, 0, 0, 0, "", {{0, 0}}};
    l->result[3] = (td_grade_result){
        TD_GRADED_PARTIAL, 0.5, 3, 0, "", "", NAN, 2e-3, 1.25e-3, 0.625, "the reference's time ÷ yours", {{0, 0}}};
    l->result[4] =
        (td_grade_result){TD_GRADED_NOT_RUN, 0, 0, 0, "", "only once kernels passes", NAN, 0, 0, 0, "", {{0, 0}}};
    const double points[] = {30, 0, 0, 5, 0}, most[] = {30, 30, 0, 10, 10};
    memcpy(l->points, points, sizeof points), memcpy(l->most, most, sizeof most);
    l->seconds[1] = 0.5;
    l->named = 1, l->judged[1] = 3;
    l->suspect[0] =
        (td_suspect){.told = 1 << 1, .name = "tail_dropped", .text = "the last block is left out if it is not full"};
    strcpy(l->output, "hello\x07\n\x1b]0;title\xe2\x80\xae\n");
    g->points = 35, g->most = 80, g->seconds = 1.5;
    return g;
}

static inline td_graded_lesson *graded_lesson(td_grade *g) {
    return &g->lesson[0];
}

/* No byte that acts on a terminal, or that XML 1.0 forbids. */
static inline void graded_is_tame(const char *text) {
    for (const char *c = text; *c; c++)
        cr_assert(*c == '\n' || ((unsigned char)*c >= 0x20 && *c != 0x7f), "byte %#x at %.60s", (unsigned char)*c, c);
    cr_expect_null(strstr(text, "\xc2\x9b"), "a C1 control");
    cr_expect_null(strstr(text, "\xe2\x80\xae"), "text turned around");
    cr_expect_null(strstr(text, "\xef\xbf\xbf"), "no character at all");
}

#endif
