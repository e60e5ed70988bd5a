/* What goes wrong in a data-parallel step, each fault planted and run; and what each would give, in one process. */
#ifndef TANDEM_LESSON_6_FAULTS_H
#define TANDEM_LESSON_6_FAULTS_H

#include "lesson_6_truth.h"
#include "tandem/ddp.h"

typedef enum td_lesson_6_fault {
    TD_FAULT_NONE = 0,
    TD_FAULT_SEEDS,          /* each rank starts from its own seed */
    TD_FAULT_SAME_DATA,      /* all ranks draw the samples of rank 0 */
    TD_FAULT_LOCAL_KEYS,     /* dropout is keyed by a sample's place in the rank, not in the global batch */
    TD_FAULT_RANK_MEANS,     /* the mean of the ranks' means, though they count different numbers of tokens */
    TD_FAULT_NO_DIVISION,    /* the ranks' means are summed, never divided by their number */
    TD_FAULT_EARLY_DIVISION, /* one rank divides while the sum is on its way */
    TD_FAULT_EARLY_UPDATE,   /* the update takes what is in the buffer before the wait */
    TD_FAULTS
} td_lesson_6_fault;

typedef struct td_lesson_6_fault_name {
    const char *name, *mistake;
    const char *way; /* of td_ddp_mistakes; NULL: the reduction is right, or done by hand */
} td_lesson_6_fault_name;
extern const td_lesson_6_fault_name td_lesson_6_faults[TD_FAULTS];

/* What a rank draws under a fault: values, samples, keys. */
void td_lesson_6_fault_values(const td_lesson_6_scene *scene, td_lesson_6_fault fault, int rank, double *values);
td_status td_lesson_6_fault_draw(const td_lesson_6_scene *scene, td_lesson_6_fault fault, int rank, int64_t step,
                                 td_lesson_6_batch *batch, td_error *err);

/* What every rank can find out about a step without knowing the truth's gradient, in the order of looking. */
typedef struct td_lesson_6_evidence {
    int starts_equal;               /* ranks whose values were rank 0's before the step */
    int samples_right, samples_own; /* of the global batch's: in their place; different ones */
    double weight_low, weight_high; /* what a token counts in the update: of all ranks the least and the most */
    double weight_want;             /* 1 / counted tokens of the global batch */
    int gradients_equal;            /* ranks that updated from what the last rank did */
    char refused[320];              /* what td_comm.writable says of touching the buffer early; "" if nobody did */
} td_lesson_6_evidence;
/* The first of data, normalisation, synchronisation that is not as it should be; "nothing". */
const char *td_lesson_6_first(const td_lesson_6_scene *scene, const td_lesson_6_evidence *evidence);

/* A step with the fault, on all ranks. `gradient`: what rank 0 updates from. `global`: rank 0's copy of the whole batch
 * of this step, NULL on the others. */
td_status td_lesson_6_faulty_step(td_lesson_6_scene *scene, td_lesson_6_fault fault, int64_t step,
                                  const td_lesson_6_batch *global, double *gradient, td_lesson_6_evidence *evidence,
                                  td_error *err);

/* Known mistakes whose gradient, computed in one process in double, is this one: their names, separated by " or ", in
 * `named`; "" if none fits. The right gradient is never named. On rank 0. */
td_status td_lesson_6_name(const td_lesson_6_scene *scene, int64_t step, const td_lesson_6_truth *truth,
                           const double *gradient, char named[TD_RECORD_TEXT], td_error *err);

#endif
