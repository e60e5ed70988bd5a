/* The CPU variants of attention backward, and what they share.
 *
 * With P = softmax(S) and S = scale · Q Kᵀ as in tandem/attention.h, and dO the gradient of O, for one head:
 *     dV = Pᵀ dO,    dP = dO Vᵀ,    D = rowsum(dO ∘ O),    dS = P ∘ (dP − D),
 *     dQ = scale · dS K,    dK = scale · dSᵀ Q.
 * dK and dV of a key/value head are sums over the query heads that read it. A pair that the mask excludes is left out
 * of every sum by selection, never multiplied by 0: a query without keys has dQ = 0, a key without queries dK = dV = 0,
 * whatever else its row holds. Source: Dao et al. 2022, appendix B.2 (D in the form of equation 4) and B.4. */
#ifndef TANDEM_CPU_ATTENTION_BACKWARD_H
#define TANDEM_CPU_ATTENTION_BACKWARD_H

#include "../attention_forward/attention_forward.h"

extern const td_variant td_attention_backward_dense_f64, td_attention_backward_recompute_f64;
extern const td_variant td_attention_backward_dense_f32, td_attention_backward_dense_bf16,
    td_attention_backward_dense_fp16;
extern const td_variant td_attention_backward_one_pass_f32, td_attention_backward_one_pass_bf16,
    td_attention_backward_one_pass_fp16;
extern const td_variant td_attention_backward_two_pass_f32, td_attention_backward_two_pass_bf16,
    td_attention_backward_two_pass_fp16;

#endif
