/* One walk serves all deliberate mistakes of backward, recompute_f64.c is the right one: where a mistake differs, the
 * walk asks which one it is. Like most kernels it believes the O and LSE that it is given. */
#include "../attention_forward/row_f64.h"
#include "mistakes.h"
#include <math.h>

/* One problem, what is wrong with it, and room for D: one number a query, or a key of each query head. */
typedef struct walk {
    const td_attention_problem *a;
    const td_tensor *t;
    td_backward_mistake kind;
    double *D;
} walk;

static int64_t kv_head(const walk *w, int64_t h) {
    return w->kind == wrong_kv_head ? h % w->a->Hkv : w->kind == first_kv_head ? 0 : h / (w->a->Hq / w->a->Hkv);
}

/* The pair is computed: read by the mask, and inside the blocks that are. */
static int is_visited(const walk *w, int64_t i, int64_t j) {
    const td_attention_problem *a = w->a;
    int64_t block = td_online_block(a), shift = a->Tk - a->Tq;
    td_mask mask = a->mask;
    if (w->kind == queries_dropped && i >= a->Tq / block * block) return 0;
    if (w->kind == keys_dropped && j >= a->Tk / block * block) return 0;
    if (w->kind == last_key_dropped && j == a->Tk - 1) return 0;
    if (w->kind == mask_ignored) return 1;
    if (w->kind == keys_of_row_dropped) {
        int64_t whole = a->block > 0 ? a->block : TD_ONLINE_DEFAULT_BLOCK;
        return j < td_allowed_keys(mask, i, a->Tq, a->Tk) / whole * whole;
    }
    if (w->kind == other_alignment && mask != TD_MASK_NONE)
        mask = mask == TD_MASK_CAUSAL_TOP_LEFT ? TD_MASK_CAUSAL_BOTTOM_RIGHT : TD_MASK_CAUSAL_TOP_LEFT;
    if (w->kind == top_left_as_bottom_right && mask != TD_MASK_NONE) mask = TD_MASK_CAUSAL_BOTTOM_RIGHT;
    if (w->kind == bottom_right_as_top_left && mask != TD_MASK_NONE) mask = TD_MASK_CAUSAL_TOP_LEFT;
    if (w->kind == always_causal && mask == TD_MASK_NONE) mask = TD_MASK_CAUSAL_TOP_LEFT;
    if (mask == TD_MASK_NONE) return 1;
    if (w->kind == queries_from_j && i < j) return 0;
    if (w->kind == shift_sign) shift = -shift;
    int64_t n = i + 1 + (mask == TD_MASK_CAUSAL_TOP_LEFT ? 0 : shift);
    if (w->kind == mask_by_block && n > 0) n = (n + block - 1) / block * block;
    if (w->kind == mask_upper) return j >= n - 1;
    return j < n + (w->kind == mask_one_too_many) - (w->kind == mask_strict);
}

/* Column c of key j, in K or V (Tk,d), which `by_columns` takes for (d,Tk). */
static double key_element(const walk *w, int tensor, int64_t b, int64_t kv, int64_t j, int64_t c, int by_columns) {
    int64_t at = c * w->a->Tk + j;
    return by_columns ? td_get(&w->t[tensor], b, kv, at / w->a->d, at % w->a->d) : td_get(&w->t[tensor], b, kv, j, c);
}

static double dot_with_key(const walk *w, int query, int64_t b, int64_t h, int64_t i, int key, int64_t j,
                           int by_columns) {
    double sum = 0;
    for (int64_t c = 0; c < w->a->d; c++)
        sum += td_get(&w->t[query], b, h, i, c) * key_element(w, key, b, kv_head(w, h), j, c, by_columns);
    return sum;
}

static double scale_of(const walk *w) {
    double scale = w->a->scale;
    return w->kind == own_scale ? 1 / sqrt((double)w->a->d) : w->kind == scale_twice ? scale * scale : scale;
}

