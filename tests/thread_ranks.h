/* Ranks as threads of one process, for tests that need no mpirun: a td_comm each, over shared memory.
 *
 * A collective is carried out when it is awaited, together with those started before it; until then what it will
 * overwrite of another rank's data is NaN, so that whoever reads it too early shows. Reductions add in the order of
 * ranks. A rank that does not come within `limit` seconds is a hang: TD_WRONG on those that wait. */
#ifndef TANDEM_TESTS_THREAD_RANKS_H
#define TANDEM_TESTS_THREAD_RANKS_H

#include "tandem/comm.h"
#include "tandem/tensor.h"
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREAD_RANKS = 16, THREAD_WORKS = 1024 };

typedef td_status (*thread_rank_main)(void *context, td_comm *comm, td_error *err);

typedef struct thread_world {
    int ranks, waiting, broken;
    int64_t round; /* of the barrier */
    pthread_mutex_t lock;
    pthread_cond_t all_here;
    const td_call *call[THREAD_RANKS]; /* what each rank carries out now */
} thread_world;

struct td_work {
    td_call call;
    char label[48]; /* a copy: who started it may be gone when another rank names it */
    int done, awaited;
};

typedef struct thread_rank {
    td_comm comm;
    thread_world *world;
    td_work work[THREAD_WORKS]; /* a ring: this many under way at most */
    int64_t started, done;
    thread_rank_main run;
    void *context;
    td_status status;
    td_error err;
} thread_rank;

static inline td_status thread_barrier(thread_rank *r, const char *label, td_error *err) {
    thread_world *w = r->world;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)r->comm.limit;
    pthread_mutex_lock(&w->lock);
    int64_t round = w->round;
    if (!w->broken && ++w->waiting == w->ranks) {
        w->waiting = 0, w->round++;
        pthread_cond_broadcast(&w->all_here);
    }
    for (int turn = 0; turn < 100 && round == w->round && !w->broken; turn++) { /* cheaper than sleeping at once */
        pthread_mutex_unlock(&w->lock);
        sched_yield();
        pthread_mutex_lock(&w->lock);
    }
    while (round == w->round && !w->broken)
        if (pthread_cond_timedwait(&w->all_here, &w->lock, &until)) w->broken = 1;
    int broken = w->broken;
    if (broken) pthread_cond_broadcast(&w->all_here);
    pthread_mutex_unlock(&w->lock);
    return broken ? td_fail(err, TD_WRONG, "rank %d waits for %s: not all ranks came", r->comm.rank, label) : TD_OK;
}

static inline size_t thread_bytes(const td_comm *comm, const td_call *c) {
    int64_t times = c->what == TD_ALL_GATHER ? comm->ranks : 1;
    return (size_t)(c->count * times) * td_dtype_size(c->dtype);
}

static inline double thread_reduced(const thread_world *w, const td_call *c, int64_t element) {
    double result = 0;
    for (int q = 0; q < w->ranks; q++) {
        const void *from = c->what == TD_ALL_REDUCE ? w->call[q]->out : w->call[q]->in;
        td_tensor t = td_contiguous((void *)from, c->dtype, 1, 1, 1, element + 1);
        double x = td_load(&t, element);
        if (q == 0 || (c->reduce == TD_MIN && x < result) || (c->reduce == TD_MAX && x > result))
            result = x;
        else if (c->reduce == TD_SUM)
            result = td_round_to(result + x, c->dtype);
    }
    return result;
}

/* What this rank will have in `out`, into `result`, while every rank's arrays stand still. */
static inline void thread_compute(const thread_rank *r, const td_call *c, void *result) {
    const thread_world *w = r->world;
    size_t part = (size_t)c->count * td_dtype_size(c->dtype);
    td_tensor t = td_contiguous(result, c->dtype, 1, 1, 1, c->count);
    if (c->what == TD_BROADCAST && part) memcpy(result, w->call[c->root]->out, part);
    for (int q = 0; c->what == TD_ALL_GATHER && part && q < w->ranks; q++)
        memcpy((char *)result + (size_t)q * part, w->call[q]->in, part);
    for (int64_t i = 0; (c->what == TD_ALL_REDUCE || c->what == TD_REDUCE_SCATTER) && i < c->count; i++)
        td_store(&t, i, thread_reduced(w, c, c->what == TD_ALL_REDUCE ? i : r->comm.rank * c->count + i));
}

static inline td_status thread_carry_out(thread_rank *r, const td_call *c, td_error *err) {
    thread_world *w = r->world;
    w->call[r->comm.rank] = c;
    td_status status = thread_barrier(r, c->label, err);
    for (int q = 0; !status && q < w->ranks; q++) {
        const td_call *o = w->call[q];
        if (o->what != c->what || o->dtype != c->dtype || o->count != c->count || o->root != c->root)
            status = td_fail(err, TD_WRONG, "rank %d is at %s of %s, rank %d at %s of %s", r->comm.rank,
                             td_collective_name(c->what), c->label, q, td_collective_name(o->what), o->label);
    }
    void *result = malloc(thread_bytes(&r->comm, c) + 1);
    if (!status) thread_compute(r, c, result);
    td_status together = thread_barrier(r, c->label, err);
    if (!status && !together && c->count > 0) memcpy(c->out, result, thread_bytes(&r->comm, c));
    free(result); /* each writes its own arrays only: the others read them after the next collective's first barrier */
    return status ? status : together;
}

