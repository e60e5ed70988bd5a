/* One step as it went: a rank's compute, and its collectives. */
#include "bench.h"
#include <stdlib.h>

typedef struct span {
    double start, end;
} span;

static void add(td_record *lines, int rank, const td_ddp_scheme *scheme, int64_t cap, const char *lane,
                const char *label, span s) {
    td_record_row(lines);
    td_record_int(lines, "rank", rank);
    td_record_text(lines, "scheme", scheme->name);
    td_record_int(lines, "cap_bytes", cap);
    td_record_text(lines, "lane", lane);
    td_record_text(lines, "label", label);
    td_record_real(lines, "start_ms", 1e3 * s.start);
    td_record_real(lines, "end_ms", 1e3 * s.end);
}

/* Spans of this rank, from the start of its step: forward, backward, then its collectives. */
static int collect(const td_marks *marks, const td_comm_event *event, int events, span *out) {
    const double *t = marks->seconds;
    out[0] = (span){0, t[TD_FORWARD_END] - t[TD_START]};
    out[1] = (span){t[TD_FORWARD_END] - t[TD_START], t[TD_BACKWARD_END] - t[TD_START]};
    for (int i = 0; i < events; i++) out[2 + i] = (span){event[i].start - t[TD_START], event[i].end - t[TD_START]};
    return 2 + events;
}

static td_status gather(td_step_bench *b, const td_ddp_scheme *scheme, int64_t cap, const td_marks *marks,
                        const td_comm_event *event, int events, td_record *lines, td_error *err) {
    td_comm *host = b->world->comm->host;
    span *mine = malloc((size_t)(events + 2) * sizeof *mine);
    span *all = malloc((size_t)(events + 2) * sizeof *all * (size_t)host->ranks);
    td_status s = mine && all ? TD_OK : td_fail(err, TD_NO_MEMORY, "no memory for a time line");
    if (!s) {
        int n = collect(marks, event, events, mine);
        td_call call = {TD_ALL_GATHER, TD_F64, TD_SUM, 0, 2 * n, mine, all, "time line"};
        s = td_comm_run(host, &call, err);
        for (int i = 0; i < n * host->ranks && !s && host->rank == 0; i++) {
            int k = i % n - 2;
            add(lines, i / n, scheme, cap, k < 0 ? "compute" : "communication",
                k == -2   ? "forward"
                : k == -1 ? "backward"
                          : event[k].label,
                all[i]);
        }
    }
    free(mine), free(all);
    return s;
}

td_status td_step_bench_timeline(td_step_bench *b, const td_ddp_scheme *scheme, int64_t cap, td_ddp *ddp,
                                 td_record *lines, td_error *err) {
    td_comm *comm = b->world->comm;
    const td_comm_event *event = NULL;
    td_marks marks;
    int most = td_ddp_buckets(ddp), events = 0;
    td_status s = td_marks_new(&marks, b->world->engine.backend, TD_READY, err);
    if (!s && !(s = td_step_bench_meet(b, err)) && !(s = comm->record(comm, most, err)))
        s = td_step_bench_step(b, ddp, td_ddp_ready, ddp, &marks, 0, err);
    if (!s && !(s = td_comm_finish(comm, err)) && !(s = td_marks_read(&marks, err))) {
        events = comm->events(comm, &event);
        s = gather(b, scheme, cap, &marks, event, events, lines, err);
    }
    if (!s) s = comm->record(comm, 0, err);
    td_marks_free(&marks);
    return s;
}
