/* The gradients against finite differences of forward, which know none of backward's formulas. */
#include "lesson_5.h"
#include "tandem/tandem.h"
#include <math.h>
#include <stdlib.h>

typedef struct scene {
    const td_attention_problem *a;
    td_trial right, wrong; /* wrong: D left out */
    td_tensor O;           /* room for forward's answer */
} scene;

static double largest(const td_tensor *t) {
    double most = 0;
    for (int64_t e = 0; e < td_count(t); e++) most = fmax(most, fabs(td_load(t, e)));
    return most;
}

static double sum_of_sizes(const td_tensor *t) {
    double sum = 0;
    for (int64_t e = 0; e < td_count(t); e++) sum += fabs(td_load(t, e));
    return sum;
}

/* The largest Σ_c |scale·q·k| of all pairs. */
static double largest_score(const td_attention_problem *a, const td_tensor *t) {
    double most = 0;
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->Hq; h++)
            for (int64_t i = 0; i < a->Tq; i++)
                for (int64_t j = 0; j < a->Tk; j++) {
                    double size = 0;
                    for (int64_t c = 0; c < a->d; c++)
                        size += fabs(td_get(&t[TD_Q], b, h, i, c) * td_get(&t[TD_K], b, h / (a->Hq / a->Hkv), j, c));
                    most = fmax(most, fabs(a->scale) * size);
                }
    return most;
}

/* What a central difference of step h may be off by, for an element of input n, when the loss is Σ dO ∘ O:
 *   h²/6·|loss'''|: in one row, the third derivative of Σ p_j w_j, w_j = dO·V_j, as scores move with slopes up to s',
 *     is a joint cumulant of w, s', s', s', at most 4·2W·(2 s')³ with |w| ≤ W. One row for an element of Q, all that
 *     share the key for one of K; none for V, in which the loss is linear;
 *   r/h: O is off by ((2d + 6)·S + 2n + 6)·u of max|V|, S the largest Σ|scale·q·k|, and the loss sums N terms. */
static double allowed(const td_attention_problem *a, const td_tensor *t, int n, double score, double h) {
    double k = largest(&t[TD_K]), q = largest(&t[TD_Q]), v = largest(&t[TD_V]),
           W = (double)a->d * largest(&t[TD_DO]) * v;
    double slope = n == TD_Q ? fabs(a->scale) * k : n == TD_K ? fabs(a->scale) * q : 0;
    double rows = n == TD_K ? (double)(a->Hq / a->Hkv * a->Tq) : 1, N = sqrt((double)td_count(&t[TD_DO]));
    double r = sum_of_sizes(&t[TD_DO]) * v * ((double)(2 * a->d + 6) * score + (double)(2 * a->Tk + 6) + 4 * N);
    return h * h / 6 * rows * 64 * W * pow(slope, 3) + r * td_unit_roundoff(TD_F64) / h;
}

static td_status loss(const scene *s, double *out, td_error *err) {
    const td_tensor *t = s->right.tensors;
    td_status status = td_attention_forward("dense_f64", s->a, &t[TD_Q], &t[TD_K], &t[TD_V], &s->O, NULL, NULL, err);
    *out = 0;
    for (int64_t e = 0; e < td_count(&s->O); e++) *out += td_load(&t[TD_DO], e) * td_load(&s->O, e);
    return status;
}

/* Element (0, 0, i, c) of input n, moved both ways. */
static td_status row(td_lesson_5 *lesson, scene *s, int n, int64_t i, int64_t c, double score, td_record *record,
                     td_error *err) {
    static const char *const names[] = {"dQ", "dK", "dV"};
    const double h = 0x1p-14;
    td_tensor *input = &s->right.tensors[n];
    double at = td_get(input, 0, 0, i, c), above, below;
    char name[48];
    td_set(input, 0, 0, i, c, at + h);
    td_status status = loss(s, &above, err);
    td_set(input, 0, 0, i, c, at - h);
    if (!status) status = loss(s, &below, err);
    td_set(input, 0, 0, i, c, at);
    if (status) return status;
    double difference = (above - below) / (2 * h), formula = td_get(&s->right.tensors[TD_DQ + n], 0, 0, i, c),
           wrong = td_get(&s->wrong.tensors[TD_DQ + n], 0, 0, i, c), tol = allowed(s->a, s->right.tensors, n, score, h);
    int equal = fabs(formula - difference) <= tol;
    snprintf(name, sizeof name, "%s(0,0,%lld,%lld)", names[n], (long long)i, (long long)c);
    td_record_row(record);
    td_record_text(record, "element", name);
    td_record_real(record, "formula", formula);
    td_record_real(record, "difference_quotient", difference);
    td_record_real(record, "off", fabs(formula - difference));
    td_record_real(record, "allowed", tol);
    td_record_text(record, "verdict", equal ? "equal" : "FAIL");
    td_record_real(record, "without_D_off", fabs(wrong - difference));
    td_record_text(record, "without_D", fabs(wrong - difference) <= tol ? "equal" : "FAIL");
    lesson->failed += !equal;
    return TD_OK;
}

static td_status rows(td_lesson_5 *lesson, scene *s, td_record *record, td_error *err) {
    const td_attention_problem *a = s->a;
    double score = largest_score(a, s->right.tensors);
    td_status status = td_trial_run(&s->right, err);
    if (!status) status = td_trial_run(&s->wrong, err);
    for (int n = TD_Q; n <= TD_V && !status; n++)
        for (int k = 1; k <= 2 && !status; k++) {
            int64_t T = n == TD_Q ? a->Tq : a->Tk;
            status = row(lesson, s, n, (T - 1) * k / 2, (a->d - 1) * (k - 1), score, record, err);
        }
    return status;
}

static td_status with_trials(td_lesson_5 *lesson, scene *s, td_record *record, td_error *err) {
    td_status status =
        td_lesson_5_trial(lesson, td_variant_find("backward_recompute_f64"), &lesson->problem, &s->right, err);
    if (status) return status;
    status = td_lesson_5_trial(lesson, td_variant_find("mistake_backward_no_D"), &lesson->problem, &s->wrong, err);
    if (!status) {
        status = rows(lesson, s, record, err);
        td_trial_free(&s->wrong);
    }
    td_trial_free(&s->right);
    return status;
}

td_status td_lesson_5_show_differences(td_lesson_5 *lesson, td_error *err) {
    static const td_heading columns[] = {{"element", "element"},
                                         {"formula", "formula"},
                                         {"difference_quotient", "difference"},
                                         {"off", "apart"},
                                         {"allowed", "allowed"},
                                         {"verdict", "verdict"},
                                         {"without_D", "without D"},
                                         {NULL, NULL}};
    const td_attention_problem *a = &lesson->problem.attention;
    td_lesson_text(5, "A judge that knows no formula");
    double *room = malloc((size_t)(a->B * a->Hq * a->Tq * a->d) * sizeof *room);
    td_record *record = td_record_new();
    scene s = {.a = a, .O = td_contiguous(room, TD_F64, a->B, a->Hq, a->Tq, a->d)};
    td_status status =
        room && record ? with_trials(lesson, &s, record, err) : td_fail(err, TD_NO_MEMORY, "no memory for the table");
    if (!status) td_record_print(record, columns, stdout);
    if (record) td_record_delete(record);
    free(room);
    return status;
}
