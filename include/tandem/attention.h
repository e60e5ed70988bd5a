/* The attention problem: shapes, scale and mask, and which keys a query may read.
 *
 * Q (B,Hq,Tq,d), K and V (B,Hkv,Tk,d), O (B,Hq,Tq,d), LSE (B,Hq,Tq,1). Query head h reads key/value head
 * h / (Hq / Hkv). S = scale · Q Kᵀ where allowed and −∞ elsewhere; P = softmax(S) by rows; O = P V;
 * LSE = ln Σ exp(S) (natural logarithm, of the scaled, masked scores).
 * A row with no allowed key: O = 0, LSE = −∞. Emptiness comes from the mask, never from the scores: an allowed row
 * whose scores are all −∞ is NaN. Vaswani et al. 2017 (eq. 1); grouped heads: Ainslie et al. 2023. */
#ifndef TANDEM_ATTENTION_H
#define TANDEM_ATTENTION_H

#include "tensor.h"

typedef enum td_mask {
    TD_MASK_NONE = 0,
    TD_MASK_CAUSAL_TOP_LEFT,     /* key ≤ query */
    TD_MASK_CAUSAL_BOTTOM_RIGHT, /* key ≤ query + Tk − Tq */
    TD_MASKS
} td_mask;

static inline const char *td_mask_name(td_mask mask) {
    return mask == TD_MASK_NONE                  ? "none"
           : mask == TD_MASK_CAUSAL_TOP_LEFT     ? "causal-top-left"
           : mask == TD_MASK_CAUSAL_BOTTOM_RIGHT ? "causal-bottom-right"
                                                 : "?";
}

typedef struct td_attention_problem {
    int64_t B, Hq, Hkv, Tq, Tk, d;
    double scale;
    td_mask mask;
    int64_t block; /* keys in a block of an online variant; 0 = the variant's own default */
} td_attention_problem;

/* Indices of an attention problem's tensors in the array that a variant's run() receives. Backward uses all. */
enum { TD_Q = 0, TD_K, TD_V, TD_O, TD_LSE, TD_DO, TD_DQ, TD_DK, TD_DV, TD_ATTENTION_TENSORS };

/* How many keys query i may read. Every mask allows a prefix: keys 0 … n−1. */
static inline TD_HD int64_t td_allowed_keys(td_mask mask, int64_t i, int64_t Tq, int64_t Tk) {
    int64_t n = mask == TD_MASK_NONE ? Tk : mask == TD_MASK_CAUSAL_TOP_LEFT ? i + 1 : i + 1 + Tk - Tq;
    return n < 0 ? 0 : n > Tk ? Tk : n;
}

/* Allowed (query, key) pairs of one head: what the FLOP count of a mask is made of. */
static inline int64_t td_allowed_pairs(td_mask mask, int64_t Tq, int64_t Tk) {
    if (mask == TD_MASK_NONE) return Tq * Tk;
    /* row i allows clamp(i + 1 + shift, 0, Tk) keys: none before row −shift, a ramp, then all Tk */
    int64_t shift = mask == TD_MASK_CAUSAL_TOP_LEFT ? 0 : Tk - Tq;
    int64_t first = shift < 0 ? -shift : 0, full = Tk - shift - 1; /* first row with a key; first row with all */
    if (first >= Tq || Tk == 0) return 0;
    if (full > Tq) full = Tq;
    if (full < first) full = first;
    int64_t rows = full - first, low = first + 1 + shift;
    return rows * low + rows * (rows - 1) / 2 + (Tq - full) * Tk;
}

#endif
