/* What a case of data parallelism is made of: a few parameters in the engine's memory, gradients that every rank can
 * work out for every other, one step, and the comparison of what came out with what must. */
#ifndef TANDEM_CHECKS_DDP_RIG_H
#define TANDEM_CHECKS_DDP_RIG_H

#include "ddp_cases.h"

enum { TD_RIG_PARAMETERS = 12 };

/* How a parameter is made; zeros mean: float32, used once, its gradient right behind the one before. */
typedef struct td_rig_shape {
    int64_t count;
    td_dtype dtype; /* TD_F64 is 0: spell it out */
    int frozen, uses, apart;
} td_rig_shape;

typedef struct td_rig {
    const td_ddp_trial *trial;
    td_ddp *ddp;
    td_parameter parameter[TD_RIG_PARAMETERS];
    int n;
    void *gradients, *reduced;
    double worst; /* err/tol so far; ∞ where something went wrong, and note says what */
    char note[160];
} td_rig;

/* What rank `rank` has in element k of parameter i's gradient. */
typedef double (*td_rig_term)(const td_rig *rig, int rank, int i, int64_t k);
/* The parameter that `rank` announces at `position` 0 … n − 1; −1: none. */
typedef int (*td_rig_order)(const td_rig *rig, int rank, int position);

typedef struct td_rig_step {
    td_rig_term term;    /* the truth, of which the sum is expected */
    td_rig_term given;   /* what this rank's backward adds, the last time; NULL: term */
    td_rig_term before;  /* what a micro-batch before it adds, which announces nothing; NULL: there is none */
    td_rig_order order;  /* NULL: from the last parameter down */
    double factor;       /* of the sum that is expected, and given to finish unless … */
    double given_factor; /* … this is not 0 */
    int exact;           /* sums are representable: compared bit for bit */
    double late;         /* seconds that the last rank comes late */
} td_rig_step;

/* Collective. A rig that could not be opened has worst = ∞ and its note, and must be closed too. */
td_status td_rig_open(td_rig *rig, const td_ddp_trial *trial, const td_ddp_config *caps, const td_rig_shape *shapes,
                      int n);
void td_rig_close(td_rig *rig);
/* Something is wrong: worst = ∞, with the first such note. */
void td_rig_wrong(td_rig *rig, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Gradient i ← this rank's term, rounded to its dtype. */
void td_rig_put(td_rig *rig, int i, td_rig_term term);
/* Gradient i ← itself + this rank's term, as backward does: both are rounded to its dtype, and so is the sum. */
void td_rig_accumulate(td_rig *rig, int i, td_rig_term term);
/* Announce every parameter, from the last down. */
void td_rig_announce(td_rig *rig);
/* A step: gradients zero, what a micro-batch before adds, begin, each added to and then announced, finish, compared.
 * One that is not announced stays as it is. A failure is noted; the step goes on, since others are in it. */
void td_rig_step_run(td_rig *rig, const td_rig_step *step);
/* Compare parameter i with the sum over ranks of `term`, times `factor`. */
void td_rig_compare(td_rig *rig, int i, td_rig_term term, double factor, int exact);
/* Gradient i (or, of 16 bits, its reduction) on the host; NULL without memory. The caller frees it. */
void *td_rig_result(td_rig *rig, int i, td_dtype *dtype);

/* Terms: multiples of 1/8 up to 8 in magnitude, exact in every dtype, and so are sums of 2¹⁷ of them in float32; and
 * standard normal deviates. Each rank has its own. */
double td_rig_exact(const td_rig *rig, int rank, int i, int64_t k);
double td_rig_normal(const td_rig *rig, int rank, int i, int64_t k);
double td_rig_zero(const td_rig *rig, int rank, int i, int64_t k);

#endif
