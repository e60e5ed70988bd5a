/* What ranks say to each other: four collectives, each started and later awaited. MPI stands behind it for CPU ranks,
 * NCCL for GPU ranks; a data-parallel scheme or a sharded optimizer is written once, over this.
 *
 * Every rank starts the same collectives in the same order; they are carried out in that order, one after another, and
 * start when all work that the rank's engine was given before is done. Arrays live where the ranks' engine has its
 * memory. Between start and await an array that the collective writes may be neither read nor written, one that it
 * only reads not written: td_comm_writable tells. A td_comm is used by one thread.
 *
 * A collective that is not done `limit` seconds after its start, because some rank has not come to it, is a hang: await
 * (on a GPU: td_comm_finish) fails with TD_WRONG, and the message says which rank waits for what. Where ranks see each
 * other (CPU ranks of one host), a collective in which they differ fails at once, on each of them, before anything is
 * mixed. After either the td_comm is good for nothing. */
#ifndef TANDEM_COMM_H
#define TANDEM_COMM_H

#include "dtype.h"
#include "link.h"
#include "status.h"
#include "variant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum td_reduce { TD_SUM = 0, TD_MAX, TD_MIN } td_reduce;
typedef enum td_collective {
    TD_ALL_REDUCE = 0,
    TD_REDUCE_SCATTER,
    TD_ALL_GATHER,
    TD_BROADCAST,
    TD_COLLECTIVES
} td_collective;

static inline const char *td_collective_name(td_collective c) {
    static const char *const names[] = {"all-reduce", "reduce-scatter", "all-gather", "broadcast"};
    return (unsigned)c < (unsigned)TD_COLLECTIVES ? names[c] : "?";
}

/* One collective. `label` names it in messages and time lines ("bucket 3"); at most 47 characters of it are kept.
 *   all-reduce      out: count elements, replaced by the reduction over ranks; in is ignored
 *   reduce-scatter  in: ranks·count elements; out: count, this rank's part of the reduction. In place: out = in's part
 *   all-gather      in: count elements of this rank; out: ranks·count. In place: in = out's part
 *   broadcast       out: count elements, replaced by those of `root`; in is ignored
 * Reductions take TD_F32 and TD_F64 (TD_UNSUPPORTED otherwise: 16-bit arrays are reduced in float32); the others move
 * any dtype. count = 0 is legal and still takes part. */
typedef struct td_call {
    td_collective what;
    td_dtype dtype;
    td_reduce reduce;
    int root;
    int64_t count;
    const void *in;
    void *out;
    const char *label;
} td_call;

typedef struct td_work td_work; /* a collective under way */

/* What happened, in seconds of CLOCK_MONOTONIC (of the host; a GPU's events are set against it). */
typedef struct td_comm_event {
    char label[48];
    td_collective what;
    size_t bytes;                 /* of the whole array: ranks·count for reduce-scatter and all-gather */
    double submitted, start, end; /* start(): asked for; started; done */
} td_comm_event;

typedef struct td_comm td_comm;
struct td_comm {
    int rank, ranks;
    td_backend backend; /* where arrays live: TD_CPU or TD_CUDA */
    const char *name;   /* "MPI", "NCCL", "one rank" */
    td_comm *host;      /* for arrays on the host: counts, losses, flags; itself where backend is TD_CPU */
    double limit;       /* seconds until a hang is reported: 8, or TANDEM_HANG */
    void *state;
    td_status (*start)(td_comm *comm, const td_call *call, td_work **work, td_error *err);
    /* Frees the work. CPU: the result is there on return. GPU: whatever the engine is given from now on waits for it,
     * the host does not. */
    td_status (*await)(td_comm *comm, td_work *work, td_error *err);
    /* Both, for a collective that nothing runs beside: on a GPU in the engine's own stream, without a detour through
     * another. NULL: start, then await. */
    td_status (*run)(td_comm *comm, const td_call *call, td_error *err);
    /* td_comm_finish; NULL where await leaves nothing to wait for. */
    td_status (*finish)(td_comm *comm, td_error *err);
    /* TD_WRONG, naming the collective, if it holds any of these bytes. */
    td_status (*writable)(const td_comm *comm, const void *array, size_t bytes, td_error *err);
    /* Simulate a slower link: each collective is done no sooner than link.h says it would be, the wait sleeping. Same
     * on all ranks. TD_UNSUPPORTED for NCCL. {0, 0} ends it. */
    td_status (*simulate)(td_comm *comm, td_link link, td_error *err);
    /* Collectives are recorded from now on (at most `most` of them; 0 ends it); events() gives how many and the rows,
     * valid until the next record(). */
    td_status (*record)(td_comm *comm, int most, td_error *err);
    int (*events)(td_comm *comm, const td_comm_event **events);
    void (*destroy)(td_comm *comm); /* collective; ends MPI where it was started by td_comm_mpi */
    /* 1: what ranks ask for is not compared, and they mix it up, for a lesson that shows what then happens. Same on all
     * ranks. */
    int trusting;
};

/* The process's MPI ranks. Under mpirun, srun or the like; alone it is one rank. Once a process. TD_UNSUPPORTED if this
 * build has no MPI. */
td_status td_comm_mpi(td_comm **out, td_error *err);
/* GPU ranks: one GPU a rank of `host`, which carries the bootstrap and stays the new comm's `host`. The GPU is picked
 * by the rank on its host, before CUDA starts. TD_NO_DEVICE without (enough) GPUs, or without NCCL. */
td_status td_comm_nccl(td_comm **out, td_comm *host, td_error *err);
/* A world of one rank, without any library. */
td_status td_comm_alone(td_comm **out, td_backend backend, td_error *err);

/* Start and await. */
static inline td_status td_comm_run(td_comm *comm, const td_call *call, td_error *err) {
    td_work *work;
    if (comm->run) return comm->run(comm, call, err);
    td_status status = comm->start(comm, call, &work, err);
    return status ? status : comm->await(comm, work, err);
}
/* Wait on the host until every collective started is done; all of them must have been awaited. It is here that a GPU
 * rank finds a hang: call it before anything that waits for the engine (synchronize, download, a loss), which would
 * wait forever. */
static inline td_status td_comm_finish(td_comm *comm, td_error *err) {
    return comm->finish ? comm->finish(comm, err) : TD_OK;
}
/* Reduce `count` doubles on the host: counts (exact to 2⁵³), losses, flags. */
static inline td_status td_comm_agree(td_comm *comm, td_reduce reduce, double *values, int64_t count, const char *label,
                                      td_error *err) {
    td_call call = {TD_ALL_REDUCE, TD_F64, reduce, 0, count, NULL, values, label};
    return td_comm_run(comm->host, &call, err);
}

#ifdef __cplusplus
}
#endif
#endif
