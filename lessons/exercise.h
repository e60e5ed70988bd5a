/* The working copy of an exercise: a folder of the learner's own, and beside it how many hints were shown. */
#ifndef TANDEM_LESSONS_EXERCISE_H
#define TANDEM_LESSONS_EXERCISE_H

#include "tandem/status.h"
#include <limits.h>
#include <stdint.h>

/* A file that start leaves in a copy: the exercise's number. */
#define TD_WORK_MARKER ".tandem-exercise"

typedef struct td_work {
    int number;
    char exercise[PATH_MAX]; /* lessons/NN_name/exercise */
    char folder[PATH_MAX];   /* the copy */
} td_work;

/* How many lessons there are: they are numbered from 1. */
int td_work_lessons(void);
/* Of lesson `number` (which exists); `folder` "" is mine/lesson-N. TD_UNSUPPORTED if that lesson has no exercise. */
td_status td_work_find(td_work *work, int64_t number, const char *folder, td_error *err);
/* The make command of an action ("reset") on this copy, with WORK= where it is not the usual one: "make reset-3". Where
 * make would change the folder's name, the program itself is called. Returns `out`. */
char *td_work_command(const td_work *work, const char *action, char *out, int size);
/* Copy what is handed out: all but hints and solution; and the marker. It appears whole or not at all; TD_BAD_PARAM if
 * something is there already. */
td_status td_work_start(const td_work *work, td_error *err);
/* Start anew; what was there is kept as `kept`, the folder's name with .before-K. */
td_status td_work_reset(const td_work *work, char kept[PATH_MAX], td_error *err);
/* Is there a copy? TD_BAD_PARAM if not, with how to start one. */
td_status td_work_is_there(const td_work *work, td_error *err);
/* Is it a copy of this very exercise, which may be moved, and beside which may be written? TD_BAD_PARAM if not, with
 * what it is: so are links, mount points, and what holds the working folder, the home folder or the exercise. */
td_status td_work_is_own(const td_work *work, td_error *err);
/* Print hint `hint`, or, with 0, the one after those that were shown, which is remembered beside the copy. */
td_status td_work_hint(const td_work *work, int64_t hint, FILE *out, td_error *err);
/* Print the reference solution's files. */
td_status td_work_solution(const td_work *work, FILE *out, td_error *err);

#endif
