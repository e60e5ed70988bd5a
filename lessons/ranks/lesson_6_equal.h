/* Ranks that do nothing wrong: a step, and a walk of several beside one process. */
#ifndef TANDEM_LESSON_6_EQUAL_H
#define TANDEM_LESSON_6_EQUAL_H

#include "lesson_6_truth.h"
#include "tandem/ddp.h"

/* A td_ddp over the scene's model, buckets of at most `cap` bytes. */
td_status td_lesson_6_ddp(td_lesson_6_scene *scene, const td_ddp_scheme *scheme, size_t cap, td_ddp **ddp,
                          td_error *err);
/* Forward and backward of this rank's part of the batch, gradients reduced; `loss`: the mean over the global batch. */
td_status td_lesson_6_backward(td_lesson_6_scene *scene, td_ddp *ddp, const td_lesson_6_batch *batch, double *loss,
                               td_error *err);
/* `steps` steps by the bucketed scheme, a batch each. Beside it, on rank 0 in double: one process on the same global
 * batches; one process on rank 0's samples alone; and trials of what float32 may cost. A row a step. */
td_status td_lesson_6_walk(td_lesson_6_scene *scene, int64_t steps, size_t cap, td_lesson_6_batch *batch,
                           double *gradient, td_record *record, td_error *err);

#endif
