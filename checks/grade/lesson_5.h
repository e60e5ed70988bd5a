/* Exercise of lesson 5 has two parts, in C and as kernels: what both are asked. */
#ifndef TANDEM_GRADE_LESSON_5_H
#define TANDEM_GRADE_LESSON_5_H

#include "attention.h"

extern const td_attention_case td_backward_shapes[], td_backward_ragged[], td_backward_masks[],
    td_backward_empty_rows[], td_backward_gqa[], td_backward_strides[], td_backward_extreme[];

/* The checks of the part in CUDA (lesson_5_kernels.c). */
td_status td_backward_kernels(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err);
td_status td_backward_kernels_repeat(td_grade_run *run, const td_grade_check *check, td_grade_result *result,
                                     td_error *err);
td_status td_backward_kernels_counts(td_grade_run *run, const td_grade_check *check, td_grade_result *result,
                                     td_error *err);

#endif
