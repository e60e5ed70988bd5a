/* Several steps of ranks, and of one process on the same batches. */
#include "lesson_6_equal.h"
#include <math.h>
#include <string.h>

td_status td_lesson_6_backward(td_lesson_6_scene *scene, td_ddp *ddp, const td_lesson_6_batch *batch, double *loss,
                               td_error *err) {
    double sums[2];
    int64_t counted;
    td_gpt_zero_gradients(scene->gpt);
    td_status status = td_gpt_forward(scene->gpt, batch->tokens, batch->targets, batch->B, scene->config.T_max,
                                      &sums[0], &counted, err);
    sums[1] = (double)counted;
    if (!status) status = td_comm_agree(scene->world->comm, TD_SUM, sums, 2, "loss and counted tokens", err);
    if (!status) status = td_ddp_begin(ddp, err);
    if (!status) status = td_gpt_backward(scene->gpt, 1 / sums[1], td_ddp_ready, ddp, err);
    if (!status) status = td_ddp_finish(ddp, 1, err);
    *loss = sums[0] / sums[1];
    return status;
}

td_status td_lesson_6_ddp(td_lesson_6_scene *scene, const td_ddp_scheme *scheme, size_t cap, td_ddp **ddp,
                          td_error *err) {
    const td_ddp_config config = {.cap_bytes = cap};
    return td_ddp_new(ddp, scheme, scene->world->comm, &scene->world->engine, td_gpt_parameter(scene->gpt, 0),
                      scene->parameters, &config, err);
}

/* Walks in double: on the global batch, on rank 0's samples alone, and on the global batch with float32's roundings
 * tried (lesson_6_truth.c). */
enum { WHOLE = 0, PART, TRIAL, WALKS = TRIAL + TD_LESSON_6_TRIALS };
typedef struct path_of_one {
    td_lesson_6_batch batch[2];
    double *at[WALKS], *start, *gradient, *jittered;
    double deviation; /* of the loss, the largest that any step so far has shown: rounding does not wear off */
} path_of_one;

static td_status path_new(const td_lesson_6_scene *scene, path_of_one *path, td_error *err) {
    double **room[] = {&path->start, &path->gradient, &path->jittered};
    td_status status = td_lesson_6_arrays(scene, room, 3, scene->count, err);
    for (int w = 0; w < WALKS && !status; w++) {
        double **at[] = {&path->at[w]};
        status = td_lesson_6_arrays(scene, at, 1, scene->count, err);
        if (!status) td_lesson_6_start_values(scene, scene->seed, path->at[w]);
    }
    if (status) return status;
    td_lesson_6_start_values(scene, scene->seed, path->start);
    status = td_lesson_6_batch_new(scene, scene->ranks * scene->B, &path->batch[WHOLE], err);
    return status ? status : td_lesson_6_batch_new(scene, scene->B, &path->batch[PART], err);
}

static void path_free(const td_lesson_6_scene *scene, path_of_one *path) {
    double **room[] = {&path->start, &path->gradient, &path->jittered};
    td_lesson_6_arrays_free(scene, room, 3);
    for (int w = 0; w < WALKS; w++) td_lesson_6_arrays_free(scene, (double **[]){&path->at[w]}, 1);
    td_lesson_6_batch_free(scene, &path->batch[WHOLE]), td_lesson_6_batch_free(scene, &path->batch[PART]);
}

static double distance(const double *a, const double *b, int64_t n) {
    double sum = 0;
    for (int64_t k = 0; k < n; k++) sum += (a[k] - b[k]) * (a[k] - b[k]);
    return sqrt(sum);
}

