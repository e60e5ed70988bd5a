/* One blockwise walk (online_f64.c is the right one) serves all deliberate mistakes: where a mistake differs, the walk
 * asks which one it is. */
#include "mistakes.h"
#include <math.h>

/* One query row of one problem, and what is wrong. */
typedef struct row {
    const td_attention_problem *a;
    const td_tensor *t;
    td_mistake kind;
    int64_t b, h, i, block;
    int64_t allowed; /* keys that the mask allows, as the mistake has it */
} row;

static int64_t kv_head(const row *x) {
    return x->kind == wrong_kv_head ? x->h % x->a->Hkv : x->kind == first_kv_head ? 0 : x->h / (x->a->Hq / x->a->Hkv);
}

static td_mask mask_of(const row *x) {
    td_mask mask = x->a->mask;
    if (x->kind == other_alignment && mask != TD_MASK_NONE)
        return mask == TD_MASK_CAUSAL_TOP_LEFT ? TD_MASK_CAUSAL_BOTTOM_RIGHT : TD_MASK_CAUSAL_TOP_LEFT;
    if (x->kind == top_left_as_bottom_right && mask != TD_MASK_NONE) return TD_MASK_CAUSAL_BOTTOM_RIGHT;
    if (x->kind == bottom_right_as_top_left && mask != TD_MASK_NONE) return TD_MASK_CAUSAL_TOP_LEFT;
    return x->kind == always_causal && mask == TD_MASK_NONE ? TD_MASK_CAUSAL_TOP_LEFT : mask;
}

/* Of the keys up to the end of a block, those that the last query of a tile of `queries` may read. */
static int64_t keys_of_tile(const row *x, int64_t n, int64_t queries) {
    const td_attention_problem *a = x->a;
    int64_t last = (x->i / queries + 1) * queries - 1, end = (n + x->block - 1) / x->block * x->block;
    int64_t most = td_allowed_keys(a->mask, last < a->Tq ? last : a->Tq - 1, a->Tq, a->Tk);
    return end < most ? end : most;
}

/* How many keys, from key 0, the query visits; beyond Tk they are padding. */
static int64_t visited_keys(const row *x) {
    const td_attention_problem *a = x->a;
    td_mistake kind = x->kind;
    int64_t padded = (a->Tk + x->block - 1) / x->block * x->block, shift = a->Tk - a->Tq;
    td_mask mask = mask_of(x);
    if (kind == mask_ignored || kind == infinity_minus_infinity || kind == finite_sentinel || kind == mask_upper)
        return a->Tk;
    if (kind == shift_sign) shift = -shift;
    int64_t n = mask == TD_MASK_NONE ? padded : x->i + 1 + (mask == TD_MASK_CAUSAL_TOP_LEFT ? 0 : shift);
    if (mask != TD_MASK_NONE) n += (kind == mask_one_too_many) - (kind == mask_strict);
    if (kind == mask_by_block && n > 0) n = (n + x->block - 1) / x->block * x->block;
    if (kind >= mask_by_tile_of_16 && mask != TD_MASK_NONE && n > 0)
        n = keys_of_tile(x, n, (int64_t)16 << (kind - mask_by_tile_of_16));
    int64_t end = a->Tk;
    if (kind == zero_padded_tail || kind == tail_repeated) end = padded;
    if (kind == tail_dropped) end = a->Tk / x->block * x->block;
    if (kind == last_key_dropped) end = a->Tk - 1;
    n = n < end ? n : end;
    int64_t whole = a->block > 0 ? a->block : TD_ONLINE_DEFAULT_BLOCK;
    if (kind == tail_of_row_dropped && n > 0) n = n / whole * whole;
    if (kind == last_of_row_dropped || kind == last_of_row_dropped_0_by_0) n--;
    return n < 0 ? 0 : n;
}

static double element(const row *x, int tensor, int64_t j, int64_t c) {
    int64_t d = x->a->d, at = c * x->a->Tk + j;
    int columns = (x->kind == K_by_columns && tensor == TD_K) || (x->kind == V_by_columns && tensor == TD_V);
    if (j >= x->a->Tk) j = x->a->Tk - 1; /* tail_repeated */
    if (columns) j = at / d, c = at % d; /* (Tk,d) taken for (d,Tk) */
    return td_get(&x->t[tensor], x->kind == kv_of_first_batch ? 0 : x->b, kv_head(x), j, c);
}

