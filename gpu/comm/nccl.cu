/* GPU ranks: NCCL behind comm.h, one GPU a rank.
 *
 * Collectives run on a stream of their own, beside the engine's. Each waits on the GPU for an event that stands behind
 * the work which the engine has been given so far; await makes the engine's stream wait for one that stands behind the
 * collective; run() has no use for it, and takes the engine's. The host only submits. The stream has high priority: a
 * collective that all ranks wait for should not get in line behind the blocks of a large product.
 *
 * A reduction has the same bits on all ranks where NCCL reduces along a ring or a tree: each element's sum is made once
 * and then copied. The order of its terms depends on ranks, size and topology, so with three ranks or more the same
 * values in another bucket may sum to other bits. */
#include "../cuda.h"
#include "../cuda/clock.h"
#include "nccl_library.h"
#include "place.h"
#include <stdlib.h>
#include <unistd.h>
extern "C" {
#include "../../cpu_ref/comm/work.h"
}

/* A collective on the GPU, from its start until the host sees its end: its work is freed before, by await. */
typedef struct flight {
    td_work told;            /* the work as it was started, for messages and records */
    const td_work *work;     /* NULL once awaited */
    cudaEvent_t ready, done; /* the engine's work before it is done; it is done */
    cudaEvent_t begin, end;  /* the same of its stream, with times: they cost some µs, so only if recorded */
    double begun;            /* when the host first saw that nothing was before it */
    bool recorded;
    struct flight *next;
} flight;

typedef struct nccl_state {
    td_comm comm;
    td_nccl nccl;
    ncclComm_t handle; /* NULL after an abort */
    cudaStream_t compute, stream;
    td_works works;       /* between start and await */
    flight *first, *last; /* in the order of their start; some are done */
    flight *spare;        /* of no use at present: their events are kept */
    td_cuda_clock clock;
    td_events events;
    char name[24];
    td_error dead; /* why it is good for nothing */
} nccl_state;

static td_status explain(nccl_state *s, ncclResult_t result, const char *what, td_error *err) {
    if (result == ncclSuccess) return TD_OK;
    td_fail(&s->dead, TD_INTERNAL, "NCCL, rank %d: %.100s: %.100s", s->comm.rank, what,
            s->nccl.ncclGetErrorString(result));
    return td_fail(err, TD_INTERNAL, "%s", s->dead.message);
}

static td_status alive(nccl_state *s, td_error *err) {
    return s->dead.status ? td_fail(err, s->dead.status, "%s", s->dead.message) : TD_OK;
}

/* What another rank's end, or a broken link, did to a collective under way is told here. */
static td_status healthy(nccl_state *s, td_error *err) {
    ncclResult_t result = ncclSuccess;
    td_status status = alive(s, err);
    if (status) return status;
    ncclResult_t asked = s->nccl.ncclCommGetAsyncError(s->handle, &result);
    return explain(s, asked ? asked : result, "a collective under way failed", err);
}

static void release(flight *f) {
    while (f) {
        flight *next = f->next;
        const cudaEvent_t made[] = {f->ready, f->done, f->begin, f->end};
        for (cudaEvent_t event : made)
            if (event) cudaEventDestroy(event);
        free(f);
        f = next;
    }
}

static td_status take(nccl_state *s, flight **out, td_error *err) {
    flight *f = s->spare;
    if (f) {
        s->spare = f->next;
    } else {
        if (!(f = (flight *)calloc(1, sizeof *f))) return td_fail(err, TD_NO_MEMORY, "no memory for a collective");
        cudaError_t error = cudaEventCreateWithFlags(&f->ready, cudaEventDisableTiming);
        if (error == cudaSuccess) error = cudaEventCreateWithFlags(&f->done, cudaEventDisableTiming);
        if (error == cudaSuccess) error = cudaEventCreate(&f->begin);
        if (error == cudaSuccess) error = cudaEventCreate(&f->end);
        if (error != cudaSuccess) return release(f), td_cuda_status(error, "events of a collective", err);
    }
    f->next = NULL, f->begun = 0;
    *out = f;
    return TD_OK;
}

/* Those that are awaited and done, from the first on, are spare again. */
static void retire(nccl_state *s) {
    while (s->first && !s->first->work && cudaEventQuery(s->first->done) == cudaSuccess) {
        flight *f = s->first;
        if (f->recorded) {
            f->told.start = td_cuda_clock_read(&s->clock, f->begin),
            f->told.end = td_cuda_clock_read(&s->clock, f->end);
            td_events_add(&s->events, &f->told);
        }
        s->first = f->next;
        if (!s->first) s->last = NULL;
        f->next = s->spare, s->spare = f;
    }
}

