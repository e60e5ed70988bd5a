/* A submission graded whole, through a child: or a check of it. */
#ifndef TANDEM_TESTS_WHOLE_H
#define TANDEM_TESTS_WHOLE_H

#include "../../../checks/grade/grade.h"
#include "probe.h"

/* `only`: a check's name, or NULL. Free it with free(). */
static inline td_grade *whole_graded(const char *submission, int lesson, const char *only) {
    td_sandbox sandbox = probe_sandbox(TD_TIERS);
    td_grade_options options = {
        .submission = submission, .lesson = lesson, .seed = 3, .secret = 4, .only_case = only, .seconds = 120};
    td_grade *record;
    td_error err;
    cr_assert_eq(td_grade_submission(&record, &options, &sandbox, &err), TD_OK, "%s", err.message);
    return record;
}

/* The solution gets all points of each of these checks, the skeleton none, and is told why. */
static inline void whole_solution_and_skeleton(int lesson, const char *exercise, const char *const *checks) {
    char solution[200];
    snprintf(solution, sizeof solution, "%s/solution", exercise);
    for (int i = 0; checks[i]; i++) {
        td_grade *right = whole_graded(solution, lesson, checks[i]), *empty = whole_graded(exercise, lesson, checks[i]);
        cr_expect(right->most > 0 && right->points == right->most, "%s: %g of %g", checks[i], right->points,
                  right->most);
        cr_expect(empty->most == right->most && empty->points == 0, "%s", checks[i]);
        for (int line = 0; line < TD_RUBRIC_LINES; line++)
            if (empty->lesson[0].result[line].graded == TD_GRADED_WRONG)
                cr_expect_not_null(strstr(empty->lesson[0].result[line].message, "not written yet"));
        free(right);
        free(empty);
    }
}

#endif
