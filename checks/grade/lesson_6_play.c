/* A drill played: the parent hands out backward's gradients, one by one, and keeps what comes back after each step. */
#include "lesson_6.h"
#include <math.h>

double td_drill_cost(const td_drill_data *d, int i) {
    return 10e-6 + 0.1e-6 * d->drill->shape[i].count;
}

static td_status next_gradient(td_drill_play *p, int rank, td_wire_buffer *answer, td_error *err) {
    const td_drill_data *d = p->data;
    const int step = p->step[rank];
    int use = 0;
    if (step >= d->drill->steps) return td_fail(err, TD_WRONG, "backward has no more steps");
    const int position = p->position[rank]++, i = td_drill_announced(d, step, rank, position, &use);
    if (position == 0) {
        p->first_op[step] = p->world.started[rank];
        p->begin[step] = fmin(p->begin[step], p->world.clock[rank]);
    }
    const td_ddp_next next = {i, 0, d->factor};
    td_wire_put(answer, &next, sizeof next);
    if (i < 0) return TD_OK;
    td_ranks_compute(&p->world, rank, td_drill_cost(d, i));
    td_wire_put(answer, td_drill_part(d, step, rank, use, d->first[i]),
                sizeof(float) * (size_t)d->drill->shape[i].count);
    return TD_OK;
}

static td_status step_done(td_drill_play *p, int rank, td_wire_reader *question, td_error *err) {
    const td_drill_data *d = p->data;
    const int step = p->step[rank]++;
    td_status status = td_ranks_all_awaited(&p->world, rank, err);
    if (status) return status;
    const size_t all = (size_t)d->first[d->n];
    if (step >= d->drill->steps || (size_t)(question->end - question->at) != all * sizeof(float))
        return td_fail(err, TD_WRONG, "a step's results are not as many as its gradients");
    td_wire_get(question, d->got + ((size_t)step * (size_t)d->drill->ranks + (size_t)rank) * all, all * sizeof(float));
    p->position[rank] = 0;
    p->end_op[step] = p->world.started[rank];
    p->end[step] = fmax(p->end[step], p->world.clock[rank]);
    return TD_OK;
}

static td_status answer(void *context, td_ranks_world *world, int rank, uint32_t what, td_wire_reader *question,
                        td_wire_buffer *reply, td_error *err) {
    (void)world;
    if (what == TD_ASK_NEXT) return next_gradient(context, rank, reply, err);
    if (what == TD_ASK_STEP_DONE) return step_done(context, rank, question, err);
    return td_fail(err, TD_WRONG, "a question that lesson 6 does not have");
}

static void put_request(td_wire_buffer *request, const td_drill_data *d, int rank) {
    const td_drill *a = d->drill;
    const td_ranks_call call = {rank, a->ranks, d->n, a->steps, a->cap, 0, {0}};
    td_wire_put(request, &call, sizeof call);
    for (int i = 0; i < d->n; i++) {
        const td_drill_shape *s = &a->shape[i];
        const td_ranks_parameter p = {s->count, s->frozen, s->tied ? 2 : 1, 0, 0};
        td_wire_put(request, &p, sizeof p);
    }
    td_wire_put(request, d->stands + rank * d->first[d->n], sizeof(float) * (size_t)d->first[d->n]);
}

td_status td_drill_run(td_drill_play *p, td_crew *crew, td_drill_data *d, td_link link, int *answered, td_error *err) {
    td_wire_buffer request[TD_RANKS] = {{NULL, 0, 0, 0}};
    *p = (td_drill_play){.data = d};
    for (int s = 0; s < TD_DRILL_STEPS; s++) p->begin[s] = INFINITY;
    td_ranks_open(&p->world, d->drill->ranks, link, answer, p);
    for (int r = 0; r < d->drill->ranks; r++) put_request(&request[r], d, r);
    td_status status = td_crew_call(crew, &p->world, TD_DDP_STEPS, request, d->drill->name, answered, err);
    for (int r = 0; r < d->drill->ranks; r++) td_wire_free(&request[r]);
    return status;
}
