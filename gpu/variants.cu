/* The rungs, in the order of the syllabus; compiled once for the GPU and once for the emulator. */
#include "attention_backward/attention_backward.h"
#include "attention_forward/attention_forward.h"

#ifdef TD_EMULATE
const td_variant *const td_emulated_variants[] = {
#else
const td_variant *const td_cuda_variants[] = {
#endif
    // attention forward: dense, cuBLAS, a warp a query, tiled
    &TD_GPU(attention_forward_dense_f32), &TD_GPU(attention_forward_dense_bf16), &TD_GPU(attention_forward_dense_fp16),
    &TD_GPU(attention_forward_cublas_f32), &TD_GPU(attention_forward_online_warp_f32),
    &TD_GPU(attention_forward_online_warp_bf16), &TD_GPU(attention_forward_online_warp_fp16),
    &TD_GPU(attention_forward_online_tiled_f32), &TD_GPU(attention_forward_online_tiled_bf16),
    &TD_GPU(attention_forward_online_tiled_fp16), &TD_GPU(attention_forward_online_registers_f32),
    // on the matrix units
    &TD_GPU(attention_forward_mma_bf16), &TD_GPU(attention_forward_mma_fp16),
    &TD_GPU(attention_forward_mma_swizzled_bf16), &TD_GPU(attention_forward_mma_swizzled_fp16),
    &TD_GPU(attention_forward_mma_async_bf16), &TD_GPU(attention_forward_mma_async_fp16),
    &TD_GPU(attention_forward_mma_rows_bf16), &TD_GPU(attention_forward_mma_rows_fp16),
#ifndef TD_EMULATE // Hopper's own: wgmma and TMA
    &TD_GPU(attention_forward_wgmma_bf16), &TD_GPU(attention_forward_wgmma_fp16),
    &TD_GPU(attention_forward_specialised_bf16), &TD_GPU(attention_forward_specialised_fp16),
    &TD_GPU(attention_forward_overlapped_bf16), &TD_GPU(attention_forward_overlapped_fp16),
    &TD_GPU(attention_forward_trusting_bf16), &TD_GPU(attention_forward_trusting_fp16),
#endif
    // attention backward: dense, atomics, two passes, tiled for registers
    &TD_GPU(attention_backward_dense_f32), &TD_GPU(attention_backward_dense_bf16),
    &TD_GPU(attention_backward_dense_fp16), &TD_GPU(attention_backward_atomic_f32),
    &TD_GPU(attention_backward_atomic_bf16), &TD_GPU(attention_backward_atomic_fp16),
    &TD_GPU(attention_backward_two_pass_f32), &TD_GPU(attention_backward_two_pass_bf16),
    &TD_GPU(attention_backward_two_pass_fp16), &TD_GPU(attention_backward_registers_f32),
    &TD_GPU(attention_backward_registers_two_pass_f32),
    // on the tensor cores: two passes, one
    &TD_GPU(attention_backward_mma_two_pass_bf16), &TD_GPU(attention_backward_mma_two_pass_fp16),
    &TD_GPU(attention_backward_mma_bf16), &TD_GPU(attention_backward_mma_fp16),
#ifndef TD_EMULATE // Hopper's own: wgmma and TMA
    &TD_GPU(attention_backward_wgmma_bf16), &TD_GPU(attention_backward_wgmma_fp16),
    &TD_GPU(attention_backward_wgmma_ordered_bf16), &TD_GPU(attention_backward_wgmma_ordered_fp16),
#endif
    NULL, // the last
};
