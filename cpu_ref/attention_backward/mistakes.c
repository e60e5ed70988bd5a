/* Attention backward with one thing wrong at a time, in double: what each mistake does, run for real, and what a wrong
 * answer is held against to name its mistake. mistakes_walk.c computes them. */
#include "mistakes.h"

#define MISTAKE(kind, TEXT)                                                                                            \
    static td_status run_##kind(const td_problem *problem, const td_tensor *tensors, void *workspace, void *stream,    \
                                td_error *err) {                                                                       \
        (void)stream, (void)err;                                                                                       \
        return td_backward_mistaken(problem, tensors, workspace, kind);                                                \
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
        .workspace_bytes = td_mistaken_bytes,                                                                          \
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
MISTAKE(own_scale, "the scale is 1/√d, whatever the problem says");
MISTAKE(dV_scaled, "dV is scaled as dQ and dK are");
MISTAKE(dK_not_scaled, "dK is not scaled, dQ is");
MISTAKE(K_by_columns, "q·k reads K by columns, as if it were transposed");
MISTAKE(D_without_O, "D is the sum of dO, without O");
MISTAKE(D_of_first_head, "D is that of query head 0 in every head");
MISTAKE(dK_of_dO, "dK is dS transposed times dO, not times Q");
MISTAKE(dQ_of_V, "dQ is dS times V, not times K");
MISTAKE(first_kv_head, "all query heads belong to key/value head 0");
MISTAKE(first_of_group, "dK and dV are of the first query head of a group, not the sum over the group");
MISTAKE(group_mean, "dK and dV are the mean over the query heads of a group, not the sum");
MISTAKE(always_causal, "causal also where no mask is asked for");
MISTAKE(mask_by_block, "only whole blocks are masked: inside the block on the diagonal every key is read");
MISTAKE(mask_upper, "the mask is turned over: a query reads its own key and those after it");
MISTAKE(shift_sign, "the bottom-right mask is shifted by Tq − Tk, not Tk − Tq");
MISTAKE(mask_of_dQ, "dQ ignores the mask, dK and dV do not");
MISTAKE(last_key_dropped, "the last key is never read");
MISTAKE(first_batch, "only batch 0 is written");
MISTAKE(first_head, "only head 0 is written");
MISTAKE(empty_rows_unwritten, "dQ of rows without an allowed key is not written");
MISTAKE(unread_keys_unwritten, "dK and dV of keys that no query reads are not written");
MISTAKE(queries_unwritten, "dQ after the last full block of queries is not written");
MISTAKE(keys_unwritten, "dK and dV after the last full block of keys are not written");
MISTAKE(dQ_not_written, "dQ keeps what it arrived with: it is not written, or added to without being set to 0");
MISTAKE(dK_not_written, "dK keeps what it arrived with: it is not written, or added to without being set to 0");
MISTAKE(dV_not_written, "dV keeps what it arrived with: it is not written, or added to without being set to 0");

MISTAKE(D_of_O_and_O, "D is the sum of O ∘ O, not of dO ∘ O");
MISTAKE(dP_with_K, "dP is dO·K, not dO·V");
MISTAKE(dP_with_K_in_dQ, "dP is dO·K, not dO·V, where dQ is made");
MISTAKE(kv_head_of_dQ, "query head h reads key/value head h mod Hkv where dQ is made");
MISTAKE(keys_of_row_dropped, "of the keys that a query may read, those after the last full block are dropped");
MISTAKE(lse_in_base_2, "LSE is taken for a logarithm in base 2: P is 2^(S log2 e − LSE)");
MISTAKE(mask_of_keys, "dK and dV ignore the mask, dQ does not");
MISTAKE(dK_scaled_twice, "dK is scaled twice");
MISTAKE(dQ_scaled_twice, "dQ is scaled twice");
MISTAKE(top_left_as_bottom_right, "the top-left mask is aligned to the bottom right");
MISTAKE(bottom_right_as_top_left, "the bottom-right mask is aligned to the top left");
MISTAKE(no_D_in_dQ, "D is not subtracted where dQ is made");
MISTAKE(no_D_in_dK, "D is not subtracted where dK is made");

MISTAKE(unscaled_scores_in_dQ, "where dQ is made, P is recomputed from scores that are not scaled");
MISTAKE(unscaled_scores_in_dK, "where dK and dV are made, P is recomputed from scores that are not scaled");
MISTAKE(D_of_first_batch, "D is that of batch 0 in every batch");
MISTAKE(D_of_last_batch, "D is that of the last batch in every batch: its index is without the batch");
MISTAKE(D_of_first_batch_in_dK, "where dK is made, D is that of batch 0 in every batch");
MISTAKE(D_of_last_batch_in_dK,
        "where dK is made, D is that of the last batch in every batch: its index is without the batch");
MISTAKE(D_of_Q, "D is the sum of dO ∘ Q, not of dO ∘ O");
MISTAKE(dK_of_K, "dK is a sum of dS times K, not times Q");
MISTAKE(dQ_of_Q, "dQ is a sum of dS times Q, not times K");
MISTAKE(queries_from_j, "where dK and dV are made, queries begin at that of the key's number, also for bottom-right");

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

const td_variant *const td_cpu_more_backward_mistakes[] = {
    &variant_own_scale,
    &variant_dV_scaled,
    &variant_dK_not_scaled,
    &variant_K_by_columns,
    &variant_D_without_O,
    &variant_D_of_first_head,
    &variant_dK_of_dO,
    &variant_dQ_of_V,
    &variant_first_kv_head,
    &variant_first_of_group,
    &variant_group_mean,
    &variant_always_causal,
    &variant_mask_by_block,
    &variant_mask_upper,
    &variant_shift_sign,
    &variant_mask_of_dQ,
    &variant_last_key_dropped,
    &variant_first_batch,
    &variant_first_head,
    &variant_empty_rows_unwritten,
    &variant_unread_keys_unwritten,
    &variant_queries_unwritten,
    &variant_keys_unwritten,
    &variant_dQ_not_written,
    &variant_dK_not_written,
    &variant_dV_not_written,
    &variant_D_of_O_and_O,
    &variant_dP_with_K,
    &variant_dP_with_K_in_dQ,
    &variant_kv_head_of_dQ,
    &variant_keys_of_row_dropped,
    &variant_lse_in_base_2,
    &variant_mask_of_keys,
    &variant_dK_scaled_twice,
    &variant_dQ_scaled_twice,
    &variant_top_left_as_bottom_right,
    &variant_bottom_right_as_top_left,
    &variant_no_D_in_dQ,
    &variant_no_D_in_dK,
    &variant_unscaled_scores_in_dQ,
    &variant_unscaled_scores_in_dK,
    &variant_D_of_first_batch,
    &variant_D_of_last_batch,
    &variant_D_of_first_batch_in_dK,
    &variant_D_of_last_batch_in_dK,
    &variant_D_of_Q,
    &variant_dK_of_K,
    &variant_dQ_of_Q,
    &variant_queries_from_j,
    NULL,
};
