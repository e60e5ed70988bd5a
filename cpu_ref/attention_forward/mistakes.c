/* Attention with one thing wrong at a time, in double: what each mistake does, run for real, and what a wrong answer is
 * held against to name its mistake. One blockwise walk (online_f64.c is the right one) serves all of them: where a
 * mistake differs, the walk asks which one it is. */
#include "attention_forward.h"
#include <math.h>

typedef enum mistake {
    no_scale,
    scale_by_d,
    mask_ignored,
    mask_strict,
    mask_one_too_many,
    other_alignment,
    wrong_kv_head,
    no_alpha,
    no_alpha_on_accumulator,
    no_alpha_on_l,
    block_maximum,
    no_maximum,
    maximum_ignores_sign,
    infinity_minus_infinity,
    finite_sentinel,
    zero_padded_tail,
    tail_dropped,
    not_normalised,
    lse_base_2,
    lse_no_maximum,
    lse_is_maximum
} mistake;

/* How many keys, from key 0, query i visits; beyond Tk they are padding. */
static int64_t visited_keys(const td_attention_problem *a, mistake kind, int64_t i) {
    int64_t block = td_online_block(a), padded = (a->Tk + block - 1) / block * block;
    td_mask mask = a->mask;
    if (kind == mask_ignored || kind == infinity_minus_infinity || kind == finite_sentinel) return a->Tk;
    if (kind == other_alignment && mask != TD_MASK_NONE)
        mask = mask == TD_MASK_CAUSAL_TOP_LEFT ? TD_MASK_CAUSAL_BOTTOM_RIGHT : TD_MASK_CAUSAL_TOP_LEFT;
    int64_t n = mask == TD_MASK_NONE ? padded : mask == TD_MASK_CAUSAL_TOP_LEFT ? i + 1 : i + 1 + a->Tk - a->Tq;
    if (mask != TD_MASK_NONE) n += (kind == mask_one_too_many) - (kind == mask_strict);
    int64_t end = kind == zero_padded_tail ? padded : kind == tail_dropped ? a->Tk / block * block : a->Tk;
    return n < 0 ? 0 : n > end ? end : n;
}

static double score(const td_attention_problem *a, mistake kind, const td_tensor *t, int64_t b, int64_t h, int64_t kv,
                    int64_t i, int64_t j) {
    if (j >= a->Tk) return 0; /* a padding key of zeros */
    if (j >= td_allowed_keys(a->mask, i, a->Tq, a->Tk)) {
        if (kind == infinity_minus_infinity) return -INFINITY;
        if (kind == finite_sentinel) return -1e6;
    }
    double dot = 0;
    for (int64_t c = 0; c < a->d; c++) dot += td_get(&t[TD_Q], b, h, i, c) * td_get(&t[TD_K], b, kv, j, c);
    return kind == no_scale ? dot : kind == scale_by_d ? dot / (double)a->d : a->scale * dot;
}

/* A missing maximum changes nothing until something overflows: here it does where float32 would. */
static double held(mistake kind, double x) {
    int overflows = (kind == no_maximum || kind == maximum_ignores_sign) && fabs(x) > td_largest(TD_F32);
    return overflows ? copysign(INFINITY, x) : x;
}

static double lse(mistake kind, double m, double l) {
    switch (kind) {
    case lse_base_2: return (m + log(l)) / log(2);
    case lse_no_maximum: return log(l);
    case lse_is_maximum: return m;
    default: return m + log(l);
    }
}

static void attend_row(const td_attention_problem *a, mistake kind, const td_tensor *t, int64_t b, int64_t h,
                       int64_t i) {
    int64_t kv = kind == wrong_kv_head ? h % a->Hkv : h / (a->Hq / a->Hkv), block = td_online_block(a);
    int64_t n = visited_keys(a, kind, i);
    double sign = kind == maximum_ignores_sign && a->scale < 0 ? -1 : 1; /* of the scores whose maximum is taken */
    double o[256] = {0}, m = -INFINITY, l = 0;
    for (int64_t begin = 0; begin < n; begin += block) {
        int64_t end = begin + block < n ? begin + block : n;
        double m_new = kind == block_maximum ? -INFINITY : m;
        for (int64_t j = begin; j < end; j++) m_new = fmax(m_new, sign * score(a, kind, t, b, h, kv, i, j));
        double shift = sign * m_new;
        if (kind == no_maximum || (m_new == -INFINITY && kind != infinity_minus_infinity)) shift = 0;
        double alpha = begin == 0 ? 0 : held(kind, exp((kind == no_maximum ? 0 : sign * m) - shift));
        if (kind == block_maximum) alpha = 1;
        if (kind != no_alpha && kind != no_alpha_on_l) l *= alpha;
        if (kind != no_alpha && kind != no_alpha_on_accumulator)
            for (int64_t c = 0; c < a->d; c++) o[c] *= alpha;
        for (int64_t j = begin; j < end; j++) {
            double p = held(kind, exp(score(a, kind, t, b, h, kv, i, j) - shift));
            l = held(kind, l + p);
            for (int64_t c = 0; c < a->d && j < a->Tk; c++) o[c] = held(kind, o[c] + p * td_get(&t[TD_V], b, kv, j, c));
        }
        m = kind == no_maximum ? 0 : m_new;
    }
    for (int64_t c = 0; t[TD_O].data && c < a->d; c++)
        td_set(&t[TD_O], b, h, i, c, n == 0 ? 0 : kind == not_normalised ? o[c] : o[c] / l);
    if (t[TD_LSE].data) td_set(&t[TD_LSE], b, h, i, 0, n == 0 ? -INFINITY : lse(kind, sign * m, l));
}

