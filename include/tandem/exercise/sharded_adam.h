/* Exercise of lesson 7: AdamW whose states are divided over ranks. Your file is sharded_adam.c. */
#ifndef TANDEM_EXERCISE_SHARDED_ADAM_H
#define TANDEM_EXERCISE_SHARDED_ADAM_H

#include "../comm.h"
#include "../gpt.h"

typedef struct td_exercise_adam_config {
    double lr, beta1, beta2, eps, weight_decay;
} td_exercise_adam_config;

/* Yours to define. Each rank has one, in a process of its own. */
typedef struct exercise_adam exercise_adam;

/* `parameters` (n of them, any counts, also fewer than ranks) stay the caller's; name, count, value, gradient (float32
 * both) and decay are filled in. m and v exist only for what this rank owns: over all ranks together they are 8 bytes a
 * parameter, and no rank holds much more than its share of them. */
td_status exercise_adam_new(exercise_adam **out, td_comm *comm, const td_parameter *parameters, int n,
                            const td_exercise_adam_config *config, td_error *err);
/* One update, the formula of adam.h: gradients are this rank's own and are summed over ranks first; owners update; in
 * the end every rank has all new values, the same bits. Weight decay is decoupled and only where `decay` is 1. Step t
 * counts from 1. Gradients' arrays may be left with anything in them. */
td_status exercise_adam_step(exercise_adam *adam, td_error *err);
void exercise_adam_delete(exercise_adam *adam);

#endif
