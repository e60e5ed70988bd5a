/* Exercise of lesson 5: attention backward from LSE, P recomputed block by block. Your files are flash_backward.c (on
 * the CPU) and flash_backward.cu (kernels; it includes gpu.h too). Each has checks of its own. */
#ifndef TANDEM_EXERCISE_FLASH_BACKWARD_H
#define TANDEM_EXERCISE_FLASH_BACKWARD_H

#include "../attention.h"
#include "../status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* dQ (B,Hq,Tq,d), dK and dV (B,Hkv,Tk,d) of Σ dO ∘ O, from Q, K, V, forward's O and LSE, and dO (B,Hq,Tq,d). `t` is
 * indexed by TD_Q, TD_K, TD_V, TD_O, TD_LSE, TD_DO (inputs), TD_DQ, TD_DK, TD_DV (outputs); all float32, each with its
 * own strides. The gradients of K and V are sums over the query heads that read them. Rows without a key have dQ = 0,
 * keys that no query reads have dK = dV = 0. Memory of your own stays below O(Tq·Tk); the same input gives the same
 * bits in every run. Returns TD_OK. */
td_status exercise_flash_backward(const td_attention_problem *problem, const td_tensor *t, td_error *err);

/* The same as kernels: data is device memory, work is put on `stream`. `D` has room for B·Hq·Tq floats of device
 * memory, holding garbage. d ≤ 128; tiles are yours, whatever problem->block says. */
td_status exercise_flash_backward_kernels(const td_attention_problem *problem, const td_tensor *t, float *D,
                                          void *stream, td_error *err);

#ifdef __cplusplus
}
#endif
#endif
