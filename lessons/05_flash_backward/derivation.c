/* The formulas of backward, each held against another way to the same numbers, in double on the run's own tensors. */
#include "lesson_5.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KEYS = 128, MOST_D = 256 };

/* One identity, and the element where its two sides are furthest apart for what rounding allows. */
typedef struct identity {
    const char *name, *one_way, *other_way;
    int wrong; /* on purpose: its two sides must differ */
    double one, other, allowed, ratio;
} identity;

enum { WEIGHTS, SUM_OF_P, D_BOTH, JACOBIAN, SUM_OF_DS, SUM_WITHOUT_D, QUERIES, KEYS, VALUES, IDENTITIES };

typedef struct scene {
    const td_attention_problem *a;
    const td_tensor *t; /* right gradients among them */
    double relative;    /* what rounding may do to a sum, for each unit of its terms' sizes */
    identity seen[IDENTITIES];
} scene;

/* One head's sums over queries, and the sizes of their terms. */
typedef struct key_sums {
    double dK[MOST_KEYS * MOST_D], dV[MOST_KEYS * MOST_D], dK_size[MOST_KEYS * MOST_D], dV_size[MOST_KEYS * MOST_D];
} key_sums;

static void see(identity *seen, double one, double other, double allowed) {
    double ratio = one == other ? 0 : fabs(one - other) / allowed;
    if (seen->allowed > 0 && (ratio <= seen->ratio || isnan(seen->ratio))) return;
    seen->one = one, seen->other = other, seen->allowed = allowed, seen->ratio = ratio;
}

/* Σ x·y over the d elements of two rows, and Σ |x·y|. */
static double dot(const td_tensor *x, int64_t hx, int64_t i, const td_tensor *y, int64_t hy, int64_t j, int64_t b,
                  double *size) {
    double sum = 0;
    *size = 0;
    for (int64_t c = 0; c < x->size[3]; c++) {
        double term = td_get(x, b, hx, i, c) * td_get(y, b, hy, j, c);
        sum += term, *size += fabs(term);
    }
    return sum;
}

/* A query's row: P twice, D twice, dS twice, and what it adds to dQ, dK and dV. */
static void query(scene *s, int64_t b, int64_t h, int64_t i, key_sums *keys) {
    const td_attention_problem *a = s->a;
    const td_tensor *t = s->t;
    int64_t kv = h / (a->Hq / a->Hkv), n = td_allowed_keys(a->mask, i, a->Tq, a->Tk);
    double S[MOST_KEYS], p[MOST_KEYS], dP[MOST_KEYS], dP_size[MOST_KEYS], dS[MOST_KEYS];
    double lse = td_get(&t[TD_LSE], b, h, i, 0), m = -INFINITY, l = 0, size, D_size = 0, D_of_P = 0, sum_P = 0;
    if (n == 0) return;
    for (int64_t j = 0; j < n; j++) {
        S[j] = a->scale * dot(&t[TD_Q], h, i, &t[TD_K], kv, j, b, &size);
        m = fmax(m, S[j]);
    }
    for (int64_t j = 0; j < n; j++) l += exp(S[j] - m);
    double D = dot(&t[TD_DO], h, i, &t[TD_O], h, i, b, &size);
    for (int64_t j = 0; j < n; j++) {
        p[j] = exp(S[j] - lse);
        dP[j] = dot(&t[TD_DO], h, i, &t[TD_V], kv, j, b, &dP_size[j]);
        sum_P += p[j], D_of_P += p[j] * dP[j], D_size += p[j] * dP_size[j];
        see(&s->seen[WEIGHTS], exp(S[j] - m) / l, p[j], s->relative * p[j]);
    }
    see(&s->seen[SUM_OF_P], sum_P, 1, s->relative);
    see(&s->seen[D_BOTH], D_of_P, D, s->relative * D_size);
    double sum = 0, sum_size = 0;
    for (int64_t j = 0; j < n; j++) {
        double by_jacobian = 0;
        for (int64_t k = 0; k < n; k++) by_jacobian += (k == j ? p[j] - p[j] * p[k] : -p[j] * p[k]) * dP[k];
        dS[j] = p[j] * (dP[j] - D);
        double dS_size = p[j] * (dP_size[j] + D_size);
        see(&s->seen[JACOBIAN], by_jacobian, dS[j], s->relative * dS_size);
        sum += dS[j], sum_size += dS_size;
    }
    see(&s->seen[SUM_OF_DS], sum, 0, s->relative * sum_size);
    see(&s->seen[SUM_WITHOUT_D], D_of_P, 0, s->relative * D_size);
    for (int64_t c = 0; c < a->d; c++) {
        double dQ = 0, dQ_size = 0, q = td_get(&t[TD_Q], b, h, i, c), dO = td_get(&t[TD_DO], b, h, i, c);
        for (int64_t j = 0; j < n; j++) {
            double k = td_get(&t[TD_K], b, kv, j, c), dS_size = p[j] * (dP_size[j] + D_size);
            dQ += a->scale * dS[j] * k, dQ_size += fabs(a->scale * k) * dS_size;
            keys->dK[j * a->d + c] += a->scale * dS[j] * q, keys->dK_size[j * a->d + c] += fabs(a->scale * q) * dS_size;
            keys->dV[j * a->d + c] += p[j] * dO, keys->dV_size[j * a->d + c] += p[j] * fabs(dO);
        }
        see(&s->seen[QUERIES], dQ, td_get(&t[TD_DQ], b, h, i, c), s->relative * dQ_size);
    }
}

