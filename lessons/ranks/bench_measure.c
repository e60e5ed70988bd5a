/* The pieces of a step, measured apart, the step itself, and the bound that follows from the pieces. */
#include "../../checks/bench.h"
#include "../../checks/schedule.h"
#include "bench.h"
#include <math.h>
#include <stdlib.h>

enum { WARMUP = 2, REPEATS = 10 };

/* ---- one all-reduce with nothing beside it ---- */

/* On a GPU all are submitted while a step of the model goes on, so that none waits for the host. */
static td_status time_reduce(td_step_bench *b, size_t bytes, double *seconds, td_error *err) {
    td_comm *comm = b->world->comm;
    td_call call = {TD_ALL_REDUCE, TD_F32, TD_SUM, 0, (int64_t)(bytes / sizeof(float)), NULL, b->scratch, "alone"};
    const td_comm_event *event;
    double sample[REPEATS];
    td_status s = comm->record(comm, REPEATS, err);
    if (!s && b->world->engine.backend == TD_CUDA) s = td_step_bench_step(b, NULL, NULL, NULL, NULL, 0, err);
    for (int i = 0; i < REPEATS && !s; i++) s = td_comm_run(comm, &call, err);
    if (s || (s = td_comm_finish(comm, err))) return s;
    int n = comm->events(comm, &event);
    if (n != REPEATS) return td_fail(err, TD_INTERNAL, "%d of %d all-reduces were recorded", n, REPEATS);
    for (int i = 0; i < n; i++) sample[i] = event[i].end - event[i].start;
    td_sort(sample, n);
    *seconds = td_quantile(sample, n, 0.5);
    if ((s = comm->record(comm, 0, err))) return s;
    return td_comm_agree(comm, TD_MAX, seconds, 1, "time of an all-reduce", err);
}

td_status td_step_bench_reduce(td_step_bench *b, size_t bytes, double *seconds, td_error *err) {
    if (b->link.beta > 0) {
        *seconds = td_ring_all_reduce_seconds(b->link, b->world->comm->ranks, (double)bytes);
        return TD_OK;
    }
    for (int i = 0; i < b->sizes; i++)
        if (b->size[i].bytes == bytes) {
            *seconds = b->size[i].seconds;
            return TD_OK;
        }
    td_status s = time_reduce(b, bytes, seconds, err);
    if (!s && b->sizes < TD_BENCH_SIZES) b->size[b->sizes].bytes = bytes, b->size[b->sizes++].seconds = *seconds;
    return s;
}

/* ---- forward and backward alone ---- */

typedef struct alone {
    td_marks *marks;
    int base;
    int *closes; /* of each parameter: the bucket that it completes, or −1 */
    td_error error;
} alone;

static void mark_ready(void *context, int parameter) {
    alone *a = context;
    if (a->closes[parameter] >= 0 && !a->error.status)
        td_marks_set(a->marks, a->base + TD_READY + a->closes[parameter], &a->error);
}

/* A bucket is ready when the last of its parameters is. */
static int *find_closing(const td_step_bench *b, const td_ddp *ddp) {
    int n = b->model.parameters, *closes = malloc((size_t)n * sizeof *closes),
        *place = malloc((size_t)n * sizeof *place);
    for (int i = 0; i < n && closes && place; i++) closes[i] = -1, place[b->order[i]] = i;
    for (int k = 0; k < td_ddp_buckets(ddp) && closes && place; k++) {
        int count;
        size_t bytes;
        const int *parameter = td_ddp_bucket(ddp, k, &count, &bytes);
        int last = parameter[0];
        for (int i = 1; i < count; i++)
            if (place[parameter[i]] > place[last]) last = parameter[i];
        closes[last] = k;
    }
    free(place);
    return closes;
}

/* ---- many steps ---- */

/* A pair of steps: alone, whose marks stand at `base`, and with the reduction, whose stand behind them. In turn, so
 * that whatever else the machine does meets both alike. */
static td_status run_pair(td_step_bench *b, td_ddp *ddp, alone *a, int base, td_error *err) {
    td_status s = td_step_bench_meet(b, err);
    a->base = base;
    if (!s) s = td_step_bench_step(b, NULL, mark_ready, a, a->marks, base, err);
    if (!s && a->error.status) s = td_fail(err, a->error.status, "%s", a->error.message);
    if (!s) s = td_step_bench_meet(b, err);
    return s ? s : td_step_bench_step(b, ddp, td_ddp_ready, ddp, a->marks, base + TD_READY + td_ddp_buckets(ddp), err);
}

