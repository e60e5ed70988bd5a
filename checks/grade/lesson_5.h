/* Exercise of lesson 5 has two parts, in C and as kernels: what both are asked. */
#ifndef TANDEM_GRADE_LESSON_5_H
#define TANDEM_GRADE_LESSON_5_H

#include "attention.h"

extern const td_attention_case td_backward_shapes[], td_backward_ragged[], td_backward_masks[],
    td_backward_empty_rows[], td_backward_gqa[], td_backward_strides[], td_backward_extreme[];

#endif