static double score(const row *x, int64_t j) {
    const td_attention_problem *a = x->a;
    if (j >= a->Tk && x->kind != tail_repeated) return 0; /* a padding key of zeros */
    if (x->kind == mask_upper && a->mask != TD_MASK_NONE && j < x->allowed - 1) return -INFINITY;
    if (j >= x->allowed) {
        if (x->kind == infinity_minus_infinity) return -INFINITY;
        if (x->kind == finite_sentinel) return -1e6;
    }
    double dot = 0, scale = a->scale;
    int64_t columns = x->kind == first_64_columns && a->d > 64 ? 64 : a->d;
    for (int64_t c = 0; c < columns; c++) dot += td_get(&x->t[TD_Q], x->b, x->h, x->i, c) * element(x, TD_K, j, c);
    if (x->kind == own_scale) scale = 1 / sqrt((double)a->d);
    if (x->kind == scale_twice) scale *= scale;
    return x->kind == no_scale ? dot : x->kind == scale_by_d ? dot / (double)a->d : scale * dot;
}

/* A wrong maximum changes nothing until something overflows, or until all of a row underflows: here that is where
 * float32 would. */
static double held(td_mistake kind, double x) {
    if (kind != no_maximum && kind != maximum_ignores_sign && kind != maximum_from_0 && kind != first_maximum &&
        kind != l_overwritten && kind != weights_from_old_maximum)
        return x;
    if (fabs(x) > td_largest(TD_F32)) return copysign(INFINITY, x);
    return fabs(x) < td_underflow_unit(TD_F32) ? 0 : x;
}

static double lse(td_mistake kind, double m, double l) {
    if (l == 0) return NAN; /* a row that is allowed */
    switch (kind) {
    case lse_base_2: return (m + log(l)) / log(2);
    case lse_minus: return m - log(l);
    case lse_log2_of_l: return m + log2(l);
    case lse_no_maximum: return log(l);
    case lse_is_maximum: return m;
    case lse_without_log: return m + l;
    default: return m + log(l);
    }
}

/* What l holds besides: keys of the blocks that are visited, or of all, that the mask forbids. */
static double forbidden(const row *x, int64_t n, double shift) {
    int64_t end = x->kind == l_unmasked ? x->a->Tk : (n + x->block - 1) / x->block * x->block;
    double sum = 0;
    for (int64_t j = n; j < end && j < x->a->Tk; j++) sum += exp(score(x, j) - shift);
    return sum;
}

/* Masked keys, of the last block visited or all, with a weight of 0. */
static void add_masked(const row *x, int64_t n, double *o) {
    int64_t end = x->kind == masked_by_product ? x->a->Tk : (n + x->block - 1) / x->block * x->block;
    for (int64_t j = n; j < end && j < x->a->Tk; j++)
        for (int64_t c = 0; c < x->a->d; c++) o[c] += 0 * element(x, TD_V, j, c);
}

static double factor(const row *x, int first, double m, double shift) {
    if (x->kind == block_maximum) return 1;
    if (first) return x->kind == accumulator_not_cleared; /* in its l there is nothing yet */
    if (x->kind == falling_maximum && shift < m) return 1;
    return held(x->kind, (x->kind == base_2 ? exp2 : exp)(x->kind == alpha_inverted ? shift - m : m - shift));
}

