/* Matrix products by cuBLAS, which stores by columns: our row-major C = A B is to it Cᵀ = Bᵀ Aᵀ. float32 factors stay
 * float32 (no TF32). With bf16 factors sums are float32 to the end, also where cuBLAS adds parts of a long sum. */
#include "../blas.h"
#include "internal.h"
#include <limits.h>
#include <stdlib.h>

struct td_products {
    cublasHandle_t blas;
};

td_status TD_GPU(products_new)(td_products **out, void *workspace, size_t bytes, td_error *err) {
    *out = NULL;
    const td_device *device = TD_GPU(device)(err);
    if (!device) return TD_NO_DEVICE;
    td_products *p = (td_products *)calloc(1, sizeof *p);
    if (!p) return td_fail(err, TD_NO_MEMORY, "products: no memory");
    td_status s = td_blas_open(device, &p->blas, err);
    if (!s) s = td_blas_status(cublasSetWorkspace(p->blas, workspace, bytes), "cuBLAS workspace", err);
    cublasMath_t mode = (cublasMath_t)(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
    if (!s) s = td_blas_status(cublasSetMathMode(p->blas, mode), "cuBLAS math mode", err);
    if (s)
        TD_GPU(products_delete)(p);
    else
        *out = p;
    return s;
}

void TD_GPU(products_delete)(td_products *p) {
    if (!p) return;
    if (p->blas) cublasDestroy(p->blas);
    free(p);
}

td_status TD_GPU(product)(td_products *products, const td_product *p, td_error *err) {
    if (p->m == 0 || p->n == 0) return TD_OK;
    if (p->m > INT_MAX || p->n > INT_MAX || p->k > INT_MAX)
        return td_fail(err, TD_UNSUPPORTED, "product (%lld,%lld,%lld): cuBLAS takes at most 2147483647 a side",
                       (long long)p->m, (long long)p->n, (long long)p->k);
    cublasOperation_t a = p->transpose_A ? CUBLAS_OP_T : CUBLAS_OP_N, b = p->transpose_B ? CUBLAS_OP_T : CUBLAS_OP_N;
    int m = (int)p->m, n = (int)p->n, k = (int)p->k, lda = p->transpose_A ? m : k, ldb = p->transpose_B ? k : n;
    if (p->factor == TD_F32)
        return td_blas_status(cublasSgemm(products->blas, b, a, n, m, k, &p->alpha, (const float *)p->B, ldb,
                                          (const float *)p->A, lda, &p->beta, (float *)p->C, n),
                              "float32 product", err);
    cudaDataType_t type = p->dtype == TD_BF16 ? CUDA_R_16BF : CUDA_R_32F;
    return td_blas_status(cublasGemmEx(products->blas, b, a, n, m, k, &p->alpha, p->B, CUDA_R_16BF, ldb, p->A,
                                       CUDA_R_16BF, lda, &p->beta, p->C, type, n, CUBLAS_COMPUTE_32F,
                                       CUBLAS_GEMM_DEFAULT),
                          "bf16 product", err);
}
