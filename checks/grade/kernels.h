/* Checks of kernels alone, in lessons 4 and 5. */
#ifndef TANDEM_GRADE_KERNELS_H
#define TANDEM_GRADE_KERNELS_H

#include "attention.h"

/* What the emulator counts, beside the reference solution's counts: something to read, worth no points, since the child
 * counts itself. On a GPU SKIPPED. */
td_status td_kernels_counts(td_grade_run *run, const td_grade_check *check, const td_attention_task *task,
                            const td_attention_case *c, td_grade_result *result, td_error *err);

#endif
