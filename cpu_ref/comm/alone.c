/* A world of one rank: every collective is done when it is started. It holds its arrays until awaited all the same, so
 * that what would be a fault among several ranks is one here. */
#include "../clock.h"
#include "work.h"
#include <stdlib.h>

typedef struct alone {
    td_works works;
    td_events events;
} alone;

static td_status start(td_comm *comm, const td_call *call, td_work **work, td_error *err) {
    alone *a = comm->state;
    td_status status = td_work_add(&a->works, comm, call, work, err);
    if (status) return status;
    td_work *w = *work;
    w->start = td_now();
    int divided = call->what == TD_ALL_GATHER || call->what == TD_REDUCE_SCATTER;
    if (divided && call->in != call->out && w->bytes) {
        if (comm->backend != TD_CPU) {
            td_work_remove(&a->works, w);
            return td_fail(err, TD_UNSUPPORTED, "%s by one rank: in and out differ, and there is no link to copy over",
                           td_collective_name(call->what));
        }
        memcpy(call->out, call->in, w->bytes);
    }
    w->end = td_now();
    td_events_add(&a->events, w);
    return TD_OK;
}

static td_status await(td_comm *comm, td_work *work, td_error *err) {
    (void)err;
    td_work_remove(&((alone *)comm->state)->works, work);
    return TD_OK;
}

static td_status writable(const td_comm *comm, const void *array, size_t bytes, td_error *err) {
    return td_works_writable(&((const alone *)comm->state)->works, comm, array, bytes, err);
}

/* With one rank no message is sent, and link.h gives 0 seconds. */
static td_status simulate(td_comm *comm, td_link link, td_error *err) {
    (void)comm;
    return td_link_check(link, err);
}

static td_status record(td_comm *comm, int most, td_error *err) {
    return td_events_record(&((alone *)comm->state)->events, most, err);
}

static int events(td_comm *comm, const td_comm_event **rows) {
    const alone *a = comm->state;
    *rows = a->events.row;
    return a->events.count;
}

static void destroy(td_comm *comm) {
    alone *a = comm->state;
    while (a->works.first) td_work_remove(&a->works, a->works.first);
    free(a->events.row);
    if (comm->host != comm) comm->host->destroy(comm->host); /* of its own making */
    free(a);
    free(comm);
}

td_status td_comm_alone(td_comm **out, td_backend backend, td_error *err) {
    if (backend != TD_CPU && backend != TD_CUDA)
        return td_fail(err, TD_BAD_PARAM, "backend %d: must say where arrays live, TD_CPU or TD_CUDA", (int)backend);
    td_comm *comm = calloc(1, sizeof *comm), *host = NULL;
    alone *state = calloc(1, sizeof *state);
    td_status status = comm && state ? TD_OK : td_fail(err, TD_NO_MEMORY, "one rank: no memory for its handle");
    if (status == TD_OK && backend == TD_CUDA) status = td_comm_alone(&host, TD_CPU, err);
    if (status) {
        free(comm);
        free(state);
        return status;
    }
    *comm = (td_comm){.rank = 0,
                      .ranks = 1,
                      .backend = backend,
                      .name = "one rank",
                      .host = host ? host : comm,
                      .limit = 10,
                      .state = state,
                      .start = start,
                      .await = await,
                      .writable = writable,
                      .simulate = simulate,
                      .record = record,
                      .events = events,
                      .destroy = destroy};
    *out = comm;
    return TD_OK;
}
