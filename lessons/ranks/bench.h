/* What `tandem ranks bench` is made of: a rank's model and batch, one step, its measured pieces, and the check of what
 * the ranks summed. */
#ifndef TANDEM_LESSONS_RANKS_BENCH_H
#define TANDEM_LESSONS_RANKS_BENCH_H

#include "../../checks/record.h"
#include "marks.h"
#include "ranks.h"
#include "tandem/ddp.h"

enum { TD_BENCH_SIZES = 64 };

/* A rank. Arrays of all ranks are equally long, and the model's values the same; each has a batch of its own. */
typedef struct td_step_bench {
    td_world *world;
    td_model model;
    td_link link; /* simulated; {0, 0} = none */
    int64_t B, T, elements;
    int32_t *tokens, *targets;
    double scale; /* 1 / (tokens of all ranks) */
    int steps;
    int *order;                 /* order[i] = parameter announced i-th by backward */
    float *own, *sum, *scratch; /* `elements` each, in the engine's memory */
    int sizes;
    struct {
        size_t bytes;
        double seconds;
    } size[TD_BENCH_SIZES]; /* all-reduces timed so far */
} td_step_bench;

td_status td_step_bench_new(td_step_bench *bench, const td_arguments *arguments, td_world *world, td_error *err);
void td_step_bench_free(td_step_bench *bench);

/* Moments of a step, from `base` on; bucket k's gradients are ready at TD_READY + k. */
enum { TD_START = 0, TD_FORWARD_END, TD_BACKWARD_END, TD_END, TD_READY };

/* Zero gradients, forward, backward; with a ddp its begin and finish around them, else `ready` alone. */
td_status td_step_bench_step(td_step_bench *bench, td_ddp *ddp, td_gradient_ready ready, void *context, td_marks *marks,
                             int base, td_error *err);
/* Ranks begin together: CPU ranks meet, outside every interval. GPU ranks do not: the collectives keep them together,
 * and their hosts never wait. */
td_status td_step_bench_meet(td_step_bench *bench, td_error *err);

/* One scheme with one cap. Seconds; of each step the slowest rank's, then the median over steps. */
typedef struct td_step_measured {
    int buckets, packed;
    double alone;                  /* forward and backward without a reduction */
    double step, step_q1, step_q3; /* with it */
    double reduce;                 /* all buckets' all-reduces, each measured alone (or as the simulated link has it) */
    double bound, tail;            /* the end of the schedule; what of it comes after backward */
} td_step_measured;

td_status td_step_bench_measure(td_step_bench *bench, const td_ddp_scheme *scheme, td_ddp *ddp, td_step_measured *out,
                                td_error *err);
/* Seconds of one all-reduce of `bytes` with nothing beside it: the simulated link's, else the median of several
 * measured ones. */
td_status td_step_bench_reduce(td_step_bench *bench, size_t bytes, double *seconds, td_error *err);

/* One more step, which keeps the rank's own gradients as they are announced; then td_reduced_worst of the reduced ones
 * against them, on any rank; ∞ if all are zero. */
td_status td_step_bench_verify(td_step_bench *bench, td_ddp *ddp, double *worst, td_error *err);

/* One more step, recorded: on rank 0 rows of all ranks' compute and communication are added to `lines`. */
td_status td_step_bench_timeline(td_step_bench *bench, const td_ddp_scheme *scheme, int64_t cap, td_ddp *ddp,
                                 td_record *lines, td_error *err);

#endif
