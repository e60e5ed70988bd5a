/* A lesson about attention, its kernels emulated and on a GPU: the shapes it takes, and its header. */
#ifndef TANDEM_ATTENTION_LESSON_H
#define TANDEM_ATTENTION_LESSON_H

#include "../checks/arguments.h"
#include "tandem/variant.h"

/* From the options t, tq, tk (`least` to `most`), d, b, h, hkv, mask and scale: what the emulator runs, `small`; with
 * gpu-t, gpu-b and gpu-h: what a GPU is timed on, `large`. Both of the operation that small->op says. */
td_status td_attention_shapes(const td_arguments *arguments, int64_t least, int64_t most, td_problem *small,
                              td_problem *large, td_error *err);
/* DTYPE, which a rung must be able to take; SEED. */
td_status td_attention_inputs(const td_arguments *arguments, td_dtype *dtype, uint64_t *seed, td_error *err);
void td_attention_header(const td_arguments *arguments, const td_attention_problem *a);

#endif
