/* A step of data parallelism with one fault in it, and what ranks can tell of it. */
#include "lesson_6_faults.h"
#include "../../cpu_ref/ddp/mistakes.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LATE_MS = 150 };

const td_lesson_6_fault_name td_lesson_6_faults[TD_FAULTS] = {
    {"nothing", "none", NULL},
    {"other seeds", "each rank starts from a seed of its own", NULL},
    {"same samples", "all ranks draw the samples of rank 0", NULL},
    {"local keys", "dropout keyed by the place in the rank, not by the sample", NULL},
    {"mean of means", "the mean of the means of ranks with different token counts", "mean of rank means"},
    {"no division", "rank means summed, never divided by the number of ranks", "no division"},
    {"early division", "one rank divides before the wait", NULL},
    {"early update", "ranks update before the wait", "update before the wait"},
};

void td_lesson_6_fault_values(const td_lesson_6_scene *scene, td_lesson_6_fault fault, int rank, double *values) {
    td_lesson_6_start_values(scene, scene->seed + (uint64_t)(fault == TD_FAULT_SEEDS ? rank : 0), values);
}

td_status td_lesson_6_fault_draw(const td_lesson_6_scene *scene, td_lesson_6_fault fault, int rank, int64_t step,
                                 td_lesson_6_batch *batch, td_error *err) {
    int64_t first = fault == TD_FAULT_SAME_DATA ? 0 : rank * scene->B;
    return td_lesson_6_draw(scene, step, first, fault == TD_FAULT_LOCAL_KEYS ? 0 : first, batch, err);
}

/* A fault of the reduction is one of the ways in cpu_ref/ddp/mistakes.c; the others reduce rightly. */
static td_ddp_way way_of(td_lesson_6_fault fault) {
    const char *name = td_lesson_6_faults[fault].way;
    for (const td_ddp_way *const *w = td_ddp_mistakes; name && *w; w++)
        if (!strcmp((*w)->name, name)) return **w;
    return td_ddp_right_way(&td_ddp_bucketed);
}

static void pause_ms(long ms) {
    struct timespec t = {0, ms * 1000000};
    nanosleep(&t, NULL);
}

static td_status reduce(td_lesson_6_scene *scene, const td_ddp_way *way, double scale, double *gradient,
                        td_error *err) {
    td_ddp *ddp;
    td_status status = td_ddp_new(&ddp, way->scheme, scene->world->comm, &scene->world->engine,
                                  td_gpt_parameter(scene->gpt, 0), scene->parameters, NULL, err);
    if (status) return status;
    if (scene->rank > 0 && way->mistake) pause_ms(LATE_MS); /* rank 0 is ahead of the others */
    status = td_ddp_begin(ddp, err);
    if (!status) status = td_gpt_backward(scene->gpt, scale, td_ddp_ready, ddp, err);
    if (!status) status = td_ddp_finish(ddp, way->factor(scene->ranks), err);
    td_ddp_delete(ddp);
    if (!status) td_lesson_6_get_gradients(scene->gpt, gradient, scene->count);
    return status;
}

static void divide(td_lesson_6_scene *scene, float *g) {
    for (int64_t k = 0; k < scene->count; k++) g[k] /= (float)scene->ranks;
}

/* Averaging: a rank's share is made `ranks` times too large, to be divided after the sum, as many libraries do it. Rank
 * 0, ahead of the others, divides what it has just handed over. */
static td_status divide_early(td_lesson_6_scene *scene, double scale, double *gradient, td_lesson_6_evidence *evidence,
                              td_error *err) {
    td_comm *comm = scene->world->comm;
    float *g = td_gpt_parameter(scene->gpt, 0)->gradient;
    td_call call = {TD_ALL_REDUCE, TD_F32, TD_SUM, 0, scene->count, NULL, g, "gradients"};
    td_work *work;
    td_error refused = {TD_OK, ""};
    td_status status = td_gpt_backward(scene->gpt, scale, NULL, NULL, err);
    if (scene->rank > 0) pause_ms(LATE_MS);
    if (!status) status = comm->start(comm, &call, &work, err);
    if (status) return status;
    if (scene->rank == 0) {
        pause_ms(LATE_MS / 4);
        comm->writable(comm, g, (size_t)scene->count * sizeof *g, &refused);
        divide(scene, g);
    }
    if ((status = comm->await(comm, work, err))) return status;
    if (scene->rank > 0) divide(scene, g);
    td_lesson_6_get_gradients(scene->gpt, gradient, scene->count);
    snprintf(evidence->refused, sizeof evidence->refused, "%s", refused.message);
    return TD_OK;
}