static td_status run(const td_problem *problem, const td_tensor *tensors, mistake kind) {
    const td_attention_problem *a = &problem->attention;
#pragma omp parallel for collapse(3)
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->Hq; h++)
            for (int64_t i = 0; i < a->Tq; i++) attend_row(a, kind, tensors, b, h, i);
    return TD_OK;
}

static size_t workspace_bytes(const td_problem *problem) {
    (void)problem;
    return 0;
}

#define MISTAKE(kind, TEXT)                                                                                            \
    static td_status run_##kind(const td_problem *problem, const td_tensor *tensors, void *workspace, void *stream,    \
                                td_error *err) {                                                                       \
        (void)workspace, (void)stream, (void)err;                                                                      \
        return run(problem, tensors, kind);                                                                            \
    }                                                                                                                  \
    static const td_variant variant_##kind = {                                                                         \
        .name = "mistake_" #kind,                                                                                      \
        .op = TD_OP_ATTENTION_FORWARD,                                                                                 \
        .backend = TD_CPU,                                                                                             \
        .dtype = TD_F64,                                                                                               \
        .rounding = {TD_F64, TD_F64, TD_F64, 1.0},                                                                     \
        .idea = "the softmax on line, by blocks of keys, with one mistake",                                            \
        .limits = "",                                                                                                  \
        .mistake = TEXT,                                                                                               \
        .workspace_tag = TD_MEM_WORKSPACE,                                                                             \
        .workspace_bytes = workspace_bytes,                                                                            \
        .run = run_##kind,                                                                                             \
        .flops = td_attention_forward_flops,                                                                           \
        .bytes = td_attention_forward_bytes,                                                                           \
    }

MISTAKE(no_scale, "the scores are not scaled");
MISTAKE(scale_by_d, "the scores are divided by d, not by the square root of d");
MISTAKE(mask_ignored, "the mask is ignored");
MISTAKE(mask_strict, "the mask is strict: a query does not read its own key");
MISTAKE(mask_one_too_many, "the mask lets a query read one key too many");
MISTAKE(other_alignment, "the causal mask is aligned to the other corner");
MISTAKE(wrong_kv_head, "query head h reads key/value head h mod Hkv, not h / (Hq/Hkv)");
MISTAKE(no_alpha, "neither l nor the accumulator is rescaled when the maximum rises");
MISTAKE(no_alpha_on_accumulator, "the accumulator is not rescaled when the maximum rises");
MISTAKE(no_alpha_on_l, "l is not rescaled when the maximum rises");
MISTAKE(block_maximum, "each block subtracts its own maximum, and the blocks' sums are added as they are");
MISTAKE(no_maximum, "no maximum is subtracted: the exponential overflows");
MISTAKE(maximum_ignores_sign, "the maximum is of q·k, also where the scale is negative: the exponential overflows");
MISTAKE(infinity_minus_infinity, "a row without an allowed key computes exp(−∞ − (−∞)) = NaN");
MISTAKE(finite_sentinel, "masked scores are −1e6, not −∞");
MISTAKE(zero_padded_tail, "the zeros that fill up the last block count as keys");
MISTAKE(tail_dropped, "keys after the last full block are dropped");
MISTAKE(not_normalised, "the accumulator is not divided by l");
MISTAKE(lse_base_2, "LSE is in base 2, not e");
MISTAKE(lse_no_maximum, "LSE is ln l, without the maximum");
MISTAKE(lse_is_maximum, "LSE is the maximum, without ln l");

const td_variant *const td_cpu_mistakes[] = {
    &variant_no_scale,
    &variant_scale_by_d,
    &variant_mask_ignored,
    &variant_mask_strict,
    &variant_mask_one_too_many,
    &variant_other_alignment,
    &variant_wrong_kv_head,
    &variant_no_alpha,
    &variant_no_alpha_on_accumulator,
    &variant_no_alpha_on_l,
    &variant_block_maximum,
    &variant_no_maximum,
    &variant_maximum_ignores_sign,
    &variant_infinity_minus_infinity,
    &variant_finite_sentinel,
    &variant_zero_padded_tail,
    &variant_tail_dropped,
    &variant_not_normalised,
    &variant_lse_base_2,
    &variant_lse_no_maximum,
    &variant_lse_is_maximum,
    NULL,
};
