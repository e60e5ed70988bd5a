/* Data parallelism: each rank runs backward on its own samples, and gradients are summed over ranks. Four schemes of
 * when and in what pieces: cpu_ref/ddp/{naive,flat,overlapped,bucketed}.c, for CPU and GPU ranks alike.
 *
 * Correct means equal to one process on the same global batch: backward is given scale = 1 / (counted tokens of ALL
 * ranks and micro-batches), and gradients are summed, never averaged rank by rank. A step:
 *     zero gradients; backward of every micro-batch but the last, not announcing (ready = NULL);
 *     td_ddp_begin;  backward of the last with td_ddp_ready;  td_ddp_finish;  then the update.
 *
 * PyTorch's design: Li et al., PyTorch Distributed, VLDB 2020, §3.2–3.3. */
#ifndef TANDEM_DDP_H
#define TANDEM_DDP_H

#include "comm.h"
#include "engine.h"
#include "gpt.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct td_ddp td_ddp;

typedef struct td_ddp_config {
    size_t cap_bytes;       /* of a bucket; a parameter larger than that has a bucket of its own. 0 = 25 MiB */
    size_t first_cap_bytes; /* of the bucket that is ready first; 0 = cap_bytes */
} td_ddp_config;

typedef struct td_ddp_scheme {
    const char *name; /* "naive", "flat", "overlapped", "bucketed" */
    const char *idea; /* one line */
    /* How parameters are divided: a bucket is what one all-reduce takes. */
    td_status (*plan)(td_ddp *ddp, td_error *err);
    /* Parameter i is ready for the last time in this step; all ready parameters before it are known. NULL: nothing to
     * do. */
    td_status (*ready)(td_ddp *ddp, int parameter, td_error *err);
    /* Start what is left, in the plan's order. */
    td_status (*finish)(td_ddp *ddp, td_error *err);
} td_ddp_scheme;

extern const td_ddp_scheme td_ddp_naive, td_ddp_flat, td_ddp_overlapped, td_ddp_bucketed;
/* NULL-terminated, in the order of the syllabus. */
extern const td_ddp_scheme *const td_ddp_schemes[];

/* Parameters stay the caller's (name, count, gradient, dtype, reduced, frozen and uses are read here). Collective: the
 * ranks' plans are compared, and TD_WRONG on every rank names the first bucket in which they differ, or the number of
 * parameters. config may be NULL. Buckets whose gradients lie one after another are reduced where they are; others are
 * packed into memory of the communication tag. Gradients of 16 bits are widened to float32 first, and the result stands
 * in `reduced`. TD_BAD_PARAM for a dtype that cannot be reduced, `uses` below 1, or a 16-bit gradient without
 * `reduced`. */
td_status td_ddp_new(td_ddp **out, const td_ddp_scheme *scheme, td_comm *comm, const td_engine *engine,
                     td_parameter *parameters, int n, const td_ddp_config *config, td_error *err);
void td_ddp_delete(td_ddp *ddp);
/* A step's reduction begins: nothing is ready. TD_WRONG if the last one was not finished, or if an all-reduce failed
 * in an earlier step. */
td_status td_ddp_begin(td_ddp *ddp, td_error *err);
/* A td_gradient_ready: parameter i has had one of its uses. What goes wrong is told by finish. Announcing once more
 * than `uses`, or before begin, is TD_WRONG: its gradient is in flight, or stale. */
void td_ddp_ready(void *ddp, int parameter);
/* May parameter i's gradient be written? TD_WRONG, naming parameter and collective, from its reduction's start to the
 * end of finish. */
td_status td_ddp_writable(const td_ddp *ddp, int parameter, td_error *err);
/* What is not ready by now was unused, and takes part as it stands (zeros). Returns when every reduction is done (on a
 * GPU: is before whatever the engine is given next). gradient ← factor · Σ over ranks; frozen parameters are left
 * alone. */
td_status td_ddp_finish(td_ddp *ddp, double factor, td_error *err);

/* The plan, for lessons and tests. */
int td_ddp_buckets(const td_ddp *ddp);
/* Bucket k, in the order of its all-reduce: its parameters (valid as long as the ddp), how many, and its bytes on the
 * link. */
const int *td_ddp_bucket(const td_ddp *ddp, int k, int *count, size_t *bytes);
/* Is it packed, or reduced where it is? */
int td_ddp_bucket_packed(const td_ddp *ddp, int k);

#ifdef __cplusplus
}
#endif
#endif
