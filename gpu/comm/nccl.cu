/* GPU ranks: NCCL behind comm.h, one GPU a rank.
 *
 * Collectives run on a stream of their own, beside the engine's. Each waits on the GPU for an event that stands behind
 * the work which the engine has been given so far; await makes the engine's stream wait for one that stands behind the
 * collective. The host only submits. The stream has high priority: a collective that all ranks wait for should not get
 * in line behind the blocks of a large product.
 *
 * A reduction has the same bits on all ranks where NCCL reduces along a ring or a tree: each element's sum is made once
 * and then copied. The order of its terms depends on ranks, size and topology, so with three ranks or more the same
 * values in another bucket may sum to other bits. */
#include "../cuda.h"
#include "../cuda/clock.h"
#include "nccl_library.h"
#include "place.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct td_work {
    td_call call;
    char label[48];
    cudaEvent_t ready, begin, end; /* the engine's work before it is done; it is next in its stream; it is done */
    double submitted, begun;       /* begun: when the host first saw `begin` passed */
    bool awaited, recorded;
    td_work *next;
};

typedef struct nccl_state {
    td_comm comm;
    td_nccl nccl;
    ncclComm_t handle; /* NULL after an abort */
    cudaStream_t compute, stream;
    td_work *first, *last; /* under way, in the order of their start; some are done */
    td_work *spare;        /* of no use at present: their events are kept */
    td_cuda_clock clock;
    td_comm_event *event;
    int most, promised, recorded; /* promised: rows of works started since record() */
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

static size_t whole_bytes(const td_comm *comm, const td_call *call) {
    bool parts = call->what == TD_REDUCE_SCATTER || call->what == TD_ALL_GATHER;
    return (size_t)call->count * td_dtype_size(call->dtype) * (parts ? (size_t)comm->ranks : 1);
}

/* ---- works ---- */

static td_status take(nccl_state *s, td_work **out, td_error *err) {
    td_work *w = s->spare;
    if (w) {
        s->spare = w->next;
    } else {
        if (!(w = (td_work *)calloc(1, sizeof *w))) return td_fail(err, TD_NO_MEMORY, "no memory for a collective");
        cudaError_t error = cudaEventCreateWithFlags(&w->ready, cudaEventDisableTiming);
        if (error == cudaSuccess) error = cudaEventCreate(&w->begin);
        if (error == cudaSuccess) error = cudaEventCreate(&w->end);
        if (error != cudaSuccess)
            return td_cuda_status(error, "events of a collective", err); /* once: the run is over */
    }
    w->next = NULL, w->awaited = false, w->begun = 0;
    *out = w;
    return TD_OK;
}

static void note(nccl_state *s, const td_work *w) {
    td_comm_event *e = &s->event[s->recorded++];
    memcpy(e->label, w->label, sizeof e->label);
    e->what = w->call.what, e->bytes = whole_bytes(&s->comm, &w->call), e->submitted = w->submitted;
    e->start = td_cuda_clock_read(&s->clock, w->begin), e->end = td_cuda_clock_read(&s->clock, w->end);
}

/* Those that are awaited and done, from the first on, are spare again. */
static void retire(nccl_state *s) {
    while (s->first && s->first->awaited && cudaEventQuery(s->first->end) == cudaSuccess) {
        td_work *w = s->first;
        if (w->recorded) note(s, w);
        s->first = w->next;
        if (!s->first) s->last = NULL;
        w->next = s->spare, s->spare = w;
    }
}

/* ---- the interface ---- */

static td_status check(const td_comm *comm, const td_call *call, td_error *err) {
    bool reduces = call->what == TD_ALL_REDUCE || call->what == TD_REDUCE_SCATTER;
    if ((unsigned)call->what >= TD_COLLECTIVES)
        return td_fail(err, TD_BAD_PARAM, "what = %d: no such collective", call->what);
    if (call->count < 0) return td_fail(err, TD_BAD_PARAM, "count = %lld: must be at least 0", (long long)call->count);
    if (reduces && call->dtype != TD_F32 && call->dtype != TD_F64)
        return td_fail(err, TD_UNSUPPORTED, "dtype = %s: reductions take f32 and f64", td_dtype_name(call->dtype));
    if (reduces && (unsigned)call->reduce > TD_MIN)
        return td_fail(err, TD_BAD_PARAM, "reduce = %d: must be sum, max or min", call->reduce);
    if (call->what == TD_BROADCAST && (call->root < 0 || call->root >= comm->ranks))
        return td_fail(err, TD_BAD_PARAM, "root = %d: must be from 0 to %d", call->root, comm->ranks - 1);
    return TD_OK;
}

static ncclResult_t submit(nccl_state *s, const td_call *c) {
    static const ncclRedOp_t ops[] = {ncclSum, ncclMax, ncclMin};
    ncclDataType_t type = c->dtype == TD_F64 ? ncclFloat64 : ncclFloat32;
    size_t count = (size_t)c->count, bytes = count * td_dtype_size(c->dtype);
    switch (c->what) {
    case TD_ALL_REDUCE: return s->nccl.ncclAllReduce(c->out, c->out, count, type, ops[c->reduce], s->handle, s->stream);
    case TD_REDUCE_SCATTER:
        return s->nccl.ncclReduceScatter(c->in, c->out, count, type, ops[c->reduce], s->handle, s->stream);
    case TD_ALL_GATHER: return s->nccl.ncclAllGather(c->in, c->out, bytes, ncclUint8, s->handle, s->stream);
    default: return s->nccl.ncclBroadcast(c->out, c->out, bytes, ncclUint8, c->root, s->handle, s->stream);
    }
}

static td_status start(td_comm *comm, const td_call *call, td_work **out, td_error *err) {
    nccl_state *s = (nccl_state *)comm->state;
    td_work *w = NULL;
    td_status status;
    *out = NULL;
    if ((status = alive(s, err)) || (status = check(comm, call, err))) return status;
    retire(s);
    if ((status = take(s, &w, err))) return status;
    w->call = *call;
    snprintf(w->label, sizeof w->label, "%s", call->label ? call->label : "");
    w->submitted = td_monotonic_seconds();
    w->recorded = s->promised < s->most;
    s->promised += w->recorded;
    if (s->last)
        s->last->next = w;
    else
        s->first = w;
    s->last = w;
    cudaError_t error = cudaEventRecord(w->ready, s->compute);
    if (error == cudaSuccess) error = cudaStreamWaitEvent(s->stream, w->ready, 0);
    if (error == cudaSuccess) error = cudaEventRecord(w->begin, s->stream);
    if (error != cudaSuccess) return td_cuda_status(error, "start of a collective", err);
    if ((status = explain(s, submit(s, call), td_collective_name(call->what), err))) return status;
    *out = w;
    return td_cuda_status(cudaEventRecord(w->end, s->stream), "end of a collective", err);
}

static td_status await(td_comm *comm, td_work *work, td_error *err) {
    nccl_state *s = (nccl_state *)comm->state;
    work->awaited = true;
    td_status status = healthy(s, err);
    return status ? status : td_cuda_status(cudaStreamWaitEvent(s->compute, work->end, 0), "await", err);
}

/* NCCL's kernels end, and what waits for them on the GPU goes on. */
static td_status hang(nccl_state *s, const td_work *w, td_error *err) {
    td_fail(
        &s->dead, TD_WRONG,
        "rank %d of %d waits for %s \"%s\" of %zu bytes: not done %.3g s after it began, so a rank has not come to it",
        s->comm.rank, s->comm.ranks, td_collective_name(w->call.what), w->label, whole_bytes(&s->comm, &w->call),
        s->comm.limit);
    s->nccl.ncclCommAbort(s->handle);
    s->handle = NULL;
    return td_fail(err, TD_WRONG, "%s", s->dead.message);
}

static td_status finish(td_comm *comm, td_error *err) {
    nccl_state *s = (nccl_state *)comm->state;
    td_status status = alive(s, err);
    for (td_work *w = s->first; w && !status; w = w->next) {
        cudaError_t error;
        while ((error = cudaEventQuery(w->end)) == cudaErrorNotReady) {
            /* While the engine's own work before it goes on, nobody hangs. */
            if (!w->begun && cudaEventQuery(w->begin) == cudaSuccess) w->begun = td_monotonic_seconds();
            if (w->begun && !(td_monotonic_seconds() - w->begun <= comm->limit)) return hang(s, w, err);
            if ((status = healthy(s, err))) return status;
            usleep(20);
        }
        status = td_cuda_status(error, "a collective, or work before it", err);
    }
    retire(s);
    return status;
}

static bool meets(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
    return a && b && (uintptr_t)a < (uintptr_t)b + b_bytes && (uintptr_t)b < (uintptr_t)a + a_bytes;
}

static td_status writable(const td_comm *comm, const void *array, size_t bytes, td_error *err) {
    const nccl_state *s = (const nccl_state *)comm->state;
    for (const td_work *w = s->first; w; w = w->next) {
        if (w->awaited) continue;
        size_t whole = whole_bytes(comm, &w->call), part = (size_t)w->call.count * td_dtype_size(w->call.dtype);
        bool scatters = w->call.what == TD_REDUCE_SCATTER, gathers = w->call.what == TD_ALL_GATHER;
        if (meets(w->call.out, scatters ? part : whole, array, bytes) ||
            ((scatters || gathers) && meets(w->call.in, scatters ? whole : part, array, bytes)))
            return td_fail(err, TD_WRONG, "%s \"%s\" is under way and holds these bytes until it is awaited",
                           td_collective_name(w->call.what), w->label);
    }
    return TD_OK;
}

static td_status simulate(td_comm *comm, td_link link, td_error *err) {
    (void)comm;
    if (link.alpha == 0 && link.beta == 0) return TD_OK;
    return td_fail(err, TD_UNSUPPORTED, "alpha, beta: a slower link is simulated for CPU ranks alone");
}

static td_status record(td_comm *comm, int most, td_error *err) {
    nccl_state *s = (nccl_state *)comm->state;
    td_status status = finish(comm, err);
    if (status) return status;
    free(s->event);
    s->event = NULL, s->most = s->promised = s->recorded = 0;
    if (most <= 0) return TD_OK;
    if (!(s->event = (td_comm_event *)calloc((size_t)most, sizeof *s->event)))
        return td_fail(err, TD_NO_MEMORY, "no memory to record %d collectives", most);
    s->most = most;
    return td_cuda_status(td_cuda_clock_set(&s->clock, s->stream), "clock of collectives", err);
}

static int events(td_comm *comm, const td_comm_event **rows) {
    nccl_state *s = (nccl_state *)comm->state;
    finish(comm, NULL); /* after a hang: the rows up to it */
    *rows = s->event;
    return s->recorded;
}

static void release(td_work *w) {
    while (w) {
        td_work *next = w->next;
        cudaEventDestroy(w->ready), cudaEventDestroy(w->begin), cudaEventDestroy(w->end);
        free(w);
        w = next;
    }
}

static void destroy(td_comm *comm) {
    nccl_state *s = (nccl_state *)comm->state;
    if (s->handle) finish(comm, NULL); /* a hang aborts it */
    if (s->handle) s->dead.status ? s->nccl.ncclCommAbort(s->handle) : s->nccl.ncclCommDestroy(s->handle);
    release(s->first), release(s->spare);
    if (s->clock.base) cudaEventDestroy(s->clock.base);
    if (s->stream) cudaStreamDestroy(s->stream);
    free(s->event);
    free(s);
}

/* ---- the beginning ---- */

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
    comm->start = start, comm->await = await, comm->finish = finish, comm->writable = writable;
    comm->simulate = simulate, comm->record = record, comm->events = events, comm->destroy = destroy;
    const td_device *device;
    td_status status = td_take_gpu(host, &device, err);
    if (!status) s->compute = (cudaStream_t)device->stream, status = join(s, host, err);
    if (status) return destroy(comm), status;
    *out = comm;
    return TD_OK;
}
