/* The exercise of lesson 7: AdamW with divided states. Ranks are children; gradients and collectives are here. */
#include "lesson_7.h"

static void compare(td_grade_result *result, const td_lot_data *d, const td_near *right, int *wrong) {
    const int64_t all = d->first[d->n];
    double *want = malloc((size_t)(all + 1) * sizeof(double)), *tol = malloc((size_t)(all + 1) * sizeof(double));
    for (int s = 0; want && tol && s < d->snaps; s++) {
        for (int64_t e = 0; e < all; e++) want[e] = right[s * all + e].x, tol[e] = right[s * all + e].e;
        for (int r = 0; r < d->lot->ranks; r++)
            for (int i = 0; i < d->n; i++) {
                const int64_t n = d->lot->shape[i].count, at = d->first[i];
                float *got = d->got + ((int64_t)s * d->lot->ranks + r) * all + at;
                const td_tensor g = td_contiguous(got, TD_F32, 1, 1, 1, n);
                const td_tensor w = td_contiguous(want + at, TD_F64, 1, 1, 1, n);
                td_comparison c;
                char name[64];
                td_compare(&g, &w, tol + at, 1, &c);
                snprintf(name, sizeof name, "rank %d, after step %d, value of p%d", r, d->snap[s], i);
                td_grade_compared(result, d->lot->name, name, &c);
                *wrong |= c.verdict == TD_FAIL;
            }
    }
    *wrong |= !want || !tol;
    free(want), free(tol);
}

/* Within the tolerance on all ranks is not enough: from other bits they would drift apart. */
static void compare_bits(td_grade_result *result, const td_lot_data *d, int *wrong) {
    const int64_t all = d->first[d->n];
    for (int s = 0; s < d->snaps && !*wrong; s++)
        for (int r = 1; r < d->lot->ranks && !*wrong; r++) {
            const float *first = d->got + (int64_t)s * d->lot->ranks * all, *other = first + r * all;
            int64_t e = 0;
            while (e < all && !memcmp(&first[e], &other[e], sizeof(float))) e++;
            if (e == all) continue;
            td_grade_wrong(
                result, d->lot->name,
                "after step %d element %lld of all is %.9g on rank 0, but %.9g on rank %d: all ranks must have "
                "the same bits",
                d->snap[s], (long long)e, first[e], other[e], r);
            *wrong = 1;
        }
}

td_status td_lot_case(td_crew *crew, td_lot_data *d, td_ranks_world *world, const td_lot *lot, int *right_everywhere,
                      td_error *err) {
    int answered = 0, wrong = 1;
    *right_everywhere = 0;
    *world = (td_ranks_world){0};
    td_status status = td_lot_open(d, lot, td_grade_seed(crew->run, crew->check, lot->name, lot->secret), err);
    if (status) return status;
    td_near *right = malloc(((size_t)d->first[d->n] * (size_t)d->snaps + 1) * sizeof *right);
    if (!right) return td_fail(err, TD_NO_MEMORY, "no memory for what is right");
    status = td_lot_run(d, crew, world, &answered, err);
    if (!status) td_lot_foretell(d, TD_SLIP_NONE, TD_SUMMED, right);
    if (!status && answered) {
        wrong = 0;
        compare(crew->result, d, right, &wrong);
        compare_bits(crew->result, d, &wrong);
        if (d->first[d->n] == 0) td_grade_right(crew->result, lot->name);
    }
    /* who crashed, or returned an error, has given no answer to explain; a million right ones, after all others, tell
     * nothing new */
    if (!status && (answered || world->failed < 0) && (wrong || !crew->check->after_correct))
        status = td_lot_judge(&crew->run->suspects, d, right, wrong, answered ? NULL : world, err);
    *right_everywhere = !status && !wrong;
    free(right);
    return status;
}

static td_status lots(td_grade_run *run, const td_grade_check *check, td_grade_result *result, const td_lot *list,
                      td_error *err) {
    td_crew crew = {.run = run, .check = check, .result = result, .seconds = 10};
    td_status status = TD_OK;
    for (; !status && list->name; list++) {
        td_lot_data data;
        td_ranks_world world;
        int right;
        if (!td_crew_wants(&crew, list->name, list->secret)) continue;
        status = td_lot_case(&crew, &data, &world, list, &right, err);
        td_ranks_close(&world);
        td_lot_close(&data);
    }
    td_crew_dismiss(&crew);
    return status;
}

static td_status formula(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err) {
    return lots(run, check, result, td_lots_formula, err);
}
static td_status correction(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err) {
    return lots(run, check, result, td_lots_correction, err);
}
static td_status epsilon(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err) {
    return lots(run, check, result, td_lots_epsilon, err);
}
static td_status decay(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err) {
    return lots(run, check, result, td_lots_decay, err);
}
static td_status ranks(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err) {
    return lots(run, check, result, td_lots_ranks, err);
}
static td_status many(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err) {
    return lots(run, check, result, td_lots_many, err);
}

static const td_grade_check checks[] = {{"formula", 0, 0, formula},
                                        {"correction", 0, 0, correction},
                                        {"epsilon", 0, 0, epsilon},
                                        {"decay", 0, 0, decay},
                                        {"ranks", 0, 0, ranks},
                                        {"many", 0, 0, many},
                                        {"memory", 0, TD_CHECK_LAST | TD_CHECK_RATIO, td_lot_memory},
                                        {"traffic", 0, TD_CHECK_LAST | TD_CHECK_RATIO, td_lot_traffic},
                                        {NULL, 0, 0, NULL}};
const td_exercise td_exercise_7 = {7, "07_sharded_adam", {{"sharded_adam.c", "sharded_adam"}}, 1, checks, td_lot_enter};