static void attend(const row *x, int64_t n, double *o, double *m_out, double *l_out) {
    const td_attention_problem *a = x->a;
    td_mistake kind = x->kind;
    int without = kind == no_maximum || kind == no_maximum_in_double;
    int of_first = kind == first_maximum || kind == first_maximum_in_double;
    int unguarded = kind == infinity_minus_infinity || kind == infinity_unguarded;
    double sign = kind == maximum_ignores_sign && a->scale < 0 ? -1 : 1; /* of the scores whose maximum is taken */
    double m = kind == maximum_from_0 ? 0 : -INFINITY, l = 0;
    for (int64_t begin = 0; begin < n; begin += x->block) {
        int64_t end = begin + x->block < n ? begin + x->block : n;
        double m_new = kind == block_maximum || kind == falling_maximum ? -INFINITY : m;
        for (int64_t j = begin; j < end && !(of_first && begin > 0); j++) m_new = fmax(m_new, sign * score(x, j));
        double shift = sign * m_new;
        if (without || (m_new == -INFINITY && !unguarded && !(of_first && begin > 0))) shift = 0;
        double from = kind == weights_from_old_maximum && begin > 0 ? m : shift;
        double alpha = factor(x, begin == 0, without ? 0 : sign * m, shift), late = 1;
        if (kind == alpha_late && begin > 0) late = alpha;
        if (kind != no_alpha && kind != no_alpha_on_l) l *= alpha;
        if (kind == l_overwritten) l = 0;
        for (int64_t c = 0; c < a->d; c++) {
            if (kind != no_alpha && kind != no_alpha_on_accumulator) o[c] *= alpha;
            if (kind == accumulator_overwritten) o[c] = 0;
        }
        for (int64_t j = begin; j < end; j++) {
            double p = late * held(kind, (kind == base_2 ? exp2 : exp)(score(x, j) - from));
            l = held(kind, l + p);
            for (int64_t c = 0; c < a->d && (j < a->Tk || kind == tail_repeated); c++)
                o[c] = held(kind, o[c] + p * element(x, TD_V, kind == V_of_first_block ? j - begin : j, c));
        }
        for (int64_t c = 0; c < a->d && kind == normalised_by_block; c++) o[c] /= l;
        m = without ? 0 : m_new;
    }
    if (kind == l_unmasked || kind == l_unmasked_in_block) l += forbidden(x, n, m);
    if (kind == l_counts_first_key_twice) l += exp(score(x, 0) - m);
    if (kind == masked_by_product || kind == masked_by_product_in_block) add_masked(x, n, o);
    *m_out = sign * m, *l_out = l;
}

/* o: the accumulator, with what it held. */
static void attend_row(row *x, double *o) {
    const td_attention_problem *a = x->a;
    td_mistake kind = x->kind;
    int64_t tile = a->block > 0 ? a->block : TD_ONLINE_DEFAULT_BLOCK;
    if (kind == queries_dropped && x->i >= a->Tq / tile * tile) return;
    if ((kind == first_batch && x->b > 0) || (kind == first_head && x->h > 0)) return;
    double m = 0, l = 0;
    x->allowed = td_allowed_keys(a->mask, x->i, a->Tq, a->Tk);
    int64_t n = visited_keys(x);
    if (n == 0 && kind == empty_rows_unwritten) return;
    int cleared = kind != accumulator_not_cleared && kind != accumulator_cleared_by_0;
    for (int64_t c = 0; c < a->d && cleared; c++) o[c] = 0;
    if (n > 0) attend(x, n, o, &m, &l);
    int unthought = kind == tail_of_row_dropped || kind == last_of_row_dropped_0_by_0;
    int lost = n == 0 && x->allowed > 0 && unthought;                           /* allowed, and yet 0/0 */
    int64_t shift = a->mask == TD_MASK_CAUSAL_BOTTOM_RIGHT ? a->Tk - a->Tq : 0; /* below 0 it empties rows */
    int zero = n == 0 && kind == empty_rows_of_0 && (a->Tk == 0 || x->i + 1 + shift == 0);
    int nan = lost || zero || (n == 0 && (kind == infinity_minus_infinity || kind == empty_rows_0_by_0));
    int undivided = n == 0 || kind == not_normalised || kind == normalised_by_block;
    for (int64_t c = 0; x->t[TD_O].data && kind != O_not_written && c < a->d; c++)
        td_set(&x->t[TD_O], x->b, x->h, x->i, c, nan ? NAN : n == 0 ? 0 : undivided ? o[c] : o[c] / l);
    double empty = kind == lse_of_empty_rows_0 ? 0 : lost || zero || kind == infinity_minus_infinity ? NAN : -INFINITY;
    if (x->t[TD_LSE].data && kind != lse_not_written)
        td_set(&x->t[TD_LSE], x->b, x->h, x->i, 0, n == 0 ? empty : lse(kind, m, l));
}

td_status td_attend_mistaken(const td_problem *problem, const td_tensor *tensors, td_mistake kind) {
    const td_attention_problem *a = &problem->attention;
#pragma omp parallel for collapse(2)
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->Hq; h++) {
            double o[256] = {0};
            for (int64_t i = 0; i < a->Tq; i++) {
                row x = {a, tensors, kind, b, h, i, td_online_block(a), 0};
                attend_row(&x, o);
            }
        }
    return TD_OK;
}
