/* Every CPU variant, in the order of the syllabus. */
#include "attention_backward/attention_backward.h"
#include "attention_forward/attention_forward.h"
#include "gelu/gelu.h"
#include "gemm/gemm.h"
#include "softmax/softmax.h"

const td_variant *const td_cpu_variants[] = {
    &td_attention_forward_dense_f64,
    &td_attention_forward_online_f64,
    &td_attention_forward_dense_f32,
    &td_attention_forward_online_f32,
    &td_attention_forward_dense_bf16,
    &td_attention_forward_online_bf16,
    &td_attention_forward_dense_fp16,
    &td_attention_forward_online_fp16,
    &td_attention_forward_online_f32_fast,
    &td_attention_forward_online_keys_outer_f32,
    &td_attention_forward_online_queries_outer_f32,
    &td_attention_backward_dense_f64,
    &td_attention_backward_recompute_f64,
    &td_attention_backward_dense_f32,
    &td_attention_backward_one_pass_f32,
    &td_attention_backward_two_pass_f32,
    &td_attention_backward_dense_bf16,
    &td_attention_backward_one_pass_bf16,
    &td_attention_backward_two_pass_bf16,
    &td_attention_backward_dense_fp16,
    &td_attention_backward_one_pass_fp16,
    &td_attention_backward_two_pass_fp16,
    &td_gemm_naive_f64,
    &td_gemm_naive_f32,
    &td_gemm_blocked_f32,
    &td_softmax_f64,
    &td_softmax_f32,
    &td_softmax_online_f32,
    &td_gelu_f64,
    &td_gelu_f32,
    NULL, /* the last, so that the table keeps a line for each */
};
