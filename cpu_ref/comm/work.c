#include "work.h"
#include "../clock.h"
#include <math.h>
#include <stdlib.h>

typedef struct span {
    const char *at;
    size_t bytes;
} span;

static int overlap(span a, span b) {
    return a.bytes && b.bytes && a.at < b.at + b.bytes && b.at < a.at + a.bytes;
}

static size_t part_bytes(const td_call *call) {
    return (size_t)call->count * td_dtype_size(call->dtype);
}

static span written(const td_comm *comm, const td_call *call) {
    size_t parts = call->what == TD_ALL_GATHER ? (size_t)comm->ranks : 1;
    return (span){call->out, parts * part_bytes(call)};
}

static span only_read(const td_comm *comm, const td_call *call) {
    if (call->what == TD_ALL_GATHER) return (span){call->in, part_bytes(call)};
    if (call->what == TD_REDUCE_SCATTER) return (span){call->in, (size_t)comm->ranks * part_bytes(call)};
    return (span){NULL, 0};
}

static size_t whole_bytes(const td_comm *comm, const td_call *call) {
    int divided = call->what == TD_REDUCE_SCATTER || call->what == TD_ALL_GATHER;
    return (divided ? (size_t)comm->ranks : 1) * part_bytes(call);
}

/* in and out apart, or the one this rank's part of the other. */
static int in_place_or_apart(const td_comm *comm, const td_call *call) {
    span in = only_read(comm, call), out = written(comm, call);
    if (!overlap(in, out)) return 1;
    size_t mine = (size_t)comm->rank * part_bytes(call);
    return call->what == TD_ALL_GATHER ? in.at == out.at + mine : out.at == in.at + mine;
}

static td_status check(const td_comm *comm, const td_call *call, td_error *err) {
    const char *name = td_collective_name(call->what);
    if ((unsigned)call->what >= (unsigned)TD_COLLECTIVES)
        return td_fail(err, TD_BAD_PARAM, "collective %d: must be one of td_collective", (int)call->what);
    if ((unsigned)call->dtype >= (unsigned)TD_DTYPES)
        return td_fail(err, TD_BAD_PARAM, "%s: dtype %d: must be one of td_dtype", name, (int)call->dtype);
    if (call->count < 0 || call->count > INT64_MAX / 8 / comm->ranks)
        return td_fail(err, TD_BAD_PARAM, "%s: count = %lld: must be 0 or more, and its bytes fit 64 bits", name,
                       (long long)call->count);
    if (call->what == TD_ALL_REDUCE || call->what == TD_REDUCE_SCATTER) {
        if ((unsigned)call->reduce > (unsigned)TD_MIN)
            return td_fail(err, TD_BAD_PARAM, "%s: reduce %d: must be one of td_reduce", name, (int)call->reduce);
        if (call->dtype != TD_F32 && call->dtype != TD_F64)
            return td_fail(err, TD_UNSUPPORTED, "%s of %s: f32 and f64 can be reduced; widen the array first", name,
                           td_dtype_name(call->dtype));
    }
    if (call->what == TD_BROADCAST && (call->root < 0 || call->root >= comm->ranks))
        return td_fail(err, TD_BAD_PARAM, "%s: root = %d: must be a rank from 0 to %d", name, call->root,
                       comm->ranks - 1);
    if (call->count && (!call->out || (only_read(comm, call).bytes && !call->in)))
        return td_fail(err, TD_BAD_PARAM, "%s: an array is NULL: only count = 0 takes none", name);
    if (!in_place_or_apart(comm, call))
        return td_fail(err, TD_BAD_PARAM,
                       "%s: in and out overlap: they must lie apart, or one be this rank's part of "
                       "the other",
                       name);
    return TD_OK;
}

static td_status held(const td_work *by, td_error *err) {
    return td_fail(err, TD_WRONG, "the array is held by %s %lld '%s': await it first",
                   td_collective_name(by->call.what), (long long)by->number, by->label);
}

td_status td_works_writable(const td_works *works, const td_comm *comm, const void *array, size_t bytes,
                            td_error *err) {
    span asked = {array, bytes};
    for (const td_work *w = works->first; w; w = w->next)
        if (overlap(asked, written(comm, &w->call)) || overlap(asked, only_read(comm, &w->call))) return held(w, err);
    return TD_OK;
}

td_status td_work_add(td_works *works, const td_comm *comm, const td_call *call, td_work **out, td_error *err) {
    td_status status = check(comm, call, err);
    if (status) return status;
    span out_span = written(comm, call), in_span = only_read(comm, call);
    status = td_works_writable(works, comm, out_span.at, out_span.bytes, err);
    if (status) return status;
    for (const td_work *w = works->first; w; w = w->next)
        if (overlap(in_span, written(comm, &w->call))) return held(w, err);

    td_work *work = calloc(1, sizeof *work);
    if (!work) return td_fail(err, TD_NO_MEMORY, "%s: no memory for its handle", td_collective_name(call->what));
    work->call = *call;
    snprintf(work->label, sizeof work->label, "%s", call->label ? call->label : "");
    work->call.label = work->label;
    work->number = ++works->started;
    work->bytes = whole_bytes(comm, call);
    work->trusting = comm->trusting;
    work->submitted = td_now();
    td_work **end = &works->first;
    while (*end) end = &(*end)->next;
    *end = work;
    *out = work;
    return TD_OK;
}

void td_work_remove(td_works *works, td_work *work) {
    td_work **at = &works->first;
    while (*at && *at != work) at = &(*at)->next;
    if (*at) *at = work->next;
    free(work);
}

td_status td_link_check(td_link link, td_error *err) {
    int none = link.alpha == 0 && link.beta == 0;
    int legal = link.alpha >= 0 && link.beta > 0 && isfinite(link.alpha) && isfinite(link.beta);
    if (none || legal) return TD_OK;
    return td_fail(err, TD_BAD_PARAM,
                   "link: alpha = %g s, beta = %g bytes/s: alpha must be 0 or more and beta above 0, "
                   "or both 0",
                   link.alpha, link.beta);
}

td_status td_events_record(td_events *events, int most, td_error *err) {
    if (most < 0) return td_fail(err, TD_BAD_PARAM, "record: most = %d: must be 0 or more", most);
    td_comm_event *row = most ? calloc((size_t)most, sizeof *row) : NULL;
    if (most && !row) return td_fail(err, TD_NO_MEMORY, "record: no memory for %d events", most);
    free(events->row);
    *events = (td_events){row, most, 0};
    return TD_OK;
}

void td_events_add(td_events *events, const td_work *work) {
    if (events->count == events->most) return;
    td_comm_event *row = &events->row[events->count++];
    *row = (td_comm_event){"", work->call.what, work->bytes, work->submitted, work->start, work->end};
    memcpy(row->label, work->label, sizeof row->label);
}
