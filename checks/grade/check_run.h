/* One line of the rubric: run, or the reason why not, and the points for it. */
#ifndef TANDEM_GRADE_CHECK_RUN_H
#define TANDEM_GRADE_CHECK_RUN_H

#include "grade.h"

/* Fills the lesson's line `i`. `fault` is the grader's own of each part's building, `suspects` those of each part. */
void td_check_run(td_grade_run *run, td_graded_lesson *lesson, int i, const td_error fault[2], td_suspects suspects[2]);

/* Does CASE= name this check, or a case of it? */
int td_check_is_named(const char *only_case, const char *check);

#endif
