/* The GPU's Adam as the harness drives it: beside the fused update of tandem.h, rung 1, and gradients drawn where they
 * are wanted. One row for CUDA, one for the emulator. */
#ifndef TANDEM_GPU_ADAM_RUNGS_H
#define TANDEM_GPU_ADAM_RUNGS_H

#include "tandem/engine.h"
#include "tandem/philox.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct td_adam_rungs {
    /* A launch a slice, on `stream`; returns when all are submitted. */
    td_status (*per_tensor)(const td_adam_slice *slices, int n, const td_adam_call *call, void *stream, td_error *err);
    /* to[i] = td_adam_drawn(step, tensor, i). */
    td_status (*draw)(float *to, int64_t count, uint64_t step, uint64_t tensor, void *stream, td_error *err);
} td_adam_rungs;
extern const td_adam_rungs td_cuda_adam_rungs, td_emulated_adam_rungs;

/* A number in (−½, ½) · 2^−(tensor mod 12), the same on every machine: tensors of a model differ in size as well. */
static inline TD_HD float td_adam_drawn(uint64_t step, uint64_t tensor, uint64_t index) {
    return (float)((td_uniform(step, tensor, index) - 0.5) / (double)(1 << tensor % 12));
}

#ifdef __cplusplus
}
#endif
#endif
