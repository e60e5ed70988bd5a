/* The functions of mma.h one at a time, on matrices that lie by rows in memory: what a check needs to see that the
 * fragments are those that mma.h describes, on a GPU and under the emulator alike. */
#ifndef TANDEM_GPU_MMA_LAYOUTS_H
#define TANDEM_GPU_MMA_LAYOUTS_H

#include "tandem/status.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All memory is the device's, all matrices lie by rows, one after the other; elements are bf16 or fp16. A launch each,
 * of a warp a matrix. */
typedef struct td_mma_layouts {
    /* C (n,16,8) += A (n,16,16) B (n,16,8), fragments read and written element by element. */
    td_status (*product)(const uint16_t *A, const uint16_t *B, float *C, int n, void *stream, td_error *err);
    /* O (n,16,16) = round(Q Kᵀ) V, each (n,16,16): through shared memory and td_ldmatrix4, as attention does it. */
    td_status (*attend)(const uint16_t *Q, const uint16_t *K, const uint16_t *V, float *O, int n, void *stream,
                        td_error *err);
    /* packed[i] = td_pack(x[2i], x[2i + 1]), i < 32 n. */
    td_status (*pack)(const float *x, uint32_t *packed, int n, void *stream, td_error *err);
    /* Lane l gives row l of `rows` (32,8) and gets r[l] (32,4); the same transposed. */
    td_status (*load)(const uint16_t *rows, uint32_t *r, int transposed, void *stream, td_error *err);
} td_mma_layouts;

/* [0] bf16, [1] fp16. */
extern const td_mma_layouts td_cuda_mma_layouts[2], td_emulated_mma_layouts[2];

#ifdef __cplusplus
}
#endif
#endif
