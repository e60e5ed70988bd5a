/* What the GPU can do, measured: the two lines of its roofline, and the matrix products of the vendor's library. */
#ifndef TANDEM_GPU_CEILINGS_H
#define TANDEM_GPU_CEILINGS_H

#include "tandem/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct td_gpu_ceilings {
    double copy_bytes_per_s,
        read_bytes_per_s;       /* of arrays far beyond the L2 cache: copied (read + written), and read */
    double fma_f32, fma_f64;    /* FLOP/s of multiply-adds in registers, 2 each, on all multiprocessors */
    double gemm_bf16, gemm_f32; /* FLOP/s of an 8192³ product by cuBLAS of normal deviates (zeros draw less power and
                                 * run faster): bf16 accumulated in float32, and float32 without TF32 */
} td_gpu_ceilings;

/* About a second. Each is the best of several repeats on the device's clock. TD_NO_DEVICE without a GPU. */
td_status td_gpu_ceilings_measure(td_gpu_ceilings *out, td_error *err);

#ifdef __cplusplus
}
#endif
#endif
