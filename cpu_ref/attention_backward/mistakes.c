/* Attention backward with one thing wrong at a time, in double: what each mistake does, run for real, and what a wrong
 * answer is held against to name its mistake. One walk serves all, recompute_f64.c is the right one: where a mistake
 * differs, the walk asks which one it is. Like most kernels it believes the O and LSE that it is given. */
#include "../attention_forward/row_f64.h"
#include "attention_backward.h"
#include <math.h>

typedef enum mistake {
    no_D,
    plus_D,
    D_by_keys,
    no_P,
    no_scale,
    dQ_not_scaled,
    scale_twice,
    unscaled_scores,
    mask_ignored,
    mask_of_dK,
    mask_strict,
    mask_one_too_many,
    other_alignment,
    wrong_kv_head,
    last_head,
    not_normalised,
    lse_base_2,
    V_by_columns,
    swapped,
    dV_of_dS,
    queries_dropped,
    keys_dropped,
    dQ_twice,
    dQ_overwritten,
    dK_overwritten
} mistake;

/* One problem, what is wrong with it, and room for D: one number a query, or a key of each query head. */
typedef struct walk {
    const td_attention_problem *a;
    const td_tensor *t;
    mistake kind;
    double *D;
} walk;

static int64_t kv_head(const walk *w, int64_t h) {
    return w->kind == wrong_kv_head ? h % w->a->Hkv : h / (w->a->Hq / w->a->Hkv);
}

/* The pair is computed: read by the mask, and inside the blocks that are. */
static int is_visited(const walk *w, int64_t i, int64_t j) {
    const td_attention_problem *a = w->a;
    int64_t block = td_online_block(a), n = 0;
    td_mask mask = a->mask;
    if (w->kind == queries_dropped && i >= a->Tq / block * block) return 0;
    if (w->kind == keys_dropped && j >= a->Tk / block * block) return 0;
    if (w->kind == mask_ignored) return 1;
    if (w->kind == other_alignment && mask != TD_MASK_NONE)
        mask = mask == TD_MASK_CAUSAL_TOP_LEFT ? TD_MASK_CAUSAL_BOTTOM_RIGHT : TD_MASK_CAUSAL_TOP_LEFT;
    if (mask == TD_MASK_NONE) return 1;
    n = i + 1 + (mask == TD_MASK_CAUSAL_TOP_LEFT ? 0 : a->Tk - a->Tq);
    return j < n + (w->kind == mask_one_too_many) - (w->kind == mask_strict);
}

static double weight(const walk *w, int64_t b, int64_t h, int64_t i, int64_t j) {
    double s = td_dot_f64(&w->t[TD_Q], h, i, &w->t[TD_K], kv_head(w, h), j, b), lse = td_get(&w->t[TD_LSE], b, h, i, 0);
    if (w->kind != unscaled_scores) s *= w->a->scale;
    return w->kind == not_normalised ? exp(s) : w->kind == lse_base_2 ? exp2(s - lse) : exp(s - lse);
}

static double dP(const walk *w, int64_t b, int64_t h, int64_t i, int64_t j) {
    const td_tensor *V = &w->t[TD_V];
    int64_t d = w->a->d, kv = kv_head(w, h);
    double sum = 0;
    if (w->kind != V_by_columns) return td_dot_f64(&w->t[TD_DO], h, i, V, kv, j, b);
    for (int64_t c = 0; c < d; c++) { /* V (Tk,d) taken for (d,Tk) */
        int64_t at = c * w->a->Tk + j;
        sum += td_get(&w->t[TD_DO], b, h, i, c) * td_get(V, b, kv, at / d, at % d);
    }
    return sum;
}

/* dS of a pair, whose P is p. */
static double score_gradient(const walk *w, int64_t b, int64_t h, int64_t i, int64_t j, double p) {
    const td_attention_problem *a = w->a;
    int64_t head = b * a->Hq + h;
    double D = w->D[w->kind == D_by_keys ? head * a->Tk + j : head * a->Tq + i];
    double centred = dP(w, b, h, i, j) - (w->kind == no_D ? 0 : w->kind == plus_D ? -D : D);
    return w->kind == no_P ? centred : p * centred;
}