static double weight(const walk *w, int64_t b, int64_t h, int64_t i, int64_t j) {
    double s = dot_with_key(w, TD_Q, b, h, i, TD_K, j, w->kind == K_by_columns);
    double lse = td_get(&w->t[TD_LSE], b, h, i, 0);
    if (w->kind != unscaled_scores) s *= w->kind == own_scale ? scale_of(w) : w->a->scale;
    if (w->kind == lse_in_base_2) return exp(s - lse * log(2));
    return w->kind == not_normalised ? exp(s) : w->kind == lse_base_2 ? exp2(s - lse) : exp(s - lse);
}

static double dP(const walk *w, int64_t b, int64_t h, int64_t i, int64_t j) {
    return dot_with_key(w, TD_DO, b, h, i, w->kind == dP_with_K ? TD_K : TD_V, j, w->kind == V_by_columns);
}

/* dS of a pair, whose P is p. */
static double score_gradient(const walk *w, int64_t b, int64_t h, int64_t i, int64_t j, double p) {
    const td_attention_problem *a = w->a;
    int64_t of = w->kind == D_of_first_batch ? 0 : w->kind == D_of_last_batch ? a->B - 1 : b;
    int64_t head = of * a->Hq + (w->kind == D_of_first_head ? 0 : h);
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
    for (int64_t i = 0; w->kind != D_by_keys && i < a->Tq; i++) {
        double *D = &w->D[head * a->Tq + i];
        int left = w->kind == D_of_O_and_O ? TD_O : TD_DO, right = w->kind == D_of_Q ? TD_Q : TD_O;
        *D = w->kind == D_without_O ? 0 : td_dot_f64(&w->t[left], h, i, &w->t[right], h, i, b);
        for (int64_t c = 0; c < a->d && w->kind == D_without_O; c++) *D += td_get(&w->t[TD_DO], b, h, i, c);
    }
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

/* The row is left as it was: row i of n of head (b, h), in blocks. */
static int is_left(const walk *w, int64_t b, int64_t h, int64_t i, int64_t n, td_backward_mistake tail) {
    int64_t block = w->a->block > 0 ? w->a->block : TD_ONLINE_DEFAULT_BLOCK;
    return (w->kind == first_batch && b > 0) || (w->kind == first_head && h > 0) ||
           (w->kind == tail && i >= n / block * block);
}

static void query_row(const walk *w, int64_t b, int64_t h, int64_t i) {
    const td_attention_problem *a = w->a;
    double dq[256] = {0}, scale = w->kind == no_scale || w->kind == dQ_not_scaled ? 1 : scale_of(w);
    if (w->kind == dQ_not_written || is_left(w, b, h, i, a->Tq, queries_unwritten)) return;
    if (w->kind == empty_rows_unwritten && td_allowed_keys(a->mask, i, a->Tq, a->Tk) == 0) return;
    for (int64_t j = 0; j < a->Tk; j++) {
        if (!is_visited(w, i, j) && w->kind != mask_of_dQ) continue;
        double dS = times_in_dQ(w, i, j) * score_gradient(w, b, h, i, j, weight(w, b, h, i, j));
        for (int64_t c = 0; c < a->d; c++)
            dq[c] +=
                dS * (w->kind == dQ_of_Q ? td_get(&w->t[TD_Q], b, h, i, c)
                                         : td_get(&w->t[w->kind == dQ_of_V ? TD_V : TD_K], b, kv_head(w, h), j, c));
    }
    for (int64_t c = 0; c < a->d; c++) td_set(&w->t[TD_DQ], b, h, i, c, scale * dq[c]);
}

/* What one query head adds to dK and dV of key j; `last`: it is the last head that does. */
static void add_head(const walk *w, int64_t b, int64_t h, int64_t j, int last, double *dk, double *dv) {
    const td_attention_problem *a = w->a;
    int64_t block = td_online_block(a);
    for (int64_t i = 0; i < a->Tq; i++) {
        int visited = is_visited(w, i, j);
        if (!visited && w->kind != mask_of_dK) continue;
        double p = weight(w, b, h, i, j), dS = score_gradient(w, b, h, i, j, p);
        int lost = w->kind == dK_overwritten && (!last || i / block != (a->Tq - 1) / block);
        for (int64_t c = 0; c < a->d; c++) {
            if (visited) dv[c] += (w->kind == dV_of_dS ? dS : p) * td_get(&w->t[TD_DO], b, h, i, c);
            if (!lost)
                dk[c] += dS * (w->kind == dK_of_K ? td_get(&w->t[TD_K], b, kv_head(w, h), j, c)
                                                  : td_get(&w->t[w->kind == dK_of_dO ? TD_DO : TD_Q], b, h, i, c));
        }
    }
}

static void key_row(const walk *w, int64_t b, int64_t kv, int64_t j) {
    const td_attention_problem *a = w->a;
    int64_t group = a->Hq / a->Hkv, last = w->kind == wrong_kv_head ? a->Hq - a->Hkv + kv : (kv + 1) * group - 1;
    int64_t reads = a->Tq > 0 ? td_allowed_keys(a->mask, a->Tq - 1, a->Tq, a->Tk) : 0;
    double dk[256] = {0}, dv[256] = {0}, scale = w->kind == no_scale || w->kind == dK_not_scaled ? 1 : scale_of(w);
    double mean = w->kind == group_mean ? 1 / (double)group : 1;
    if (is_left(w, b, kv, j, a->Tk, keys_unwritten) || (w->kind == unread_keys_unwritten && j >= reads)) return;
    for (int64_t h = 0; h < a->Hq; h++) {
        int left_out = (w->kind == last_head && h != last) || (w->kind == first_of_group && h != kv * group);
        if (kv_head(w, h) == kv && !left_out) add_head(w, b, h, j, h == last, dk, dv);
    }
    for (int64_t c = 0; c < a->d; c++) {
        double k = mean * scale * dk[c], v = mean * (w->kind == dV_scaled ? scale : 1) * dv[c];
        if (w->kind != dK_not_written) td_set(&w->t[TD_DK], b, kv, j, c, w->kind == swapped ? v : k);
        if (w->kind != dV_not_written) td_set(&w->t[TD_DV], b, kv, j, c, w->kind == swapped ? k : v);
    }
}

/* A mistake of one pass alone: what it is in the pass over queries, and in that over keys. */
static td_backward_mistake in_pass(td_backward_mistake kind, int over_keys) {
    switch (kind) {
    case dP_with_K_in_dQ: return over_keys ? no_mistake : dP_with_K;
    case kv_head_of_dQ: return over_keys ? no_mistake : wrong_kv_head;
    case no_D_in_dQ: return over_keys ? no_mistake : no_D;
    case no_D_in_dK: return over_keys ? no_D : no_mistake;
    case unscaled_scores_in_dQ: return over_keys ? no_mistake : unscaled_scores;
    case unscaled_scores_in_dK: return over_keys ? unscaled_scores : no_mistake;
    case D_of_first_batch_in_dK: return over_keys ? D_of_first_batch : no_mistake;
    case D_of_last_batch_in_dK: return over_keys ? D_of_last_batch : no_mistake;
    case queries_from_j: return over_keys ? queries_from_j : no_mistake;
    case mask_of_keys: return over_keys ? mask_ignored : no_mistake;
    case dK_scaled_twice: return over_keys ? scale_twice : no_mistake;
    case dQ_scaled_twice: return over_keys ? no_mistake : scale_twice;
    default: return kind;
    }
}

td_status td_backward_mistaken(const td_problem *problem, const td_tensor *tensors, double *D,
                               td_backward_mistake kind) {
    const td_attention_problem *a = &problem->attention;
    walk w = {a, tensors, kind, D}, queries = {a, tensors, in_pass(kind, 0), D};
    walk keys = {a, tensors, in_pass(kind, 1), D};
#pragma omp parallel for collapse(2)
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->Hq; h++) fill_D(&w, b, h);
#pragma omp parallel for collapse(3)
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->Hq; h++)
            for (int64_t i = 0; i < a->Tq; i++) query_row(&queries, b, h, i);
#pragma omp parallel for collapse(3)
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t kv = 0; kv < a->Hkv; kv++)
            for (int64_t j = 0; j < a->Tk; j++) key_row(&keys, b, kv, j);
    return TD_OK;
}

size_t td_mistaken_bytes(const td_problem *problem) {
    const td_attention_problem *a = &problem->attention;
    return (size_t)(a->B * a->Hq * (a->Tq > a->Tk ? a->Tq : a->Tk)) * sizeof(double);
}
