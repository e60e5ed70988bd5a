/* The rungs of a ladder, in the order of the syllabus: which there are, and how long they take on a GPU. */
#ifndef TANDEM_LESSON_RUNGS_H
#define TANDEM_LESSON_RUNGS_H

#include "../checks/record.h"
#include "tandem/device.h"

/* Rung number i of an operation on a backend that takes this type; NULL past the end. */
const td_variant *td_rung_at(td_op op, td_backend backend, td_dtype dtype, int i);
/* One row a rung on a GPU, of those that `takes` takes (NULL = all): checked, timed, and placed beside the rung before
 * it. `failed` counts verdicts FAIL. */
td_status td_rungs_time(const td_problem *problem, td_dtype dtype, int (*takes)(const td_variant *), td_record *record,
                        int *failed, td_error *err);
extern const td_heading td_rungs_time_columns[];

#endif
