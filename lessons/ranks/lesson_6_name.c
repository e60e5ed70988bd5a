/* A mistake is named by imitation: one process, in double, computes what each known mistake would give, and the wrong
 * gradient is held against all of them. */
#include "lesson_6_faults.h"
#include <math.h>
#include <string.h>

/* A mistake may end in more than one way: what an early division divides depends on what has left already. */
typedef struct imitation {
    td_lesson_6_fault fault;
    int already_sent;
} imitation;
static const imitation imitations[] = {
    {TD_FAULT_SEEDS, 0},       {TD_FAULT_SAME_DATA, 0},      {TD_FAULT_LOCAL_KEYS, 0},     {TD_FAULT_RANK_MEANS, 0},
    {TD_FAULT_NO_DIVISION, 0}, {TD_FAULT_EARLY_DIVISION, 0}, {TD_FAULT_EARLY_DIVISION, 1}, {TD_FAULT_EARLY_UPDATE, 0},
};

/* What rank r's sum of token gradients is multiplied by in what rank 0 updates from. */
static double share(const td_lesson_6_scene *scene, const imitation *i, int r, double own, double all) {
    double ranks = scene->ranks;
    switch (i->fault) {
    case TD_FAULT_RANK_MEANS: return 1 / (own * ranks);
    case TD_FAULT_NO_DIVISION: return 1 / own;
    case TD_FAULT_EARLY_DIVISION: return r == 0 && !i->already_sent ? 1 / all : ranks / all;
    case TD_FAULT_EARLY_UPDATE: return r == 0 ? 1 / all : 0;
    default: return 1 / all;
    }
}

static td_status imitate(const td_lesson_6_scene *scene, const imitation *i, int64_t step, td_lesson_6_batch *batch,
                         double *values, double *part, double *out, td_error *err) {
    double all = 0;
    td_status status = TD_OK;
    for (int r = 0; r < scene->ranks && !status; r++) {
        status = td_lesson_6_fault_draw(scene, i->fault, r, step, batch, err);
        all += (double)batch->counted;
    }
    for (int64_t k = 0; k < scene->count; k++) out[k] = 0;
    for (int r = 0; r < scene->ranks && !status; r++) {
        td_lesson_6_fault_values(scene, i->fault, r, values);
        status = td_lesson_6_fault_draw(scene, i->fault, r, step, batch, err);
        double w = share(scene, i, r, (double)batch->counted, all);
        if (!status) status = td_lesson_6_evaluate(scene, values, batch, w, part, NULL, err);
        for (int64_t k = 0; k < scene->count && !status; k++) out[k] += part[k];
    }
    return status;
}

static double norm(const double *x, int64_t n) {
    double sum = 0;
    for (int64_t k = 0; k < n; k++) sum += x[k] * x[k];
    return sqrt(sum);
}

/* Rounding acts on terms of the mistake's size, not of the truth's; and what is rounded differently twice. */
static int fits(const td_lesson_6_scene *scene, const td_lesson_6_truth *truth, const double *got,
                const double *wrong) {
    const double *right = truth->want[TD_GRADIENT], *allowed = truth->allowed[TD_GRADIENT];
    double widening = 2 * fmax(1, norm(wrong, scene->count) / norm(right, scene->count));
    return td_lesson_6_compare(scene, got, wrong, allowed, widening).err_over_tol <= 1 &&
           td_lesson_6_compare(scene, right, wrong, allowed, widening).err_over_tol > 1;
}

td_status td_lesson_6_name(const td_lesson_6_scene *scene, int64_t step, const td_lesson_6_truth *truth,
                           const double *gradient, char named[TD_RECORD_TEXT], td_error *err) {
    double *values = NULL, *part = NULL, *wrong = NULL, **room[] = {&values, &part, &wrong};
    td_lesson_6_batch batch = {0};
    named[0] = '\0';
    td_status status = td_lesson_6_arrays(scene, room, 3, scene->count, err);
    if (!status) status = td_lesson_6_batch_new(scene, scene->B, &batch, err);
    for (size_t i = 0; i < sizeof imitations / sizeof *imitations && !status; i++) {
        status = imitate(scene, &imitations[i], step, &batch, values, part, wrong, err);
        const char *name = td_lesson_6_faults[imitations[i].fault].name;
        if (status || !fits(scene, truth, gradient, wrong) || strstr(named, name)) continue;
        size_t used = strlen(named);
        snprintf(named + used, TD_RECORD_TEXT - used, "%s%s", used ? " or " : "", name);
    }
    td_lesson_6_batch_free(scene, &batch);
    td_lesson_6_arrays_free(scene, room, 3);
    return status;
}
