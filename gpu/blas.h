/* cuBLAS, or the emulator's stand-in: checked calls, and a handle on the device's stream. */
#ifndef TANDEM_GPU_BLAS_H
#define TANDEM_GPU_BLAS_H

#include "gpu.h"
#ifdef TD_EMULATE
#include "emu/cublas.h"
#else
#include <cublas_v2.h>
#include <cuda_bf16.h>
#endif

static inline td_status td_blas_status(cublasStatus_t status, const char *what, td_error *err) {
    if (status == CUBLAS_STATUS_SUCCESS) return TD_OK;
    return td_fail(err, status == CUBLAS_STATUS_ALLOC_FAILED ? TD_NO_MEMORY : TD_INTERNAL, "%s: %s", what,
                   cublasGetStatusString(status));
}

/* float32 products stay float32: cuBLAS's default mode uses no TF32. */
static inline td_status td_blas_open(const td_device *device, cublasHandle_t *out, td_error *err) {
    td_status status = td_blas_status(cublasCreate(out), "cuBLAS", err);
    return status ? status : td_blas_status(cublasSetStream(*out, (cudaStream_t)device->stream), "cuBLAS stream", err);
}

#endif
