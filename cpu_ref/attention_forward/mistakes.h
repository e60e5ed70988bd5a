/* The deliberate mistakes of attention forward: which there are. */
#ifndef TANDEM_CPU_ATTENTION_FORWARD_MISTAKES_H
#define TANDEM_CPU_ATTENTION_FORWARD_MISTAKES_H

#include "attention_forward.h"

typedef enum td_mistake {
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
    lse_is_maximum,
    /* and those that lesson 3 does not show */
    own_scale,
    scale_twice,
    K_by_columns,
    V_by_columns,
    base_2,
    always_causal,
    mask_by_block,
    mask_upper,
    shift_sign,
    last_key_dropped,
    tail_repeated,
    l_unmasked,
    l_unmasked_in_block,
    l_overwritten,
    accumulator_overwritten,
    alpha_late,
    alpha_inverted,
    maximum_from_0,
    first_maximum,
    normalised_by_block,
    first_kv_head,
    kv_of_first_batch,
    first_batch,
    first_head,
    queries_dropped,
    empty_rows_unwritten,
    lse_of_empty_rows_0,
    lse_log2_of_l,
    O_not_written,
    lse_not_written,
    top_left_as_bottom_right,
    bottom_right_as_top_left,
    tail_of_row_dropped,
    lse_minus,
    l_counts_first_key_twice,
    weights_from_old_maximum,
    V_of_first_block,
    first_64_columns,
    falling_maximum,
    accumulator_not_cleared,
    empty_rows_0_by_0,
    empty_rows_of_0
} td_mistake;

/* Attention with that mistake. What it does not write keeps what it held. */
td_status td_attend_mistaken(const td_problem *problem, const td_tensor *tensors, td_mistake kind);

#endif
