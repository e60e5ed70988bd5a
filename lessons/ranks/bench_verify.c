/* What the ranks summed, against the sum of what each had. */
#include "../../checks/reduced.h"
#include "bench.h"
#include <math.h>
#include <stdlib.h>

enum { CHUNK = 1 << 22 }; /* elements compared at a time */

typedef struct keeper {
    td_step_bench *bench;
    td_ddp *ddp;
    td_error error;
} keeper;

static int64_t offset(const td_step_bench *b, int parameter) {
    return (float *)b->model.parameter[parameter].gradient - (float *)b->model.parameter[0].gradient;
}

/* In the engine's order the copy comes before the reduction may touch the gradient. */
static void keep(void *context, int parameter) {
    keeper *k = context;
    const td_parameter *p = &k->bench->model.parameter[parameter];
    if (!k->error.status)
        k->bench->world->engine.copy(k->bench->own + offset(k->bench, parameter), p->gradient,
                                     (size_t)p->count * sizeof(float), &k->error);
    td_ddp_ready(k->ddp, parameter);
}

static td_status compare(td_step_bench *b, double *worst, td_error *err) {
    td_engine *e = &b->world->engine;
    int ranks = b->world->comm->ranks;
    size_t bytes = sizeof(float) * (b->elements < CHUNK ? (size_t)b->elements : CHUNK);
    float *gathered = e->allocator.alloc(e->allocator.context, bytes * (size_t)ranks, TD_MEM_WORKSPACE);
    float *each = malloc(bytes * (size_t)ranks), *sum = malloc(bytes);
    td_status s = gathered && each && sum ? TD_OK : td_fail(err, TD_NO_MEMORY, "no memory to gather gradients");
    double size = 0;
    *worst = 0;
    for (int64_t at = 0; at < b->elements && !s; at += CHUNK) {
        int64_t count = b->elements - at < CHUNK ? b->elements - at : CHUNK;
        td_call call = {TD_ALL_GATHER, TD_F32, TD_SUM, 0, count, b->own + at, gathered, "gradients to compare"};
        if (!(s = td_comm_run(b->world->comm, &call, err)) && !(s = td_comm_finish(b->world->comm, err)) &&
            !(s = e->download(each, gathered, (size_t)(count * ranks) * sizeof(float), err)) &&
            !(s = e->download(sum, b->sum + at, (size_t)count * sizeof(float), err)))
            *worst = fmax(*worst, td_reduced_worst(sum, each, count, ranks, &size));
    }
    if (!(size > 0)) *worst = INFINITY;
    e->allocator.free(e->allocator.context, gathered);
    free(each), free(sum);
    return s ? s : td_comm_agree(b->world->comm, TD_MAX, worst, 1, "worst error", err);
}

td_status td_step_bench_verify(td_step_bench *b, td_ddp *ddp, double *worst, td_error *err) {
    keeper k = {b, ddp, {TD_OK, ""}};
    td_engine *e = &b->world->engine;
    td_status s = td_step_bench_step(b, ddp, keep, &k, NULL, 0, err);
    if (!s && k.error.status) s = td_fail(err, k.error.status, "%s", k.error.message);
    /* Before the host waits for anything: a reduction that the engine does not wait for shows here. */
    if (!s) s = e->copy(b->sum, b->model.parameter[0].gradient, (size_t)b->elements * sizeof(float), err);
    if (!s) s = td_comm_finish(b->world->comm, err);
    return s ? s : compare(b, worst, err);
}
