/* The same training in one process: the whole global batch at once, full Adam, in double. And what rounding in float32
 * may do to its losses.
 *
 * checks/gpt_bound.h derives what rounding costs one pass through a model: as much as values changed by s·z each,
 * relatively, z of variance 1, s = √(n/6)·u, n the longest sum. So what float32 costs a training can be tried in
 * double: in every step forward and backward see each value changed so, anew, while the update goes to the value
 * itself. The worst of TRIALS such runs up to a step is one deviation there, LAMBDA of them the tolerance: training
 * magnifies a difference, so it grows with the steps. */
#include "../../checks/corpus.h"
#include "../../checks/file.h"
#include "../../checks/memory.h"
#include "lesson_7.h"
#include "tandem/philox.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRIALS = 4, LAMBDA = 4 };

typedef struct scene {
    const td_lesson_7 *lesson;
    td_allocator plain;
    td_corpus corpus;
    int32_t *tokens, *targets;
    td_model model;
    td_adam *adam;
    double *kept; /* the values while forward and backward see others */
} scene;

static void close(scene *s) {
    td_adam_delete(s->adam);
    if (s->model.destroy) s->model.destroy(s->model.self);
    s->adam = NULL, s->model.destroy = NULL;
}

static td_status open(scene *s, td_error *err) {
    td_engine engine = td_cpu_engine(&s->plain);
    td_status status =
        td_cpu_model(&s->model, &s->lesson->config, TD_F64, s->lesson->B, s->lesson->seed, &s->plain, err);
    return status ? status
                  : td_adam_new(&s->adam, TD_ADAM_FULL, s->model.parameter, s->model.parameters, TD_F64,
                                &s->lesson->adam, NULL, &engine, err);
}

static void jitter(scene *s, int64_t step, uint64_t trial) {
    double n = fmax(4 * (double)s->lesson->config.C, (double)(s->lesson->B * s->lesson->config.T_max));
    double size = sqrt(fmax(n, (double)s->lesson->config.vocab) / 6) * td_unit_roundoff(TD_F32);
    double *values = s->model.parameter[0].value;
    td_philox4 bits = {{0}};
    for (int64_t k = 0; k < s->lesson->P; k++) { /* z = ±1, by a bit each */
        if (k % 128 == 0) bits = td_philox(s->lesson->seed + trial, (uint64_t)step, (uint64_t)k);
        values[k] *= bits.x[k % 128 / 32] >> k % 32 & 1 ? 1 + size : 1 - size;
    }
}

/* One step; trial 0 sees the values as they are. */
static td_status step(scene *s, int64_t number, uint64_t trial, double *loss, td_error *err) {
    const td_lesson_7 *lesson = s->lesson;
    int64_t T = lesson->config.T_max, counted;
    size_t bytes = (size_t)lesson->P * sizeof(double);
    td_model *m = &s->model;
    td_status status = td_corpus_batch(&s->corpus, lesson->seed, number, 0, lesson->B, T, s->tokens, s->targets, err);
    memcpy(s->kept, m->parameter[0].value, bytes);
    if (trial) jitter(s, number, trial);
    if (!status) status = m->forward(m->self, s->tokens, s->targets, lesson->B, T, &counted, err);
    if (!status) status = m->loss(m->self, loss, err);
    if (!status) status = m->zero_gradients(m->self, err);
    if (!status) status = m->backward(m->self, 1 / (double)counted, NULL, NULL, err);
    *loss /= (double)counted;
    memcpy(m->parameter[0].value, s->kept, bytes);
    return status ? status : td_adam_step(s->adam, err);
}

static td_status train(scene *s, uint64_t trial, double *losses, td_error *err) {
    td_status status = open(s, err);
    for (int64_t number = 0; number < s->lesson->steps && !status; number++)
        status = step(s, number, trial, &losses[number], err);
    close(s);
    return status;
}

static td_status all_runs(td_lesson_7 *lesson, scene *s, double *tried, td_error *err) {
    td_status status = train(s, 0, lesson->loss, err);
    for (uint64_t trial = 1; trial <= TRIALS && !status; trial++) {
        status = train(s, trial, tried, err);
        double worst = 0;
        for (int64_t k = 0; k < lesson->steps && !status; k++) {
            worst = fmax(worst, LAMBDA * fabs(tried[k] - lesson->loss[k]));
            lesson->spread[k] = fmax(lesson->spread[k], worst);
        }
    }
    /* and a token's loss is a difference of two numbers: three roundings in float32, of about its own size */
    for (int64_t k = 0; k < lesson->steps; k++) lesson->spread[k] += 3 * td_unit_roundoff(TD_F32) * lesson->loss[k];
    return status;
}

td_status td_lesson_7_reference(td_lesson_7 *lesson, td_error *err) {
    scene s = {.lesson = lesson, .plain = td_plain_allocator()};
    char path[PATH_MAX];
    size_t steps = (size_t)lesson->steps, tokens = (size_t)(lesson->B * lesson->config.T_max);
    double *tried = calloc(steps, sizeof *tried);
    lesson->loss = calloc(steps, sizeof *lesson->loss);
    lesson->spread = calloc(steps, sizeof *lesson->spread);
    s.kept = malloc((size_t)lesson->P * sizeof *s.kept);
    s.tokens = malloc(tokens * sizeof *s.tokens), s.targets = malloc(tokens * sizeof *s.targets);
    td_status status = TD_OK;
    if (!tried || !lesson->loss || !lesson->spread || !s.kept || !s.tokens || !s.targets)
        status = td_fail(err, TD_NO_MEMORY, "no memory for the reference");
    if (!status) status = td_resource_find("lessons/data/constitution.txt", path, sizeof path, err);
    if (!status) status = td_corpus_load(&s.corpus, path, &s.plain, err);
    if (!status) status = all_runs(lesson, &s, tried, err);
    if (s.corpus.bytes) td_corpus_free(&s.corpus, &s.plain);
    free(tried), free(s.kept), free(s.tokens), free(s.targets);
    return status;
}
