/* A stopwatch on every operation of a step, and the step again with each part left out. */
#include "parts.h"
#include "../../checks/progress.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDS = 15 };

/* Seconds of one step by part and pass. */
typedef struct stopwatch {
    const td_parts *parts;
    double started, seconds[TD_PARTS][2];
} stopwatch;

typedef struct measurement {
    td_lesson_1 *lesson;
    td_parts *parts;
    int rounds;
    double *whole, *without; /* rounds; and count × rounds, part after part */
    stopwatch *watch;        /* rounds: one for each whole step */
} measurement;

static void trace(void *context, const char *kind, int backward, int phase) {
    stopwatch *w = context;
    double now = td_now();
    for (int i = 0; phase && i < w->parts->count; i++)
        if (!strcmp(w->parts->part[i].name, kind)) w->seconds[i][backward] += now - w->started;
    w->started = now;
}

/* What happens outside the model's own operations, under the same stopwatch. */
static td_status outside(stopwatch *w, td_lesson_1 *lesson, const char *part, const td_part *left_out, td_error *err) {
    td_status status = TD_OK;
    if (left_out && !strcmp(part, left_out->name)) return TD_OK;
    trace(w, part, 1, 0);
    if (!strcmp(part, "Adam"))
        status = td_adam_step(lesson->adam, err);
    else
        td_gpt_zero_gradients(lesson->gpt);
    trace(w, part, 1, 1);
    return status;
}

/* One full step without the part `left_out` (NULL = whole). */
static td_status step(td_lesson_1 *lesson, stopwatch *w, const td_part *left_out, double *seconds, td_error *err) {
    td_status status = td_lesson_1_draw(lesson, lesson->tokens, lesson->targets, err);
    if (status) return status;
    int skip = left_out && left_out->operation;
    if (skip && (status = td_gpt_skip(lesson->gpt, left_out->name, 1, err))) return status;
    td_gpt_set_trace(lesson->gpt, trace, w);
    double start = td_now();
    status = td_lesson_1_forward(lesson, err);
    if (!status) status = outside(w, lesson, "zero gradients", left_out, err);
    if (!status) status = td_lesson_1_backward(lesson, err);
    if (!status) status = outside(w, lesson, "Adam", left_out, err);
    *seconds = td_now() - start;
    td_gpt_set_trace(lesson->gpt, NULL, NULL);
    if (skip) td_gpt_skip(lesson->gpt, left_out->name, 0, NULL);
    return status;
}

static td_status run_rounds(measurement *m, td_error *err) {
    td_parts *parts = m->parts;
    td_status status = TD_OK;
    td_progress progress;
    td_progress_start(&progress, "parts left out in turn", (long)m->rounds * (1 + parts->count));
    for (int r = 0; !status && r < m->rounds; r++) {
        m->watch[r] = (stopwatch){.parts = parts};
        status = step(m->lesson, &m->watch[r], NULL, &m->whole[r], err);
        td_progress_step(&progress, 1);
        for (int i = 0; !status && i < parts->count; i++) {
            stopwatch unused = {.parts = parts};
            status = step(m->lesson, &unused, &parts->part[i], &m->without[i * m->rounds + r], err);
            td_progress_step(&progress, 1);
        }
    }
    td_progress_end(&progress);
    return status;
}

/* Shares from the quieter half of the whole steps: an interruption would be charged to the part that it hit. */
static void find_shares(measurement *m) {
    td_parts *parts = m->parts;
    double total = 0, traced = 0, *sorted = m->without; /* whole is still needed in order */
    memcpy(sorted, m->whole, (size_t)m->rounds * sizeof *sorted);
    td_sort(sorted, m->rounds);
    double limit = sorted[(m->rounds - 1) / 2];
    for (int r = 0; r < m->rounds; r++) {
        if (!(m->whole[r] <= limit)) continue;
        total += m->whole[r];
        for (int i = 0; i < parts->count; i++) {
            parts->part[i].forward += m->watch[r].seconds[i][0];
            parts->part[i].backward += m->watch[r].seconds[i][1];
        }
    }
    for (int i = 0; i < parts->count; i++) {
        parts->part[i].forward /= total, parts->part[i].backward /= total;
        traced += parts->part[i].forward + parts->part[i].backward;
    }
    parts->between = 1 - traced;
}

static void name_parts(td_parts *parts) {
    memset(parts, 0, sizeof *parts);
    const char *kind;
    for (int i = 0; i < TD_PARTS - 2 && (kind = td_gpt_kind_name(i)); i++)
        parts->part[parts->count++] = (td_part){.name = kind, .operation = 1};
    parts->part[parts->count++].name = "zero gradients";
    parts->part[parts->count++].name = "Adam";
}

td_status td_parts_measure(td_lesson_1 *lesson, td_parts *parts, td_error *err) {
    name_parts(parts);
    measurement m = {.lesson = lesson, .parts = parts};
    m.rounds = lesson->steps < MOST_ROUNDS ? (int)lesson->steps : MOST_ROUNDS;
    size_t n = (size_t)m.rounds;
    m.whole = malloc(n * sizeof *m.whole);
    m.without = malloc(n * (size_t)parts->count * sizeof *m.without);
    m.watch = malloc(n * sizeof *m.watch);
    td_status status =
        m.whole && m.without && m.watch ? run_rounds(&m, err) : td_fail(err, TD_NO_MEMORY, "no memory for the samples");
    if (!status) {
        for (int i = 0; i < parts->count * m.rounds; i++) m.without[i] /= m.whole[i % m.rounds];
        for (int i = 0; i < parts->count; i++)
            td_timing_from(m.without + i * m.rounds, m.rounds, &parts->part[i].without);
        find_shares(&m);
        td_timing_from(m.whole, m.rounds, &parts->step);
    }
    free(m.whole);
    free(m.without);
    free(m.watch);
    return status;
}