static void fill_D(const walk *w, int64_t b, int64_t h) {
    const td_attention_problem *a = w->a;
    int64_t head = b * a->Hq + h;
    for (int64_t j = 0; w->kind == D_by_keys && j < a->Tk; j++) {
        double *D = &w->D[head * a->Tk + j];
        *D = 0;
        for (int64_t i = 0; i < a->Tq; i++)
            if (is_visited(w, i, j)) *D += weight(w, b, h, i, j) * dP(w, b, h, i, j);
    }
    for (int64_t i = 0; w->kind != D_by_keys && i < a->Tq; i++)
        w->D[head * a->Tq + i] = td_dot_f64(&w->t[TD_DO], h, i, &w->t[TD_O], h, i, b);
}

/* How often key j's share is in dQ of query i. Blocks of keys come one after the other; one that no query of the block
 * of queries may read is not visited. */
static int times_in_dQ(const walk *w, int64_t i, int64_t j) {
    const td_attention_problem *a = w->a;
    int64_t block = td_online_block(a), end = (i / block + 1) * block;
    int64_t n = td_allowed_keys(a->mask, (end < a->Tq ? end : a->Tq) - 1, a->Tq, a->Tk);
    if (w->kind == dQ_overwritten) return j / block == (n - 1) / block;
    return w->kind == dQ_twice && j < block ? 2 : 1;
}

static void query_row(const walk *w, int64_t b, int64_t h, int64_t i) {
    const td_attention_problem *a = w->a;
    double dq[256] = {0}, scale = w->kind == no_scale || w->kind == dQ_not_scaled ? 1 : a->scale;
    if (w->kind == scale_twice) scale *= scale;
    for (int64_t j = 0; j < a->Tk; j++) {
        if (!is_visited(w, i, j)) continue;
        double dS = times_in_dQ(w, i, j) * score_gradient(w, b, h, i, j, weight(w, b, h, i, j));
        for (int64_t c = 0; c < a->d; c++) dq[c] += dS * td_get(&w->t[TD_K], b, kv_head(w, h), j, c);
    }
    for (int64_t c = 0; c < a->d; c++) td_set(&w->t[TD_DQ], b, h, i, c, scale * dq[c]);
}

static void key_row(const walk *w, int64_t b, int64_t kv, int64_t j) {
    const td_attention_problem *a = w->a;
    int64_t block = td_online_block(a),
            last = w->kind == wrong_kv_head ? a->Hq - a->Hkv + kv : (kv + 1) * (a->Hq / a->Hkv) - 1;
    double dk[256] = {0}, dv[256] = {0}, scale = w->kind == no_scale ? 1 : a->scale;
    if (w->kind == scale_twice) scale *= scale;
    for (int64_t h = 0; h < a->Hq; h++) {
        if (kv_head(w, h) != kv || (w->kind == last_head && h != last)) continue;
        for (int64_t i = 0; i < a->Tq; i++) {
            int visited = is_visited(w, i, j);
            if (!visited && w->kind != mask_of_dK) continue;
            double p = weight(w, b, h, i, j), dS = score_gradient(w, b, h, i, j, p);
            int lost = w->kind == dK_overwritten && (h != last || i / block != (a->Tq - 1) / block);
            for (int64_t c = 0; c < a->d; c++) {
                if (visited) dv[c] += (w->kind == dV_of_dS ? dS : p) * td_get(&w->t[TD_DO], b, h, i, c);
                if (!lost) dk[c] += dS * td_get(&w->t[TD_Q], b, h, i, c);
            }
        }
    }
    for (int64_t c = 0; c < a->d; c++) {
        td_set(&w->t[TD_DK], b, kv, j, c, w->kind == swapped ? dv[c] : scale * dk[c]);
        td_set(&w->t[TD_DV], b, kv, j, c, w->kind == swapped ? scale * dk[c] : dv[c]);
    }
}

static td_status run(const td_problem *problem, const td_tensor *tensors, void *workspace, mistake kind) {
    const td_attention_problem *a = &problem->attention;
    walk w = {a, tensors, kind, workspace};
#pragma omp parallel for collapse(2)
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->Hq; h++) fill_D(&w, b, h);
#pragma omp parallel for collapse(3)
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->Hq; h++)
            for (int64_t i = 0; i < a->Tq; i++) query_row(&w, b, h, i);
#pragma omp parallel for collapse(3)
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t kv = 0; kv < a->Hkv; kv++)
            for (int64_t j = 0; j < a->Tk; j++) key_row(&w, b, kv, j);
    return TD_OK;
}

