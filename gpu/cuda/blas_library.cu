/* cuBLAS's functions, opened when the first is called. Linked, the library would be loaded and relocated at each start
 * of the program, a tenth of a second of work, for all that never ask for a GPU. */
#include <dlfcn.h>
/* Ours are for this program alone: a process that has cuBLAS, as PyTorch has, keeps its own. */
#pragma GCC visibility push(hidden)
#include <cublas_v2.h>
#pragma GCC visibility pop

#define TD_TEXT_OF(x) #x
#define TD_TEXT(x) TD_TEXT_OF(x)

/* The one that the process has already, or that the loader finds; else the toolkit's that this was built with. */
static void *library(void) {
    static void *const opened = [] {
        void *found = dlopen("libcublas.so." TD_TEXT(CUBLAS_VER_MAJOR), RTLD_NOW | RTLD_LOCAL);
        return found ? found : dlopen(TD_CUBLAS, RTLD_NOW | RTLD_LOCAL);
    }();
    return opened;
}

/* Declared is the function as the header has it; without it the call is refused as cuBLAS refuses where it cannot
 * start.
 */
template <typename Declared> static Declared found(const char *name) {
    void *opened = library();
    return opened ? (Declared)dlsym(opened, name) : (Declared) nullptr;
}

/* The header's own declaration checks the parameters. Without the library the call is refused as cuBLAS refuses where
 * it cannot start. */
#define TD_FORWARD(function, parameters, arguments)                                                                    \
    extern "C" cublasStatus_t function parameters {                                                                    \
        static const auto actual = found<cublasStatus_t(*) parameters>(#function);                                     \
        return actual ? actual arguments : CUBLAS_STATUS_NOT_INITIALIZED;                                              \
    }

TD_FORWARD(cublasCreate_v2, (cublasHandle_t * handle), (handle))
TD_FORWARD(cublasDestroy_v2, (cublasHandle_t handle), (handle))
TD_FORWARD(cublasSetStream_v2, (cublasHandle_t handle, cudaStream_t stream), (handle, stream))
TD_FORWARD(cublasSetMathMode, (cublasHandle_t handle, cublasMath_t mode), (handle, mode))
TD_FORWARD(cublasSetWorkspace_v2, (cublasHandle_t handle, void *workspace, size_t bytes), (handle, workspace, bytes))
TD_FORWARD(cublasSgemm_v2,
           (cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
            const float *alpha, const float *A, int lda, const float *B, int ldb, const float *beta, float *C, int ldc),
           (handle, op_a, op_b, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc))
TD_FORWARD(cublasSgemmStridedBatched,
           (cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
            const float *alpha, const float *A, int lda, long long int step_a, const float *B, int ldb,
            long long int step_b, const float *beta, float *C, int ldc, long long int step_c, int batches),
           (handle, op_a, op_b, m, n, k, alpha, A, lda, step_a, B, ldb, step_b, beta, C, ldc, step_c, batches))
TD_FORWARD(cublasGemmEx,
           (cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
            const void *alpha, const void *A, cudaDataType type_a, int lda, const void *B, cudaDataType type_b, int ldb,
            const void *beta, void *C, cudaDataType type_c, int ldc, cublasComputeType_t compute, cublasGemmAlgo_t how),
           (handle, op_a, op_b, m, n, k, alpha, A, type_a, lda, B, type_b, ldb, beta, C, type_c, ldc, compute, how))

extern "C" const char *cublasGetStatusString(cublasStatus_t status) {
    static const auto actual = found<const char *(*)(cublasStatus_t)>("cublasGetStatusString");
    return actual ? actual(status) : "libcublas.so cannot be opened";
}
