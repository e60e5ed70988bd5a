/* One step on the clock. */
#include "../../checks/bench.h"
#include "lesson_6_time.h"
#include <math.h>
#include <string.h>

typedef struct announcer {
    td_ddp *ddp;
    double start, *ready;
} announcer;

/* The time first: what the announcement starts comes after it. */
static void announce(void *context, int parameter) {
    announcer *a = context;
    a->ready[parameter] = td_now() - a->start;
    td_ddp_ready(a->ddp, parameter);
}

static td_status bucket_times(td_lesson_6_clock *clock, td_ddp *ddp, int overlaps, double start, td_lesson_6_step *step,
                              td_error *err) {
    const td_comm_event *event;
    int n = clock->scene.world->comm->events(clock->scene.world->comm, &event), buckets = td_ddp_buckets(ddp);
    if (n != buckets) return td_fail(err, TD_INTERNAL, "%d collectives recorded, %d buckets", n, buckets);
    for (int k = 0; k < buckets; k++) {
        int members;
        size_t bytes;
        const int *member = td_ddp_bucket(ddp, k, &members, &bytes);
        step->ready[k] = overlaps ? 0 : step->backward;
        for (int m = 0; m < members; m++) step->ready[k] = fmax(step->ready[k], step->parameter_ready[member[m]]);
        step->start[k] = event[k].start - start, step->stop[k] = event[k].end - start;
    }
    return TD_OK;
}

td_status td_lesson_6_timed_step(td_lesson_6_clock *clock, td_ddp *ddp, int overlaps, td_lesson_6_step *step,
                                 td_error *err) {
    td_lesson_6_scene *scene = &clock->scene;
    td_comm *comm = scene->world->comm;
    const td_lesson_6_batch *b = &clock->batch;
    double tokens = (double)b->counted, loss;
    int64_t counted;
    memset(step, 0, sizeof *step);
    td_gpt_zero_gradients(scene->gpt);
    td_status status = comm->record(comm, 0, err);
    if (!status) status = td_comm_agree(comm, TD_SUM, &tokens, 1, "counted tokens", err); /* all start together */
    if (!status) status = comm->record(comm, TD_LESSON_6_BUCKETS, err);
    if (status) return status;
    announcer to = {ddp, td_now(), step->parameter_ready};
    status = td_gpt_forward(scene->gpt, b->tokens, b->targets, b->B, scene->config.T_max, &loss, &counted, err);
    step->forward = td_now() - to.start;
    if (!status) status = td_ddp_begin(ddp, err);
    if (!status) status = td_gpt_backward(scene->gpt, tokens > 0 ? 1 / tokens : 0, announce, &to, err);
    step->backward = td_now() - to.start;
    if (!status) status = td_ddp_finish(ddp, 1, err);
    step->reduced = td_now() - to.start;
    if (!status) status = td_adam_step(clock->adam, err);
    step->end = td_now() - to.start;
    if (!status) status = bucket_times(clock, ddp, overlaps, to.start, step, err);
    if (!status) status = comm->record(comm, 0, err);
    return status ? status
                  : td_comm_agree(comm, TD_MAX, (double *)step, sizeof *step / sizeof(double), "times of a step", err);
}