static ncclResult_t submit(nccl_state *s, const td_call *c, cudaStream_t stream) {
    static const ncclRedOp_t ops[] = {ncclSum, ncclMax, ncclMin};
    ncclDataType_t type = c->dtype == TD_F64 ? ncclFloat64 : ncclFloat32;
    size_t count = (size_t)c->count, bytes = count * td_dtype_size(c->dtype);
    switch (c->what) {
    case TD_ALL_REDUCE: return s->nccl.ncclAllReduce(c->out, c->out, count, type, ops[c->reduce], s->handle, stream);
    case TD_REDUCE_SCATTER:
        return s->nccl.ncclReduceScatter(c->in, c->out, count, type, ops[c->reduce], s->handle, stream);
    case TD_ALL_GATHER: return s->nccl.ncclAllGather(c->in, c->out, bytes, ncclUint8, s->handle, stream);
    default: return s->nccl.ncclBroadcast(c->out, c->out, bytes, ncclUint8, c->root, s->handle, stream);
    }
}

static td_status launch(nccl_state *s, flight *f, cudaStream_t stream, td_error *err) {
    cudaError_t error = cudaEventRecord(f->ready, s->compute);
    if (error == cudaSuccess && stream != s->compute) error = cudaStreamWaitEvent(stream, f->ready, 0);
    if (error == cudaSuccess && f->recorded) error = cudaEventRecord(f->begin, stream);
    td_status status = td_cuda_status(error, "start of a collective", err);
    if (!status) status = explain(s, submit(s, &f->told.call, stream), td_collective_name(f->told.call.what), err);
    if (status) return status;
    if (f->recorded) error = cudaEventRecord(f->end, stream);
    if (error == cudaSuccess) error = cudaEventRecord(f->done, stream);
    return td_cuda_status(error, "end of a collective", err);
}

static td_status start_in(nccl_state *s, const td_call *call, cudaStream_t stream, td_work **out, td_error *err) {
    flight *f = NULL;
    td_status status = alive(s, err);
    *out = NULL;
    if (status || (status = td_work_add(&s->works, &s->comm, call, out, err))) return status;
    retire(s);
    if (!(status = take(s, &f, err))) {
        f->told = **out, f->work = *out, f->recorded = s->events.most > 0;
        if (s->last)
            s->last->next = f;
        else
            s->first = f;
        s->last = f;
        if (!(status = launch(s, f, stream, err))) return TD_OK;
        f->work = NULL;
    }
    td_work_remove(&s->works, *out);
    *out = NULL;
    return status;
}

static td_status start(td_comm *comm, const td_call *call, td_work **out, td_error *err) {
    nccl_state *s = (nccl_state *)comm->state;
    return start_in(s, call, s->stream, out, err);
}

/* The work is freed, its flight goes on. */
static flight *landed(nccl_state *s, td_work *work) {
    flight *f = s->first;
    while (f->work != work) f = f->next; /* those not awaited are all there */
    f->work = NULL;
    td_work_remove(&s->works, work);
    return f;
}

/* NCCL itself keeps the order of one communicator's collectives, whichever streams they are in. */
static td_status run(td_comm *comm, const td_call *call, td_error *err) {
    nccl_state *s = (nccl_state *)comm->state;
    td_work *work;
    td_status status = start_in(s, call, s->compute, &work, err);
    if (status) return status;
    landed(s, work);
    return healthy(s, err);
}

static td_status await(td_comm *comm, td_work *work, td_error *err) {
    nccl_state *s = (nccl_state *)comm->state;
    flight *f = landed(s, work);
    td_status status = healthy(s, err);
    return status ? status : td_cuda_status(cudaStreamWaitEvent(s->compute, f->done, 0), "await", err);
}

/* NCCL's kernels end, and what waits for them on the GPU goes on. */
static td_status hang(nccl_state *s, const flight *f, td_error *err) {
    td_fail(&s->dead, TD_WRONG,
            "rank %d of %d waits for %s %lld '%s' of %zu bytes: not done %.3g s after it began, so a rank has not come "
            "to it",
            s->comm.rank, s->comm.ranks, td_collective_name(f->told.call.what), (long long)f->told.number,
            f->told.label, f->told.bytes, s->comm.limit);
    s->nccl.ncclCommAbort(s->handle);
    s->handle = NULL;
    return td_fail(err, TD_WRONG, "%s", s->dead.message);
}

