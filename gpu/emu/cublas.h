/* The names of cuBLAS that rungs use, over the emulator's memory. A product is one plain loop in float32; no counts are
 * kept of it, since what cuBLAS loads is its own affair. */
#ifndef TANDEM_GPU_EMU_CUBLAS_H
#define TANDEM_GPU_EMU_CUBLAS_H

#include "cuda.h"

typedef void *cublasHandle_t;
typedef void *cudaStream_t;
typedef enum { CUBLAS_OP_N, CUBLAS_OP_T } cublasOperation_t;
typedef enum {
    CUBLAS_DEFAULT_MATH = 0,
    CUBLAS_PEDANTIC_MATH = 2,
    CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16
} cublasMath_t;
typedef enum { CUDA_R_32F = 0, CUDA_R_16BF = 14 } cudaDataType_t;
typedef enum { CUBLAS_COMPUTE_32F = 68 } cublasComputeType_t;
typedef enum { CUBLAS_GEMM_DEFAULT = -1 } cublasGemmAlgo_t;
typedef enum {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_EXECUTION_FAILED = 13
} cublasStatus_t;

/* A matrix of each batch, `step` elements apart: by columns, `lead` elements from one to the next. */
typedef struct td_emulated_matrix {
    const void *data;
    int64_t lead, step;
    bool transposed, bf16; /* bf16, or else float32 */
} td_emulated_matrix;

/* C[b] (m,n) = alpha · A'[b] (m,k) B'[b] (k,n) + beta · C[b], in float32, rounded once to C's type; A' is A, or its
 * transpose. 0, or -1 if it would read what nobody wrote or touch what is in no buffer. */
extern "C" int td_emulated_gemm(int m, int n, int k, float alpha, const td_emulated_matrix *A,
                                const td_emulated_matrix *B, float beta, const td_emulated_matrix *C, int batches);

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
static inline cublasStatus_t cublasSetWorkspace(cublasHandle_t, void *, size_t) {
    return CUBLAS_STATUS_SUCCESS;
}
static inline const char *cublasGetStatusString(cublasStatus_t status) {
    return status == CUBLAS_STATUS_SUCCESS         ? "success"
           : status == CUBLAS_STATUS_INVALID_VALUE ? "invalid value"
                                                   : "reads what nobody wrote, or touches what is in no buffer";
}

static inline cublasStatus_t td_emulated_product(int m, int n, int k, float alpha, td_emulated_matrix A,
                                                 td_emulated_matrix B, float beta, td_emulated_matrix C, int batches) {
    if (m < 0 || n < 0 || k < 0 || batches < 0 || A.lead < max(1, A.transposed ? k : m) ||
        B.lead < max(1, B.transposed ? n : k) || C.lead < max(1, m))
        return CUBLAS_STATUS_INVALID_VALUE;
    return td_emulated_gemm(m, n, k, alpha, &A, &B, beta, &C, batches) ? CUBLAS_STATUS_EXECUTION_FAILED
                                                                       : CUBLAS_STATUS_SUCCESS;
}

static inline cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t, cublasOperation_t a, cublasOperation_t b, int m,
                                                       int n, int k, const float *alpha, const float *A, int lda,
                                                       long long step_a, const float *B, int ldb, long long step_b,
                                                       const float *beta, float *C, int ldc, long long step_c,
                                                       int batches) {
    return td_emulated_product(m, n, k, *alpha, {A, lda, step_a, a == CUBLAS_OP_T, false},
                               {B, ldb, step_b, b == CUBLAS_OP_T, false}, *beta, {C, ldc, step_c, false, false},
                               batches);
}

static inline cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t a, cublasOperation_t b, int m, int n,
                                         int k, const float *alpha, const float *A, int lda, const float *B, int ldb,
                                         const float *beta, float *C, int ldc) {
    return cublasSgemmStridedBatched(handle, a, b, m, n, k, alpha, A, lda, 0, B, ldb, 0, beta, C, ldc, 0, 1);
}

static inline cublasStatus_t cublasGemmEx(cublasHandle_t, cublasOperation_t a, cublasOperation_t b, int m, int n, int k,
                                          const void *alpha, const void *A, cudaDataType_t type_a, int lda,
                                          const void *B, cudaDataType_t type_b, int ldb, const void *beta, void *C,
                                          cudaDataType_t type_c, int ldc, cublasComputeType_t, cublasGemmAlgo_t) {
    return td_emulated_product(m, n, k, *(const float *)alpha, {A, lda, 0, a == CUBLAS_OP_T, type_a == CUDA_R_16BF},
                               {B, ldb, 0, b == CUBLAS_OP_T, type_b == CUDA_R_16BF}, *(const float *)beta,
                               {C, ldc, 0, false, type_c == CUDA_R_16BF}, 1);
}

#endif