/* Every query head that reads this key/value head, then its keys. */
static void keys_of(scene *s, int64_t b, int64_t kv, key_sums *keys) {
    const td_attention_problem *a = s->a;
    int64_t group = a->Hq / a->Hkv;
    memset(keys, 0, sizeof *keys);
    for (int64_t h = kv * group; h < (kv + 1) * group; h++)
        for (int64_t i = 0; i < a->Tq; i++) query(s, b, h, i, keys);
    for (int64_t j = 0; j < a->Tk; j++)
        for (int64_t c = 0; c < a->d; c++) {
            int64_t at = j * a->d + c;
            see(&s->seen[KEYS], keys->dK[at], td_get(&s->t[TD_DK], b, kv, j, c), s->relative * keys->dK_size[at]);
            see(&s->seen[VALUES], keys->dV[at], td_get(&s->t[TD_DV], b, kv, j, c), s->relative * keys->dV_size[at]);
        }
}

/* A weight's relative error is that of its score, a sum of d terms of size at most `largest` in all, and LSE's, a sum
 * of n; sums of n weighed terms add n more, sums of d terms d. Both sides have all of it: hence twice. */
static double relative_error(const td_attention_problem *a, const td_tensor *t) {
    double q = 0, k = 0;
    for (int64_t e = 0; e < td_count(&t[TD_Q]); e++) q = fmax(q, fabs(td_load(&t[TD_Q], e)));
    for (int64_t e = 0; e < td_count(&t[TD_K]); e++) k = fmax(k, fabs(td_load(&t[TD_K], e)));
    double d = (double)a->d, n = (double)(a->Tk + a->Tq * (a->Hq / a->Hkv)), largest = fabs(a->scale) * d * q * k;
    return 2 * ((d + 6) * largest + 2 * n + 2 * d + 8) * td_unit_roundoff(TD_F64);
}

static void rows(td_lesson_5 *lesson, const scene *s, td_record *record) {
    for (int k = 0; k < IDENTITIES; k++) {
        const identity *seen = &s->seen[k];
        int equal = seen->ratio <= 1;
        td_record_row(record);
        td_record_text(record, "what", seen->name);
        td_record_text(record, "one_way", seen->one_way);
        td_record_text(record, "other_way", seen->other_way);
        td_record_real(record, "one", seen->one);
        td_record_real(record, "other", seen->other);
        td_record_real(record, "difference", fabs(seen->one - seen->other));
        td_record_real(record, "allowed", seen->allowed);
        td_record_text(record, "verdict", equal ? "equal" : "FAIL");
        lesson->failed += equal == seen->wrong;
    }
}

static td_status walk(td_lesson_5 *lesson, const td_trial *trial, td_record *record, td_error *err) {
    const td_attention_problem *a = &trial->problem.attention;
    scene s = {a,
               trial->tensors,
               relative_error(a, trial->tensors),
               {{.name = "P", .one_way = "softmax(S)", .other_way = "exp(S - LSE)"},
                {.name = "row of P", .one_way = "its sum", .other_way = "1"},
                {.name = "D", .one_way = "rowsum(P * dP)", .other_way = "rowsum(dO * O)"},
                {.name = "dS", .one_way = "(diag P - P P^T) dP", .other_way = "P * (dP - D)"},
                {.name = "row of dS", .one_way = "its sum", .other_way = "0"},
                {.name = "without D", .one_way = "its sum", .other_way = "0", .wrong = 1},
                {.name = "dQ", .one_way = "scale dS K", .other_way = "recomputed"},
                {.name = "dK", .one_way = "scale dS^T Q", .other_way = "recomputed"},
                {.name = "dV", .one_way = "P^T dO", .other_way = "recomputed"}}};
    key_sums *keys = malloc(sizeof *keys);
    if (!keys) return td_fail(err, TD_NO_MEMORY, "no memory for the sums of a head");
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t kv = 0; kv < a->Hkv; kv++) keys_of(&s, b, kv, keys);
    free(keys);
    rows(lesson, &s, record);
    return TD_OK;
}

td_status td_lesson_5_show_derivation(td_lesson_5 *lesson, td_error *err) {
    static const td_heading ways[] = {{"what", ""},
                                      {"one_way", "one way"},
                                      {"other_way", "another way"},
                                      {"difference", "difference"},
                                      {"allowed", "allowed"},
                                      {"verdict", "verdict"},
                                      {NULL, NULL}};
    const td_variant *variant = td_variant_find("backward_recompute_f64");
    td_lesson_text(5, "Why");
    td_lesson_text(5, "The chain rule through a softmax");
    td_trial trial;
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_status status = td_lesson_5_trial(lesson, variant, &lesson->problem, &trial, err);
    if (!status) {
        status = td_trial_run(&trial, err);
        if (!status) status = walk(lesson, &trial, record, err);
        td_trial_free(&trial);
    }
    if (!status) td_record_print(record, ways, stdout);
    if (!status) td_lesson_text(5, "What the two ways say");
    td_record_delete(record);
    return status;
}
