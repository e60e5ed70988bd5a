/* Every CPU variant, in the order of the syllabus. */
#include "attention_forward/attention_forward.h"

const td_variant *const td_cpu_variants[] = {
    &td_attention_forward_dense_f64,       &td_attention_forward_online_f64,
    &td_attention_forward_dense_f32,       &td_attention_forward_online_f32,
    &td_attention_forward_dense_bf16,      &td_attention_forward_online_bf16,
    &td_attention_forward_dense_fp16,      &td_attention_forward_online_fp16,
    &td_attention_forward_online_f32_fast, NULL,
};
