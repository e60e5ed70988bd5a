/* Attention with one thing wrong at a time, in double: what each mistake does, run for real, and what a wrong answer is
 * held against to name its mistake. mistakes_walk.c computes them. */
#include "mistakes.h"

#define MISTAKE(kind, TEXT)                                                                                            \
    static td_status run_##kind(const td_problem *problem, const td_tensor *tensors, void *workspace, void *stream,    \
                                td_error *err) {                                                                       \
        (void)workspace, (void)stream, (void)err;                                                                      \
        return td_attend_mistaken(problem, tensors, kind);                                                             \
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
        .workspace_bytes = td_no_workspace,                                                                            \
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
MISTAKE(infinity_minus_infinity, "a row without an allowed key is not thought of: exp(−∞ − (−∞)), or 0/0, is NaN");
MISTAKE(finite_sentinel, "masked scores are −1e6, not −∞");
MISTAKE(zero_padded_tail, "the zeros that fill up the last block count as keys");
MISTAKE(tail_dropped, "keys after the last full block are dropped");
MISTAKE(not_normalised, "the accumulator is not divided by l");
MISTAKE(lse_base_2, "LSE is in base 2, not e");
MISTAKE(lse_no_maximum, "LSE is ln l, without the maximum");
MISTAKE(lse_is_maximum, "LSE is the maximum, without ln l");
MISTAKE(own_scale, "the scale is 1/√d, whatever the problem says");
MISTAKE(scale_twice, "the scores are scaled twice");
MISTAKE(K_by_columns, "q·k reads K by columns, as if it were transposed");
MISTAKE(V_by_columns, "P V reads V by columns, as if it were transposed");
MISTAKE(base_2, "powers of 2 in place of powers of e");
MISTAKE(always_causal, "causal also where no mask is asked for");
MISTAKE(mask_by_block, "only whole blocks are masked: inside the block on the diagonal every key is read");
MISTAKE(mask_upper, "the mask is turned over: a query reads its own key and those after it");
MISTAKE(shift_sign, "the bottom-right mask is shifted by Tq − Tk, not Tk − Tq");
MISTAKE(last_key_dropped, "the last key is never read");
MISTAKE(tail_repeated, "the last key fills up the last block, and counts again");
MISTAKE(l_unmasked, "l counts all keys, also those that the mask forbids");
MISTAKE(l_unmasked_in_block, "l counts all keys of the blocks visited, also those that the mask forbids");
MISTAKE(l_overwritten, "l is that of the last block, not the sum over blocks");
MISTAKE(accumulator_overwritten, "the accumulator is that of the last block, not the sum over blocks");
MISTAKE(alpha_late, "what the new block adds is multiplied by α as well");
MISTAKE(alpha_inverted, "α is exp(m′ − m), not exp(m − m′)");
MISTAKE(maximum_from_0, "the maximum starts at 0, not −∞: where all scores are far below, everything underflows");
MISTAKE(first_maximum, "the maximum stays that of the first block: the exponential overflows later");
MISTAKE(normalised_by_block, "the accumulator is divided by l after every block, not once in the end");
MISTAKE(first_kv_head, "all query heads read key/value head 0");
MISTAKE(kv_of_first_batch, "all batches read K and V of batch 0");
MISTAKE(first_batch, "only batch 0 is written");
MISTAKE(first_head, "only head 0 is written");
MISTAKE(queries_dropped, "queries after the last full block are not written");
MISTAKE(empty_rows_unwritten, "rows without an allowed key are not written");
MISTAKE(lse_of_empty_rows_0, "LSE of a row without an allowed key is 0, not −∞");
MISTAKE(lse_log2_of_l, "LSE is m + log2 l");
MISTAKE(O_not_written, "O keeps what it arrived with: it is not written, or added to without being set to 0");
MISTAKE(lse_not_written, "LSE is not written");

MISTAKE(top_left_as_bottom_right, "the top-left mask is aligned to the bottom right");
MISTAKE(bottom_right_as_top_left, "the bottom-right mask is aligned to the top left");
MISTAKE(tail_of_row_dropped, "of the keys that a query may read, those after the last full block are dropped");
MISTAKE(lse_minus, "LSE is m − ln l");
MISTAKE(l_counts_first_key_twice, "l starts at 1, with the first key in it, and counts it again");
MISTAKE(weights_from_old_maximum, "a block is weighed from the maximum before it, but added as if from the new one");
MISTAKE(V_of_first_block, "every block reads the rows of V that belong to the first block");
MISTAKE(first_64_columns, "q·k stops after 64 elements");
MISTAKE(falling_maximum, "the maximum is the present block's; where it falls nothing is rescaled");
MISTAKE(accumulator_not_cleared, "the accumulator is not cleared between rows");
MISTAKE(empty_rows_0_by_0, "O of a row without an allowed key is 0/0 = NaN");
MISTAKE(empty_rows_of_0,
        "rows that may read exactly 0 keys are not thought of, those of a count below 0 are: 0/0 = NaN");

MISTAKE(last_of_row_dropped, "of the keys that a query may read, the last one is dropped: n − 1 keys");
MISTAKE(last_of_row_dropped_0_by_0,
        "of the keys that a query may read, the last one is dropped: n − 1 keys, 0/0 = NaN where n is 1");
MISTAKE(lse_without_log, "LSE is m + l, without the logarithm");
MISTAKE(masked_by_product, "masked keys have a weight of 0, with which their V is multiplied: 0 · NaN is NaN");
MISTAKE(masked_by_product_in_block,
        "masked keys of the last block have a weight of 0, with which their V is multiplied: 0 · NaN is NaN");
MISTAKE(infinity_unguarded, "where all scores so far are −∞, exp(−∞ − (−∞)) is NaN");
MISTAKE(accumulator_cleared_by_0,
        "the accumulator is cleared by the first α alone, which is 0: after a row of NaN, 0 · NaN is NaN");
MISTAKE(no_maximum_in_double, "no maximum is subtracted: the exponential overflows, in double above 709");
MISTAKE(first_maximum_in_double,
        "the maximum stays that of the first block: the exponential overflows later, in double 709 above it");
MISTAKE(mask_by_tile_of_16,
        "whole tiles are masked, not inside them: 16 queries read all keys of a tile that the last of them reads");
MISTAKE(mask_by_tile_of_32,
        "whole tiles are masked, not inside them: 32 queries read all keys of a tile that the last of them reads");
MISTAKE(mask_by_tile_of_64,
        "whole tiles are masked, not inside them: 64 queries read all keys of a tile that the last of them reads");

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

const td_variant *const td_cpu_more_mistakes[] = {
    &variant_own_scale,
    &variant_scale_twice,
    &variant_K_by_columns,
    &variant_V_by_columns,
    &variant_base_2,
    &variant_always_causal,
    &variant_mask_by_block,
    &variant_mask_upper,
    &variant_shift_sign,
    &variant_last_key_dropped,
    &variant_tail_repeated,
    &variant_l_unmasked,
    &variant_l_unmasked_in_block,
    &variant_l_overwritten,
    &variant_accumulator_overwritten,
    &variant_alpha_late,
    &variant_alpha_inverted,
    &variant_maximum_from_0,
    &variant_first_maximum,
    &variant_normalised_by_block,
    &variant_first_kv_head,
    &variant_kv_of_first_batch,
    &variant_first_batch,
    &variant_first_head,
    &variant_queries_dropped,
    &variant_empty_rows_unwritten,
    &variant_lse_of_empty_rows_0,
    &variant_lse_log2_of_l,
    &variant_O_not_written,
    &variant_lse_not_written,
    &variant_top_left_as_bottom_right,
    &variant_bottom_right_as_top_left,
    &variant_tail_of_row_dropped,
    &variant_lse_minus,
    &variant_l_counts_first_key_twice,
    &variant_weights_from_old_maximum,
    &variant_V_of_first_block,
    &variant_first_64_columns,
    &variant_falling_maximum,
    &variant_accumulator_not_cleared,
    &variant_empty_rows_0_by_0,
    &variant_empty_rows_of_0,
    &variant_last_of_row_dropped,
    &variant_last_of_row_dropped_0_by_0,
    &variant_lse_without_log,
    &variant_masked_by_product,
    &variant_masked_by_product_in_block,
    &variant_infinity_unguarded,
    &variant_accumulator_cleared_by_0,
    &variant_no_maximum_in_double,
    &variant_first_maximum_in_double,
    &variant_mask_by_tile_of_16,
    &variant_mask_by_tile_of_32,
    &variant_mask_by_tile_of_64,
    NULL,
};
