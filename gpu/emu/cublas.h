/* The names of cuBLAS that rungs use, over the emulator's memory. A product is one plain loop in float32; no counts are
 * kept of it, since what cuBLAS loads is its own affair. */
#ifndef TANDEM_GPU_EMU_CUBLAS_H
#define TANDEM_GPU_EMU_CUBLAS_H

#include "cuda.h"

typedef void *cublasHandle_t;
typedef void *cudaStream_t;
typedef enum { CUBLAS_OP_N, CUBLAS_OP_T } cublasOperation_t;
typedef enum { CUBLAS_DEFAULT_MATH = 0, CUBLAS_PEDANTIC_MATH = 2 } cublasMath_t;
typedef enum {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_EXECUTION_FAILED = 13
} cublasStatus_t;

/* C[b] (m,n) = alpha · A'[b] (m,k) B'[b] (k,n) + beta · C[b], column by column; A' is A, or its transpose if
 * `transpose_a`. 0, or -1 if it would read what nobody wrote or touch what is in no buffer. */
extern "C" int td_emulated_gemm(bool transpose_a, bool transpose_b, int m, int n, int k, float alpha, const float *A,
                                int lda, int64_t step_a, const float *B, int ldb, int64_t step_b, float beta, float *C,
                                int ldc, int64_t step_c, int batches);

static inline cublasStatus_t cublasCreate(cublasHandle_t *handle) {
    *handle = handle;
    return CUBLAS_STATUS_SUCCESS;
}
static inline cublasStatus_t cublasDestroy(cublasHandle_t) {
    return CUBLAS_STATUS_SUCCESS;
}
static inline cublasStatus_t cublasSetStream(cublasHandle_t, cudaStream_t) {
    return CUBLAS_STATUS_SUCCESS;
}
static inline cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) {
    return CUBLAS_STATUS_SUCCESS;
}
static inline const char *cublasGetStatusString(cublasStatus_t status) {
    return status == CUBLAS_STATUS_SUCCESS         ? "success"
           : status == CUBLAS_STATUS_INVALID_VALUE ? "invalid value"
                                                   : "reads what nobody wrote, or touches what is in no buffer";
}

static inline cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t, cublasOperation_t a, cublasOperation_t b, int m,
                                                       int n, int k, const float *alpha, const float *A, int lda,
                                                       long long step_a, const float *B, int ldb, long long step_b,
                                                       const float *beta, float *C, int ldc, long long step_c,
                                                       int batches) {
    bool ta = a == CUBLAS_OP_T, tb = b == CUBLAS_OP_T;
    if (m < 0 || n < 0 || k < 0 || batches < 0 || lda < max(1, ta ? k : m) || ldb < max(1, tb ? n : k) ||
        ldc < max(1, m))
        return CUBLAS_STATUS_INVALID_VALUE;
    int failed =
        td_emulated_gemm(ta, tb, m, n, k, *alpha, A, lda, step_a, B, ldb, step_b, *beta, C, ldc, step_c, batches);
    return failed ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

#endif
