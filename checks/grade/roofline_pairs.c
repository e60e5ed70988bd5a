/* Lesson 2's count of attention's operations. */
#include "roofline_answers.h"

enum {
    ONE_PRODUCT = 1,
    ONE_FLOP,
    BACKWARD,
    NO_D,
    KV_HEADS,
    NO_HEADS,
    NO_BATCH,
    SQUARE,
    UNMASKED,
    HALF,
    TRIANGLE,
    BOTH_TOP_LEFT,
    BOTH_BOTTOM_RIGHT,
    SWAPPED,
    STRICT,
    ONE_MORE,
    BELOW_ZERO,
    BEYOND_TK,
    UNLIMITED,
    PAIRS_INT32,
    ROWS_INT32,
    INT32,
    DOUBLE
};
static const td_answer_mistake flops_mistakes[] = {
    {ONE_PRODUCT, "attention_flops_one_product",
     "one product is counted where there are two, Q·K and P·V (2·d a pair)"},
    {ONE_FLOP, "attention_flops_one_per_term",
     "d FLOPs are counted for a pair: there are two products, and each term "
     "is multiplied and added"},
    {BACKWARD, "attention_flops_backward", "10·d for a pair is the backward pass"},
    {NO_D, "attention_flops_no_d", "a pair costs the same whatever d is"},
    {KV_HEADS, "attention_flops_kv_heads", "pairs are counted for the Hkv heads: every query head has its own"},
    {NO_HEADS, "attention_flops_no_heads", "attention's heads are not counted"},
    {NO_BATCH, "attention_flops_no_batch", "attention's batch is not counted"},
    {SQUARE, "attention_flops_square", "Tk is taken to be Tq"},
    {UNMASKED, "attention_flops_unmasked", "pairs that the mask forbids are counted"},
    {HALF, "attention_flops_half", "a causal mask is taken for half of all pairs: the diagonal is allowed"},
    {TRIANGLE, "attention_flops_triangle", "both causal masks are taken for Tq(Tq + 1)/2 pairs, whatever Tk is"},
    {BOTH_TOP_LEFT, "attention_flops_top_left", "the bottom-right mask is counted as the top-left one"},
    {BOTH_BOTTOM_RIGHT, "attention_flops_bottom_right", "the top-left mask is counted as the bottom-right one"},
    {SWAPPED, "attention_flops_masks_swapped", "the two causal masks are taken for each other"},
    {STRICT, "attention_flops_no_diagonal", "the diagonal is left out: a query may read its own key"},
    {ONE_MORE, "attention_flops_one_key_more", "a causal row is counted with a key too many"},
    {BELOW_ZERO, "attention_flops_negative_rows", "rows that allow no key are counted with less than none"},
    {BEYOND_TK, "attention_flops_beyond_tk", "rows are counted with more keys than there are"},
    {UNLIMITED, "attention_flops_rows_unlimited", "rows are limited neither to no key nor to all Tk"},
    {PAIRS_INT32, "attention_flops_pairs_int32", "the pairs of one head are counted in 32 bits, and overflow"},
    {ROWS_INT32, "attention_flops_rows_int32", "the pairs of a causal mask are added up in 32 bits, and overflow"},
    {INT32, "attention_flops_int32", "attention's FLOPs are computed in 32 bits, and overflow"},
    {DOUBLE, "attention_flops_double", "attention's FLOPs are computed in a double, which has 53 bits"},
    {0, NULL, NULL},
};

static int64_t clamped(int64_t keys, int64_t least, int64_t most) {
    return keys < least ? least : keys > most ? most : keys;
}

/* The pairs of one head, row by row: row i allows a causal mask's keys below i + 1 + shift. */
static int64_t wrong_pairs(const td_attention_problem *a, int mistake) {
    td_mask mask = a->mask;
    int64_t Tk = mistake == SQUARE ? a->Tq : a->Tk, pairs = 0;
    if (mistake == UNMASKED || mask == TD_MASK_NONE) return a->Tq * Tk;
    if (mistake == HALF) return a->Tq * Tk / 2;
    if (mistake == TRIANGLE) return a->Tq * (a->Tq + 1) / 2;
    if (mistake == BOTH_TOP_LEFT) mask = TD_MASK_CAUSAL_TOP_LEFT;
    if (mistake == BOTH_BOTTOM_RIGHT) mask = TD_MASK_CAUSAL_BOTTOM_RIGHT;
    if (mistake == SWAPPED)
        mask = mask == TD_MASK_CAUSAL_TOP_LEFT ? TD_MASK_CAUSAL_BOTTOM_RIGHT : TD_MASK_CAUSAL_TOP_LEFT;
    int64_t shift = mask == TD_MASK_CAUSAL_TOP_LEFT ? 0 : Tk - a->Tq;
    shift += mistake == ONE_MORE ? 1 : mistake == STRICT ? -1 : 0;
    int64_t least = mistake == BELOW_ZERO || mistake == UNLIMITED ? INT64_MIN : 0;
    int64_t most = mistake == BEYOND_TK || mistake == UNLIMITED ? INT64_MAX : Tk;
    for (int64_t i = 0; i < a->Tq; i++) pairs += clamped(i + 1 + shift, least, most);
    return pairs;
}

static void flops(const void *question, int mistake, void *answer) {
    const td_attention_problem *a = &((const td_roofline_question *)question)->attention;
    int of_pairs = mistake >= SQUARE && mistake <= UNLIMITED;
    uint64_t each = 4, d = (uint64_t)a->d, B = (uint64_t)a->B, H = (uint64_t)a->Hq; /* a mistake's count may wrap */
    int64_t pairs = of_pairs ? wrong_pairs(a, mistake) : td_allowed_pairs(a->mask, a->Tq, a->Tk);
    if (mistake == PAIRS_INT32 || (mistake == ROWS_INT32 && a->mask != TD_MASK_NONE))
        pairs = td_count_in_32_bits(pairs);
    if (mistake == ONE_PRODUCT) each = 2;
    if (mistake == ONE_FLOP) each = 1;
    if (mistake == BACKWARD) each = 10;
    if (mistake == NO_D) d = 1;
    if (mistake == KV_HEADS) H = (uint64_t)a->Hkv;
    if (mistake == NO_HEADS) H = 1;
    if (mistake == NO_BATCH) B = 1;
    int64_t count = (int64_t)(each * d * (uint64_t)pairs * B * H);
    if (mistake == INT32) count = td_count_in_32_bits(count);
    if (mistake == DOUBLE) count = (int64_t)((double)count);
    ((td_roofline_answer *)answer)->count = count;
}

const td_asked td_asked_attention_flops = {"exercise_attention_flops",
                                           TD_ATTENTION_FLOPS,
                                           sizeof(td_roofline_question),
                                           sizeof(td_roofline_answer),
                                           flops,
                                           td_counts_agree,
                                           td_roofline_say,
                                           td_count_unwritten,
                                           flops_mistakes};