static double sample_checksum(const td_lesson_6_scene *scene, const td_lesson_6_batch *batch, int64_t b) {
    size_t bytes = (size_t)scene->config.T_max * sizeof(int32_t);
    const int32_t *tokens = batch->tokens + b * scene->config.T_max,
                  *targets = batch->targets + b * scene->config.T_max;
    return td_lesson_6_checksum(tokens, bytes) + 3 * td_lesson_6_checksum(targets, bytes);
}

enum { VALUES, WEIGHT, UPDATE, FACTS }; /* what a rank tells of itself, then a checksum for each sample */

static void judge(const td_lesson_6_scene *scene, const td_lesson_6_batch *global, const double *facts,
                  td_lesson_6_evidence *e) {
    int64_t n = FACTS + scene->B;
    const double *last = facts + (scene->ranks - 1) * n;
    e->starts_equal = e->samples_right = e->samples_own = e->gradients_equal = 0;
    e->weight_low = INFINITY, e->weight_high = 0;
    for (int r = 0; r < scene->ranks; r++) {
        const double *f = facts + r * n;
        e->starts_equal += f[VALUES] == facts[VALUES];
        e->gradients_equal += f[UPDATE] == last[UPDATE];
        e->weight_low = fmin(e->weight_low, f[WEIGHT]), e->weight_high = fmax(e->weight_high, f[WEIGHT]);
        for (int64_t b = 0; b < scene->B; b++) {
            int seen = 0;
            for (int64_t before = 0; before < r * scene->B + b && !seen; before++)
                seen = facts[before / scene->B * n + FACTS + before % scene->B] == f[FACTS + b];
            e->samples_own += !seen;
            e->samples_right += f[FACTS + b] == sample_checksum(scene, global, r * scene->B + b);
        }
    }
    e->weight_want = 1 / (double)global->counted;
}

const char *td_lesson_6_first(const td_lesson_6_scene *scene, const td_lesson_6_evidence *e) {
    const double near = 8 * 0x1p-53; /* a weight is a quotient of a few roundings */
    if (e->starts_equal < scene->ranks || e->samples_right < scene->ranks * scene->B) return "data";
    if (!(e->weight_low >= e->weight_want * (1 - near) && e->weight_high <= e->weight_want * (1 + near)))
        return "normalisation";
    return e->gradients_equal < scene->ranks ? "synchronisation" : "nothing";
}

static td_status gather_evidence(td_lesson_6_scene *scene, const td_lesson_6_batch *global, const double *own,
                                 td_lesson_6_evidence *evidence, td_error *err) {
    int64_t n = FACTS + scene->B;
    double *all = malloc((size_t)(n * scene->ranks) * sizeof *all);
    if (!all) return td_fail(err, TD_NO_MEMORY, "no memory for what ranks tell");
    td_status status = td_lesson_6_gather(scene, own, n, all, err);
    if (!status && global) judge(scene, global, all, evidence);
    free(all);
    return status;
}

td_status td_lesson_6_faulty_step(td_lesson_6_scene *scene, td_lesson_6_fault fault, int64_t step,
                                  const td_lesson_6_batch *global, double *gradient, td_lesson_6_evidence *evidence,
                                  td_error *err) {
    td_lesson_6_batch batch;
    double own[FACTS + 64], *values = gradient, all, loss; /* `gradient` holds the values at first */
    int64_t counted;
    td_ddp_way way = way_of(fault);
    memset(evidence, 0, sizeof *evidence);
    td_status status = td_lesson_6_batch_new(scene, scene->B, &batch, err);
    if (!status) status = td_lesson_6_fault_draw(scene, fault, scene->rank, step, &batch, err);
    if (!status) {
        td_lesson_6_fault_values(scene, fault, scene->rank, values);
        td_lesson_6_set_values(scene->gpt, values, scene->count);
        own[VALUES] = td_lesson_6_checksum(values, (size_t)scene->count * sizeof *values);
        for (int64_t b = 0; b < scene->B; b++) own[FACTS + b] = sample_checksum(scene, &batch, b);
        td_gpt_zero_gradients(scene->gpt);
        status =
            td_gpt_forward(scene->gpt, batch.tokens, batch.targets, batch.B, scene->config.T_max, &loss, &counted, err);
    }
    all = (double)batch.counted;
    if (!status) status = td_comm_agree(scene->world->comm, TD_SUM, &all, 1, "counted tokens", err);
    if (!status) {
        double ranks = scene->ranks, scale = way.scale((double)batch.counted, all);
        own[WEIGHT] = scale * way.factor(scene->ranks);
        status = fault == TD_FAULT_EARLY_DIVISION ? divide_early(scene, ranks * scale, gradient, evidence, err)
                                                  : reduce(scene, &way, scale, gradient, err);
    }
    if (!status) {
        own[UPDATE] = td_lesson_6_checksum(gradient, (size_t)scene->count * sizeof *gradient);
        status = gather_evidence(scene, global, own, evidence, err);
    }
    td_lesson_6_batch_free(scene, &batch);
    return status;
}
