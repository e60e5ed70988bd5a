/* P from LSE, beside the P that a dense forward pass had in memory. */
#include "lesson_5.h"
#include "tandem/tandem.h"
#include <math.h>
#include <stdlib.h>

/* How LSE is kept from one pass to the other; `unit`: what it is divided by before backward takes it for natural. */
typedef struct kept {
    const char *name;
    td_dtype dtype;
    double unit;
    int right; /* it must serve */
} kept;

static const kept kinds[] = {{"float32", TD_F32, 1, 1},
                             {"fp16", TD_FP16, 1, 0},
                             {"bf16", TD_BF16, 1, 0},
                             {"float32, in base 2", TD_F32, 0.6931471805599453, 0}};

typedef struct scene {
    td_trial dense;    /* forward, whose workspace holds P */
    td_trial backward; /* in double, from the given LSE */
    double *dQ;        /* from LSE as forward left it */
    double apart, allowed, dQ_error;
} scene;

static double lse_of(const scene *s, const kept *k, int64_t b, int64_t h, int64_t i) {
    double lse = td_get(&s->dense.tensors[TD_LSE], b, h, i, 0);
    return td_round_to(lse / k->unit, k->dtype);
}

/* One pair: P as it stood in memory, P = exp(S − LSE) in float, and by how much they may differ, in u of the type.
 * Scores are sums of d terms, in float on both sides, those in memory rounded to the type; a weight's relative error is
 * its score's absolute one, that of exp (within TD ulp: 2 u), of LSE or of m and the sum of n terms l, and of storing
 * it. */
static void pair(scene *s, const kept *k, int64_t b, int64_t h, int64_t i, int64_t j, double m) {
    const td_attention_problem *a = &s->dense.problem.attention;
    const td_tensor *t = s->dense.tensors;
    td_dtype type = s->dense.variant->dtype;
    td_tensor P = td_contiguous(s->dense.workspace.data, type, a->B, a->Hq, a->Tq, a->Tk);
    float score = 0;
    double size = 0, lse = lse_of(s, k, b, h, i), u = td_unit_roundoff(type), u32 = td_unit_roundoff(TD_F32);
    for (int64_t c = 0; c < a->d; c++) {
        float term = (float)(td_get(&t[TD_Q], b, h, i, c) * td_get(&t[TD_K], b, h / (a->Hq / a->Hkv), j, c));
        score += term, size += fabs(a->scale * term);
    }
    score *= (float)a->scale;
    double p = td_get(&P, b, h, i, j), again = expf(score - (float)lse);
    double relative = u32 * ((double)(2 * a->d + 4) * size + 2 * fabs(score - m) + 2 * fabs(lse) + (double)a->Tk + 12);
    if (type != TD_F32) relative += u * (fabs(score) + fabs(m) + 2);
    double allowed = relative * fmax(p, again) + 2 * td_underflow_unit(type), apart = fabs(p - again);
    if (apart / allowed <= s->apart / s->allowed) return;
    s->apart = apart, s->allowed = allowed;
    if (p > 0) s->apart /= u * p, s->allowed /= u * p;
}

static double largest_score(const scene *s, int64_t b, int64_t h, int64_t i, int64_t n) {
    const td_attention_problem *a = &s->dense.problem.attention;
    const td_tensor *t = s->dense.tensors;
    double m = -INFINITY;
    for (int64_t j = 0; j < n; j++) {
        double score = 0;
        for (int64_t c = 0; c < a->d; c++)
            score += td_get(&t[TD_Q], b, h, i, c) * td_get(&t[TD_K], b, h / (a->Hq / a->Hkv), j, c);
        m = fmax(m, a->scale * score);
    }
    return m;
}

static void weights(scene *s, const kept *k) {
    const td_attention_problem *a = &s->dense.problem.attention;
    s->apart = 0, s->allowed = 1;
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->Hq; h++)
            for (int64_t i = 0; i < a->Tq; i++) {
                int64_t n = td_allowed_keys(a->mask, i, a->Tq, a->Tk);
                double m = largest_score(s, b, h, i, n);
                for (int64_t j = 0; j < n; j++) pair(s, k, b, h, i, j, m);
            }
}

/* Backward in double, from LSE as it was kept: the relative error of dQ that comes of it alone. */
static td_status gradients(scene *s, const kept *k, td_error *err) {
    td_tensor *t = s->backward.tensors;
    const td_attention_problem *a = &s->backward.problem.attention;
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->Hq; h++)
            for (int64_t i = 0; i < a->Tq; i++) td_set(&t[TD_LSE], b, h, i, 0, lse_of(s, k, b, h, i));
    td_trial_seal(&s->backward);
    td_status status = td_trial_run(&s->backward, err);
    double off = 0, size = 0;
    for (int64_t e = 0; e < td_count(&t[TD_DQ]); e++) {
        double x = td_load(&t[TD_DQ], e);
        off += (x - s->dQ[e]) * (x - s->dQ[e]), size += s->dQ[e] * s->dQ[e];
    }
    s->dQ_error = size > 0 ? sqrt(off / size) : 0;
    return status;
}

static td_status rows(td_lesson_5 *lesson, scene *s, td_record *record, td_error *err) {
    td_status status = td_trial_run(&s->dense, err);
    if (!status) status = td_trial_run(&s->backward, err);
    for (int64_t e = 0; e < td_count(&s->backward.tensors[TD_DQ]); e++)
        s->dQ[e] = td_load(&s->backward.tensors[TD_DQ], e);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds && !status; k++) {
        weights(s, &kinds[k]);
        status = gradients(s, &kinds[k], err);
        int within = s->apart <= s->allowed;
        td_record_row(record);
        td_record_text(record, "kept", kinds[k].name);
        td_record_real(record, "apart_u", s->apart);
        td_record_real(record, "allowed_u", s->allowed);
        td_record_real(record, "dQ_rel_l2", s->dQ_error);
        td_record_text(record, "verdict", within ? "PASS" : "FAIL: not P");
        lesson->failed += kinds[k].right && !within;
    }
    return status;
}

static td_status with_trials(td_lesson_5 *lesson, scene *s, td_record *record, td_error *err) {
    td_problem forward = lesson->problem;
    forward.op = TD_OP_ATTENTION_FORWARD;
    td_status status = td_lesson_5_trial(lesson, td_lesson_5_variant(lesson, "", "dense"), &forward, &s->dense, err);
    if (status) return status;
    status = td_lesson_5_trial(lesson, td_variant_find("backward_recompute_f64"), &lesson->problem, &s->backward, err);
    if (!status) {
        s->dQ = malloc((size_t)td_count(&s->backward.tensors[TD_DQ]) * sizeof *s->dQ);
        status = s->dQ ? rows(lesson, s, record, err) : td_fail(err, TD_NO_MEMORY, "no memory for dQ");
        free(s->dQ);
        td_trial_free(&s->backward);
    }
    td_trial_free(&s->dense);
    return status;
}

td_status td_lesson_5_show_recompute(td_lesson_5 *lesson, td_error *err) {
    static const td_heading columns[] = {{"kept", "LSE kept as"},      {"apart_u", "P apart (u)"},
                                         {"allowed_u", "allowed"},     {"verdict", "verdict"},
                                         {"dQ_rel_l2", "error of dQ"}, {NULL, NULL}};
    td_lesson_text(5, "Why LSE is enough");
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    scene s;
    td_status status = with_trials(lesson, &s, record, err);
    if (!status) td_record_print(record, columns, stdout);
    if (!status) td_lesson_text(5, "What LSE must be");
    td_record_delete(record);
    return status;
}