static size_t workspace_bytes(const td_problem *problem) {
    const td_attention_problem *a = &problem->attention;
    return (size_t)(a->B * a->Hq * (a->Tq > a->Tk ? a->Tq : a->Tk)) * sizeof(double);
}

#define MISTAKE(kind, TEXT)                                                                                            \
    static td_status run_##kind(const td_problem *problem, const td_tensor *tensors, void *workspace, void *stream,    \
                                td_error *err) {                                                                       \
        (void)stream, (void)err;                                                                                       \
        return run(problem, tensors, workspace, kind);                                                                 \
    }                                                                                                                  \
    static const td_variant variant_##kind = {                                                                         \
        .name = "mistake_backward_" #kind,                                                                             \
        .op = TD_OP_ATTENTION_BACKWARD,                                                                                \
        .backend = TD_CPU,                                                                                             \
        .dtype = TD_F64,                                                                                               \
        .rounding = {TD_F64, TD_F64, TD_F64, TD_EXPF_ULP},                                                             \
        .idea = "P and dS recomputed from LSE and D, with one mistake",                                                \
        .limits = "",                                                                                                  \
        .mistake = TEXT,                                                                                               \
        .workspace_tag = TD_MEM_WORKSPACE,                                                                             \
        .workspace_bytes = workspace_bytes,                                                                            \
        .run = run_##kind,                                                                                             \
        .flops = td_attention_backward_flops,                                                                          \
        .bytes = td_attention_backward_bytes,                                                                          \
    }

MISTAKE(no_D, "dS is P times dP: D is not subtracted");
MISTAKE(plus_D, "D is added to dP, not subtracted");
MISTAKE(D_by_keys, "D is a sum over the queries of a key, not over the keys of a query");
MISTAKE(no_P, "dS is dP - D, without the factor P");
MISTAKE(no_scale, "dQ and dK are not scaled");
MISTAKE(dQ_not_scaled, "dQ is not scaled, dK is");
MISTAKE(scale_twice, "dQ and dK are scaled twice");
MISTAKE(unscaled_scores, "P is recomputed from scores that are not scaled");
MISTAKE(mask_ignored, "backward ignores the mask");
MISTAKE(mask_of_dK, "dK ignores the mask, dV and dQ do not");
MISTAKE(mask_strict, "backward's mask is strict: a query does not read its own key");
MISTAKE(mask_one_too_many, "backward's mask lets a query read one key too many");
MISTAKE(other_alignment, "backward's causal mask is aligned to the other corner");
MISTAKE(wrong_kv_head, "query head h belongs to key/value head h mod Hkv, not h / (Hq/Hkv)");
MISTAKE(last_head, "dK and dV are of the last query head of a group, not the sum over the group");
MISTAKE(not_normalised, "P is exp(S), without LSE");
MISTAKE(lse_base_2, "LSE is taken for base 2: P is 2^(S - LSE)");
MISTAKE(V_by_columns, "dP reads V by columns, as if it were transposed");
MISTAKE(swapped, "dK and dV are swapped");
MISTAKE(dV_of_dS, "dV is made of dS, not of P");
MISTAKE(queries_dropped, "queries after the last full block are dropped");
MISTAKE(keys_dropped, "keys after the last full block are dropped");
MISTAKE(dQ_twice, "the first block of keys is added to dQ twice");
MISTAKE(dQ_overwritten, "each block of keys overwrites dQ instead of adding to it");
MISTAKE(dK_overwritten, "each block of queries overwrites dK instead of adding to it");

const td_variant *const td_cpu_backward_mistakes[] = {
    &variant_no_D,
    &variant_plus_D,
    &variant_D_by_keys,
    &variant_no_P,
    &variant_no_scale,
    &variant_dQ_not_scaled,
    &variant_scale_twice,
    &variant_unscaled_scores,
    &variant_mask_ignored,
    &variant_mask_of_dK,
    &variant_mask_strict,
    &variant_mask_one_too_many,
    &variant_other_alignment,
    &variant_wrong_kv_head,
    &variant_last_head,
    &variant_not_normalised,
    &variant_lse_base_2,
    &variant_V_by_columns,
    &variant_swapped,
    &variant_dV_of_dS,
    &variant_queries_dropped,
    &variant_keys_dropped,
    &variant_dQ_twice,
    &variant_dQ_overwritten,
    &variant_dK_overwritten,
    NULL,
};
