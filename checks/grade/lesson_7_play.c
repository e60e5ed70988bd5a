/* A lot played: the parent hands out each rank's gradients and takes its values back after some of the steps. */
#include "lesson_7.h"

typedef struct play {
    td_lot_data *data;
    int step[TD_RANKS], snap[TD_RANKS]; /* begun; the snap whose values come now, −1: none */
} play;

static int64_t bytes_of(const td_lot_data *d, int i) {
    return 4 * (int64_t)d->lot->shape[i].count;
}

static td_status step(play *p, td_ranks_world *world, int rank, td_wire_buffer *answer, td_error *err) {
    const td_lot_data *d = p->data;
    int32_t wanted = 0;
    p->snap[rank] = -1;
    for (int k = 0; k < d->snaps; k++)
        if (d->snap[k] == p->step[rank]) p->snap[rank] = k, wanted = 1;
    if (p->step[rank]++ > d->lot->steps) return td_fail(err, TD_WRONG, "there are no more steps");
    td_wire_put(answer, &wanted, sizeof wanted);
    return td_ranks_all_awaited(world, rank, err);
}

static td_status piece(play *p, int rank, uint32_t what, td_wire_reader *question, td_wire_buffer *answer,
                       td_error *err) {
    const td_lot_data *d = p->data;
    const int64_t all = d->first[d->n];
    td_ask_parameter ask;
    if (!td_wire_get(question, &ask, sizeof ask) || ask.parameter < 0 || ask.parameter >= d->n || ask.at < 0 ||
        ask.at % 4 || ask.at > bytes_of(d, ask.parameter) || p->step[rank] < 1)
        return td_fail(err, TD_WRONG, "a question about a parameter that is not there");
    const int64_t left = bytes_of(d, ask.parameter) - ask.at, e = d->first[ask.parameter] + ask.at / 4;
    if (what == TD_ASK_VALUE) {
        const int64_t bytes = question->end - question->at;
        if (p->snap[rank] < 0 || bytes > left) return td_fail(err, TD_WRONG, "values that nobody asked for");
        td_wire_get(question, d->got + ((int64_t)p->snap[rank] * d->lot->ranks + rank) * all + e, (size_t)bytes);
        return TD_OK;
    }
    if (p->step[rank] > d->lot->steps) return td_fail(err, TD_WRONG, "there are no more steps");
    td_wire_put(answer, d->gradient + ((int64_t)(p->step[rank] - 1) * d->lot->ranks + rank) * all + e,
                (size_t)(left < TD_RANKS_PIECE ? left : TD_RANKS_PIECE));
    return TD_OK;
}

static td_status answer(void *context, td_ranks_world *world, int rank, uint32_t what, td_wire_reader *question,
                        td_wire_buffer *reply, td_error *err) {
    if (what == TD_ASK_STEP) return step(context, world, rank, reply, err);
    if (what == TD_ASK_GRADIENT || what == TD_ASK_VALUE) return piece(context, rank, what, question, reply, err);
    return td_fail(err, TD_WRONG, "a question that lesson 7 does not have");
}

static void put_request(td_wire_buffer *request, const td_lot_data *d, int rank) {
    const td_lot *a = d->lot;
    const td_exercise_adam_config *c = &a->config;
    const td_ranks_call call = {
        rank, a->ranks, d->n, a->steps, 0, 0, {c->lr, c->beta1, c->beta2, c->eps, c->weight_decay}};
    td_wire_put(request, &call, sizeof call);
    for (int i = 0; i < d->n; i++) {
        const td_ranks_parameter p = {a->shape[i].count, 0, 1, a->shape[i].decay, 0};
        td_wire_put(request, &p, sizeof p);
    }
    td_wire_put(request, d->value, sizeof(float) * (size_t)d->first[d->n]);
}

td_status td_lot_run(td_lot_data *d, td_crew *crew, td_ranks_world *world, int *answered, td_error *err) {
    td_wire_buffer request[TD_RANKS] = {{NULL, 0, 0, 0}};
    play p = {.data = d};
    td_ranks_open(world, d->lot->ranks, (td_link){0, 0}, answer, &p);
    for (int r = 0; r < d->lot->ranks; r++) put_request(&request[r], d, r);
    td_status status = td_crew_call(crew, world, TD_ADAM_STEPS, request, d->lot->name, answered, err);
    for (int r = 0; r < d->lot->ranks; r++) td_wire_free(&request[r]);
    return status;
}

td_status td_lot_idle(td_lot_data *d, td_grade_run *run, const char *path, size_t *resident, td_error *err) {
    td_wire_buffer request = {NULL, 0, 0, 0};
    play p = {.data = d};
    td_ranks_world world;
    td_child *child;
    td_status status = td_child_start(&child, run->sandbox, &run->limits, path, td_grade_limit(run, 10), err);
    if (status) return status;
    td_ranks_open(&world, 1, (td_link){0, 0}, answer, &p);
    put_request(&request, d, 0);
    status = td_ranks_run(&world, &child, TD_ADAM_IDLE, &request, td_grade_limit(run, 10), err);
    if (!status && (world.fault || world.failed >= 0))
        status = td_fail(err, TD_INTERNAL, "the memory of an idle rank cannot be measured: %.200s", world.said[0].why);
    *resident = td_child_end(child)->resident_bytes;
    td_child_delete(child);
    td_wire_free(&request);
    td_ranks_close(&world);
    return status;
}