static td_status finish(td_comm *comm, td_error *err) {
    nccl_state *s = (nccl_state *)comm->state;
    td_status status = alive(s, err);
    for (flight *f = s->first; f && !status; f = f->next) {
        cudaError_t error;
        while ((error = cudaEventQuery(f->done)) == cudaErrorNotReady) {
            /* While the engine's own work before it goes on, nobody hangs; collectives before it are done by now. */
            if (!f->begun && cudaEventQuery(f->ready) == cudaSuccess) f->begun = td_now();
            if (f->begun && !(td_now() - f->begun <= comm->limit)) return hang(s, f, err);
            if ((status = healthy(s, err))) return status;
            usleep(20);
        }
        status = td_cuda_status(error, "a collective, or work before it", err);
    }
    retire(s);
    return status;
}

static td_status writable(const td_comm *comm, const void *array, size_t bytes, td_error *err) {
    return td_works_writable(&((const nccl_state *)comm->state)->works, comm, array, bytes, err);
}

static td_status simulate(td_comm *comm, td_link link, td_error *err) {
    (void)comm;
    if (link.alpha == 0 && link.beta == 0) return TD_OK;
    return td_fail(err, TD_UNSUPPORTED, "alpha, beta: a slower link is simulated for CPU ranks alone");
}

static td_status record(td_comm *comm, int most, td_error *err) {
    nccl_state *s = (nccl_state *)comm->state;
    td_status status = finish(comm, err);
    if (!status) status = td_events_record(&s->events, most, err);
    if (status || most == 0) return status;
    return td_cuda_status(td_cuda_clock_set(&s->clock, s->stream), "clock of collectives", err);
}

static int events(td_comm *comm, const td_comm_event **rows) {
    nccl_state *s = (nccl_state *)comm->state;
    finish(comm, NULL); /* after a hang: the rows up to it */
    *rows = s->events.row;
    return s->events.count;
}

static void destroy(td_comm *comm) {
    nccl_state *s = (nccl_state *)comm->state;
    if (s->handle) finish(comm, NULL); /* a hang aborts it */
    if (s->handle) s->dead.status ? s->nccl.ncclCommAbort(s->handle) : s->nccl.ncclCommDestroy(s->handle);
    release(s->first), release(s->spare);
    if (s->clock.base) cudaEventDestroy(s->clock.base);
    if (s->stream) cudaStreamDestroy(s->stream);
    while (s->works.first) td_work_remove(&s->works, s->works.first);
    free(s->events.row);
    free(s);
}

static td_status join(nccl_state *s, td_comm *host, td_error *err) {
    ncclUniqueId id = {};
    int low, high;
    cudaError_t error = cudaDeviceGetStreamPriorityRange(&low, &high);
    if (error == cudaSuccess) error = cudaStreamCreateWithPriority(&s->stream, cudaStreamNonBlocking, high);
    if (error != cudaSuccess) return td_cuda_status(error, "stream of collectives", err);
    td_status status = td_all_ranks_have(host, td_nccl_open(&s->nccl, err), "NCCL", err);
    if (status) return status;
    int version = 0; /* 22809: 2.28.9 */
    s->nccl.ncclGetVersion(&version);
    snprintf(s->name, sizeof s->name, "NCCL %d.%d.%d", version / 10000, version / 100 % 100, version % 100);
    if (host->rank == 0) status = explain(s, s->nccl.ncclGetUniqueId(&id), "unique id", err);
    if ((status = td_all_ranks_have(host, status, "NCCL id", err))) return status;
    td_call call = {TD_BROADCAST, TD_F64, TD_SUM, 0, sizeof id / sizeof(double), NULL, &id, "NCCL id"};
    if ((status = td_comm_run(host, &call, err))) return status;
    return explain(s, s->nccl.ncclCommInitRank(&s->handle, host->ranks, id, host->rank), "joining", err);
}

td_status td_comm_nccl(td_comm **out, td_comm *host, td_error *err) {
    nccl_state *s = (nccl_state *)calloc(1, sizeof *s);
    *out = NULL;
    if (!s) return td_fail(err, TD_NO_MEMORY, "no memory for NCCL's state");
    td_comm *comm = &s->comm;
    comm->rank = host->rank, comm->ranks = host->ranks, comm->limit = host->limit, comm->host = host;
    comm->backend = TD_CUDA, comm->name = s->name, comm->state = s;
    comm->start = start, comm->await = await, comm->run = run, comm->finish = finish, comm->writable = writable;
    comm->simulate = simulate, comm->record = record, comm->events = events, comm->destroy = destroy;
    const td_device *device;
    td_status status = td_take_gpu(host, &device, err);
    if (!status) s->compute = (cudaStream_t)device->stream, status = join(s, host, err);
    if (status) return destroy(comm), status;
    *out = comm;
    return TD_OK;
}
