/* Exercise of lesson 6: bucketed data parallelism, communication under the backward pass. Your file is ddp.c. */
#ifndef TANDEM_EXERCISE_DDP_H
#define TANDEM_EXERCISE_DDP_H

#include "../comm.h"
#include "../gpt.h"

/* Yours to define. Each rank has one, in a process of its own. */
typedef struct exercise_ddp exercise_ddp;

/* Plan the buckets. `parameters` (n of them) stay the caller's; name, count, gradient (float32), frozen and uses are
 * filled in. Gradients become ready from the last parameter down, so that buckets are filled from the last parameter
 * down, each up to cap_bytes; a parameter larger than that has a bucket of its own. Every rank must start the same
 * collectives in the same order. */
td_status exercise_ddp_new(exercise_ddp **out, td_comm *comm, const td_parameter *parameters, int n, size_t cap_bytes,
                           td_error *err);
/* A step begins: no gradient is ready. */
td_status exercise_ddp_begin(exercise_ddp *ddp, td_error *err);
/* Parameter i's gradient has had one of its `uses`. After the last one it is final, and its bucket may be complete:
 * backward goes on while its all-reduce is under way (comm->start). Frozen parameters are never announced. */
td_status exercise_ddp_ready(exercise_ddp *ddp, int parameter, td_error *err);
/* Backward is over. What was not announced by now was unused on this rank and takes part as it stands (zeros). On
 * return each gradient is factor · (sum over ranks); frozen parameters' arrays are as they were. Backward was given
 * scale 1, so that `factor` is one over the number of tokens of ALL ranks. */
td_status exercise_ddp_finish(exercise_ddp *ddp, double factor, td_error *err);
void exercise_ddp_delete(exercise_ddp *ddp);

/* Its scale for that: 1 / (counted tokens of all ranks), from this rank's own count, which may be 0 (0 if all are). */
td_status exercise_ddp_factor(td_comm *comm, int64_t counted, double *factor, td_error *err);

#endif
