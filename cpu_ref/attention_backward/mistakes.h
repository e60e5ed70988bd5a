/* The deliberate mistakes of attention backward: which there are. */
#ifndef TANDEM_CPU_ATTENTION_BACKWARD_MISTAKES_H
#define TANDEM_CPU_ATTENTION_BACKWARD_MISTAKES_H

#include "attention_backward.h"

typedef enum td_backward_mistake {
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
    dK_overwritten,
    /* and those that serve to name what a submission did wrong */
    own_scale,
    dV_scaled,
    dK_not_scaled,
    K_by_columns,
    D_without_O,
    D_of_first_head,
    dK_of_dO,
    dQ_of_V,
    first_kv_head,
    first_of_group,
    group_mean,
    always_causal,
    mask_by_block,
    mask_upper,
    shift_sign,
    mask_of_dQ,
    last_key_dropped,
    first_batch,
    first_head,
    empty_rows_unwritten,
    unread_keys_unwritten,
    queries_unwritten,
    keys_unwritten,
    dQ_not_written,
    dK_not_written,
    dV_not_written,
    D_of_O_and_O,
    dP_with_K,
    dP_with_K_in_dQ,
    kv_head_of_dQ,
    keys_of_row_dropped,
    lse_in_base_2,
    mask_of_keys,
    dK_scaled_twice,
    dQ_scaled_twice,
    top_left_as_bottom_right,
    bottom_right_as_top_left,
    no_D_in_dQ,
    no_D_in_dK,
    no_mistake /* of a pass that is right */
} td_backward_mistake;

/* Backward with that mistake. What it does not write keeps what it held. D has room for td_mistaken_bytes. */
td_status td_backward_mistaken(const td_problem *problem, const td_tensor *tensors, double *D,
                               td_backward_mistake kind);
size_t td_mistaken_bytes(const td_problem *problem);

#endif