/* From a step's start, at mark `start`, to the moment `after` marks later: of each step the slowest rank's; sorted. */
static td_status since_start(td_step_bench *b, const td_marks *marks, int start, int after, double *sample,
                             td_error *err) {
    int stride = marks->n / b->steps;
    for (int i = 0; i < b->steps; i++)
        sample[i] = marks->seconds[i * stride + start + after] - marks->seconds[i * stride + start];
    td_status s = td_comm_agree(b->world->comm, TD_MAX, sample, b->steps, "times of steps", err);
    td_sort(sample, b->steps);
    return s;
}

/* Nothing is reduced before backward's end by schemes that wait for it. */
static int waits_for_backward(const td_ddp_scheme *scheme) {
    return scheme == &td_ddp_naive || scheme == &td_ddp_flat;
}

static td_status find_bound(td_step_bench *b, const td_ddp_scheme *scheme, td_ddp *ddp, const td_marks *marks,
                            double *sample, td_step_measured *out, td_error *err) {
    td_transfer *transfer = calloc((size_t)out->buckets + 1, sizeof *transfer);
    td_status s = transfer ? TD_OK : td_fail(err, TD_NO_MEMORY, "no memory for %d buckets", out->buckets);
    for (int k = 0; k < out->buckets && !s; k++) {
        size_t bytes;
        int count;
        td_ddp_bucket(ddp, k, &count, &bytes);
        out->packed += td_ddp_bucket_packed(ddp, k);
        transfer[k].ready = out->alone;
        if (!waits_for_backward(scheme) && !(s = since_start(b, marks, 0, TD_READY + k, sample, err)))
            transfer[k].ready = td_quantile(sample, b->steps, 0.5);
        if (!s) s = td_step_bench_reduce(b, bytes, &transfer[k].seconds, err);
        out->reduce += transfer[k].seconds;
    }
    if (!s) out->bound = td_schedule(transfer, out->buckets, out->alone), out->tail = out->bound - out->alone;
    free(transfer);
    return s;
}

static td_status summarise(td_step_bench *b, const td_ddp_scheme *scheme, td_ddp *ddp, const td_marks *marks,
                           double *sample, td_step_measured *out, td_error *err) {
    td_status s = since_start(b, marks, 0, TD_BACKWARD_END, sample, err);
    out->alone = td_quantile(sample, b->steps, 0.5);
    if (!s) s = since_start(b, marks, TD_READY + out->buckets, TD_END, sample, err);
    out->step = td_quantile(sample, b->steps, 0.5);
    out->step_q1 = td_quantile(sample, b->steps, 0.25), out->step_q3 = td_quantile(sample, b->steps, 0.75);
    return s ? s : find_bound(b, scheme, ddp, marks, sample, out, err);
}

td_status td_step_bench_measure(td_step_bench *b, const td_ddp_scheme *scheme, td_ddp *ddp, td_step_measured *out,
                                td_error *err) {
    *out = (td_step_measured){.buckets = td_ddp_buckets(ddp)};
    int stride = 2 * TD_READY + out->buckets;
    double *sample = malloc((size_t)b->steps * sizeof *sample);
    td_marks marks = {0, NULL, NULL};
    alone a = {.marks = &marks, .closes = find_closing(b, ddp)};
    td_status s = a.closes && sample ? TD_OK : td_fail(err, TD_NO_MEMORY, "no memory for %d steps", b->steps);
    if (!s) s = td_marks_new(&marks, b->world->engine.backend, b->steps * stride, err);
    /* What a warm-up marks is marked over. */
    for (int i = -WARMUP; i < b->steps && !s; i++) s = run_pair(b, ddp, &a, (i < 0 ? 0 : i) * stride, err);
    if (!s && !(s = td_comm_finish(b->world->comm, err)) && !(s = td_marks_read(&marks, err)))
        s = summarise(b, scheme, ddp, &marks, sample, out, err);
    td_marks_free(&marks);
    free(sample), free(a.closes);
    return s;
}
