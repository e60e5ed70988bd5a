/* What all reports share: the words about one check. All that is not the grader's own is made visible here, once. */
#ifndef TANDEM_GRADE_REPORT_H
#define TANDEM_GRADE_REPORT_H

#include "grade.h"

/* Points as they are shown: to a hundredth. */
double td_report_points(double points);
/* "lesson 3, ragged" */
void td_report_name(const td_graded_lesson *lesson, int i, char *out, int size);
/* One line: what came of it. "all 24 cases right", "wrong in 3 of 24 cases", "not run: only once ragged passes" */
void td_report_brief(const td_graded_lesson *lesson, int i, FILE *out);
/* The whole: tier, seeds, note. */
void td_report_about(const td_grade *grade, FILE *out);
/* What the compiler said of a lesson's files, and what the program printed: the first lines of each. */
void td_report_heard(const td_graded_lesson *lesson, FILE *out);
/* All there is to say of a check, in lines that end with a newline: in brief, the message, the mistake's name, the
 * command that replays the case, after td_report_replay. On the heap; NULL: no memory. */
extern const char td_report_replay[];
char *td_report_explained(const td_grade *grade, int lesson, int i);

#endif
