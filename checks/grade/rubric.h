/* The rubric of an exercise: a text that an instructor may edit, one line a check:
 *     # name   points  what it asks
 *     ragged   20      lengths and head dimensions that fit no block
 *     speed    10      full 1.0 none 0.25: as fast as the reference solution
 * `full` and `none` belong to a check with a ratio: all points from `full` on, none below `none`, linear between. */
#ifndef TANDEM_GRADE_RUBRIC_H
#define TANDEM_GRADE_RUBRIC_H

#include "exercise.h"

enum { TD_RUBRIC_LINES = 32 };
typedef struct td_rubric_line {
    char name[48], title[120];
    double points, full, none; /* full = none = 0: no ratio */
} td_rubric_line;
typedef struct td_rubric {
    int n;
    double points; /* sum */
    td_rubric_line line[TD_RUBRIC_LINES];
} td_rubric;

/* TD_BAD_PARAM with file and line for what cannot be read, a check that the exercise lacks, or one of its that is not
 * there; points are 0 to 1000000; full and none belong to a check with a ratio. */
td_status td_rubric_read(td_rubric *out, const td_exercise *exercise, const char *path, td_error *err);
/* The share of a line's points for a ratio. */
double td_rubric_share(const td_rubric_line *line, double ratio);

#endif
