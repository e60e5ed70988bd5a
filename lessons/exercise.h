/* The working copy of an exercise: a folder of the learner's own, and beside it how many hints were shown. */
#ifndef TANDEM_LESSONS_EXERCISE_H
#define TANDEM_LESSONS_EXERCISE_H

#include "tandem/status.h"
#include <limits.h>
#include <stdint.h>

typedef struct td_work {
    int number;
    char exercise[PATH_MAX]; /* lessons/NN_name/exercise */
    char folder[PATH_MAX];   /* the copy */
} td_work;

/* How many lessons there are: they are numbered from 1. */
int td_work_lessons(void);
/* Of lesson `number` (which exists); `folder` "" is mine/lesson-N. TD_UNSUPPORTED if that lesson has no exercise. */
td_status td_work_find(td_work *work, int64_t number, const char *folder, td_error *err);
/* Copy what is handed out: all but rubric, hints and solution. It appears whole or not at all; TD_BAD_PARAM if
 * something is there already. */
td_status td_work_start(const td_work *work, td_error *err);
/* Start anew; what was there is kept as `kept`, the folder's name with .before-K. */
td_status td_work_reset(const td_work *work, char kept[PATH_MAX], td_error *err);
/* Is there a copy? TD_BAD_PARAM if not, with how to start one. */
td_status td_work_is_there(const td_work *work, td_error *err);
/* Print hint `hint`, or, with 0, the one after those that were shown. */
td_status td_work_hint(const td_work *work, int64_t hint, FILE *out, td_error *err);
/* Print the reference solution's files. */
td_status td_work_solution(const td_work *work, FILE *out, td_error *err);

#endif