static inline td_status thread_start(td_comm *comm, const td_call *call, td_work **work, td_error *err) {
    thread_rank *r = comm->state;
    td_work *w = &r->work[r->started % THREAD_WORKS];
    *work = NULL;
    if (r->started >= THREAD_WORKS && !w->awaited)
        return td_fail(err, TD_UNSUPPORTED, "%s: %d collectives are under way", call->label, THREAD_WORKS);
    *w = (td_work){.call = *call};
    snprintf(w->label, sizeof w->label, "%s", call->label);
    w->call.label = w->label;
    r->started++;
    size_t part = (size_t)call->count * td_dtype_size(call->dtype);
    for (int q = 0; call->what == TD_ALL_GATHER && q < comm->ranks; q++)
        if (q != comm->rank) memset((char *)call->out + (size_t)q * part, 0xff, part);
    if (call->what == TD_BROADCAST && comm->rank != call->root) memset(call->out, 0xff, part);
    *work = w;
    return TD_OK;
}

static inline td_status thread_await(td_comm *comm, td_work *work, td_error *err) {
    thread_rank *r = comm->state;
    td_status status = TD_OK;
    while (!work->done && !status) {
        td_work *next = &r->work[r->done++ % THREAD_WORKS];
        status = thread_carry_out(r, &next->call, err);
        next->done = 1;
    }
    work->awaited = 1;
    return status;
}

static inline td_status thread_writable(const td_comm *comm, const void *array, size_t bytes, td_error *err) {
    const thread_rank *r = comm->state;
    for (int64_t k = r->started > THREAD_WORKS ? r->started - THREAD_WORKS : 0; k < r->started; k++) {
        const td_work *w = &r->work[k % THREAD_WORKS];
        size_t in = w->call.in ? thread_bytes(comm, &w->call) : 0, out = thread_bytes(comm, &w->call);
        if (w->call.what == TD_REDUCE_SCATTER) in *= (size_t)comm->ranks;
        if (w->call.what == TD_ALL_GATHER) in /= (size_t)comm->ranks;
        const char *a = array, *i = w->call.in, *o = w->call.out;
        if (!w->awaited && ((a < o + out && o < a + bytes) || (in && a < i + in && i < a + bytes)))
            return td_fail(err, TD_WRONG, "%s of %s is under way", td_collective_name(w->call.what), w->call.label);
    }
    return TD_OK;
}

static inline td_status thread_simulate(td_comm *comm, td_link link, td_error *err) {
    (void)comm;
    return link.alpha == 0 && link.beta == 0 ? TD_OK : td_fail(err, TD_UNSUPPORTED, "threads simulate no link");
}

static inline td_status thread_record(td_comm *comm, int most, td_error *err) {
    (void)comm;
    return most == 0 ? TD_OK : td_fail(err, TD_UNSUPPORTED, "threads record no events");
}

static inline int thread_events(td_comm *comm, const td_comm_event **events) {
    (void)comm;
    *events = NULL;
    return 0;
}

static inline void thread_destroy(td_comm *comm) {
    (void)comm; /* thread_ranks does it */
}

static inline void *thread_begin(void *data) {
    thread_rank *r = data;
    r->status = r->run(r->context, &r->comm, &r->err);
    return NULL;
}

/* Runs `run` on every one of `ranks` ranks (1 … THREAD_RANKS), all with the same context. The first rank's failure, in
 * the order of ranks, with its message; `each` may be NULL, or has every rank's status. Criterion's assertions belong
 * to the test's own thread: `run` returns what it found. */
static inline td_status thread_ranks(int ranks, thread_rank_main run, void *context, td_status *each, td_error *err) {
    thread_world world = {.ranks = ranks};
    pthread_mutex_init(&world.lock, NULL);
    pthread_cond_init(&world.all_here, NULL);
    thread_rank *all = calloc((size_t)ranks, sizeof *all);
    pthread_t thread[THREAD_RANKS];
    td_status status = TD_OK;
    for (int k = 0; k < ranks; k++) {
        all[k].world = &world, all[k].run = run, all[k].context = context;
        all[k].comm = (td_comm){.rank = k,
                                .ranks = ranks,
                                .backend = TD_CPU,
                                .name = "threads",
                                .host = &all[k].comm,
                                .limit = 10,
                                .state = &all[k],
                                .start = thread_start,
                                .await = thread_await,
                                .writable = thread_writable,
                                .simulate = thread_simulate,
                                .record = thread_record,
                                .events = thread_events,
                                .destroy = thread_destroy};
        pthread_create(&thread[k], NULL, thread_begin, &all[k]);
    }
    for (int k = 0; k < ranks; k++) {
        pthread_join(thread[k], NULL);
        if (each) each[k] = all[k].status;
        if (!status && all[k].status) {
            status = all[k].status;
            if (err) *err = all[k].err;
        }
    }
    free(all);
    pthread_mutex_destroy(&world.lock), pthread_cond_destroy(&world.all_here);
    return status;
}

#endif
