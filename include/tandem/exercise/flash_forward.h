/* Exercise of lesson 4: FlashAttention forward as a CUDA kernel. Your file is flash_forward.cu; it includes gpu.h too,
 * which brings CUDA's words, or the emulator's where there is no GPU, and the macro TD_LAUNCH. */
#ifndef TANDEM_EXERCISE_FLASH_FORWARD_H
#define TANDEM_EXERCISE_FLASH_FORWARD_H

#include "../attention.h"
#include "../status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As exercise_online_softmax, but every td_tensor's data is device memory: only kernels may touch it. Work is put on
 * `stream`; returning before it is done is right. No memory is allocated; nothing of size Tq·Tk exists. float32; d ≤
 * 128; problem->block is 0. */
td_status exercise_flash_forward(const td_attention_problem *problem, const td_tensor *Q, const td_tensor *K,
                                 const td_tensor *V, const td_tensor *O, const td_tensor *LSE, void *stream,
                                 td_error *err);

#ifdef __cplusplus
}
#endif
#endif
