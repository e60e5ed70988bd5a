/* A folder that was handed in: which exercises it holds. Its names are a stranger's. */
#ifndef TANDEM_GRADE_SUBMISSION_H
#define TANDEM_GRADE_SUBMISSION_H

#include "exercise.h"

/* TD_BAD_PARAM if there is no such folder, TD_IO if it cannot be read; else its full path. */
td_status td_submission_open(const char *given, char path[4096], td_error *err);
/* The folder of an exercise's files: lesson-N below `path` if there is one, else `path` itself. 1 if one of its files
 * is there. */
int td_submission_holds(const char *path, const td_exercise *exercise, char folder[4096]);
/* What is missing, and what is there instead: "no online_softmax.c; the folder holds softmax.c, notes.txt". */
void td_submission_lacks(const char *path, const td_exercise *exercise, char *out, int size);

#endif