/* One step of walk w; its loss. */
static td_status walk_step(const td_lesson_6_scene *scene, path_of_one *path, int w, double *loss, td_error *err) {
    const td_lesson_6_batch *batch = &path->batch[w == PART ? PART : WHOLE];
    double *at = path->at[w];
    if (w >= TRIAL) {
        td_lesson_6_jitter(scene, at, w - TRIAL, batch->counted, path->jittered);
        at = path->jittered;
    }
    td_status status = td_lesson_6_evaluate(scene, at, batch, 1 / (double)batch->counted, path->gradient, loss, err);
    return status ? status
                  : td_lesson_6_lead(scene, TD_AFTER_SGD, TD_F64, path->at[w], path->gradient, path->at[w], err);
}

static td_status path_step(const td_lesson_6_scene *scene, path_of_one *path, int64_t step, double ranks_loss,
                           const double *values, td_record *record, td_error *err) {
    double loss[WALKS];
    td_status status = TD_OK;
    for (int b = WHOLE; b <= PART && !status; b++) status = td_lesson_6_draw(scene, step, 0, 0, &path->batch[b], err);
    for (int w = 0; w < WALKS && !status; w++) status = walk_step(scene, path, w, &loss[w], err);
    if (status) return status;
    for (int w = TRIAL; w < WALKS; w++) path->deviation = fmax(path->deviation, fabs(loss[w] - loss[WHOLE]));
    /* and each token's loss is rounded once more where it is stored; their mean takes the root of their number off */
    double stored = td_unit_roundoff(TD_F32) * loss[WHOLE] / sqrt((double)path->batch[WHOLE].counted),
           ratio = fabs(ranks_loss - loss[WHOLE]) / (TD_LESSON_6_LAMBDA * (path->deviation + stored)),
           way = distance(path->at[WHOLE], path->start, scene->count);
    td_record_row(record);
    td_record_text(record, "part", "walk");
    td_record_int(record, "step", step + 1);
    td_record_real(record, "ranks_loss", ranks_loss);
    td_record_real(record, "one_loss", loss[WHOLE]);
    td_record_real(record, "loss_err_over_tol", ratio);
    td_record_real(record, "off_whole", distance(values, path->at[WHOLE], scene->count) / way);
    td_record_real(record, "off_part", distance(values, path->at[PART], scene->count) / way);
    td_record_text(record, "verdict", td_verdict_name(td_lesson_6_verdict(ratio)));
    return TD_OK;
}

/* p ← p − RATE·g, in float32 on a rank. */
static td_status descend(td_lesson_6_scene *scene, double *values, double *gradient, td_error *err) {
    td_lesson_6_get_gradients(scene->gpt, gradient, scene->count);
    td_status status = td_lesson_6_lead(scene, TD_AFTER_SGD, TD_F32, values, gradient, values, err);
    if (!status) td_lesson_6_set_values(scene->gpt, values, scene->count);
    return status;
}

td_status td_lesson_6_walk(td_lesson_6_scene *scene, int64_t steps, size_t cap, td_lesson_6_batch *batch,
                           double *gradient, td_record *record, td_error *err) {
    path_of_one path;
    double *values = NULL, **room[] = {&values};
    td_ddp *ddp = NULL;
    memset(&path, 0, sizeof path);
    td_status status = td_lesson_6_arrays(scene, room, 1, scene->count, err);
    if (!status) status = td_lesson_6_ddp(scene, &td_ddp_bucketed, cap, &ddp, err);
    if (!status && scene->rank == 0) status = path_new(scene, &path, err);
    if (!status) {
        td_lesson_6_start_values(scene, scene->seed, values);
        td_lesson_6_set_values(scene->gpt, values, scene->count);
    }
    for (int64_t step = 0; step < steps && !status; step++) {
        double loss, first = (double)(scene->rank * scene->B);
        status = td_lesson_6_draw(scene, step, (int64_t)first, (int64_t)first, batch, err);
        if (!status) status = td_lesson_6_backward(scene, ddp, batch, &loss, err);
        if (!status) status = descend(scene, values, gradient, err);
        if (!status && scene->rank == 0) status = path_step(scene, &path, step, loss, values, record, err);
    }
    path_free(scene, &path);
    td_ddp_delete(ddp);
    td_lesson_6_arrays_free(scene, room, 1);
    return status;
}
