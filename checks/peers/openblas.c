/* OpenBLAS's matrix product, float32 and double, with as many threads as OpenMP would use here. */
#include "../../cpu_ref/gemm/gemm.h"
#include "peers.h"
#include <limits.h>

#ifdef TD_HAVE_OPENBLAS
#include <cblas.h>
#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>
#include <string.h>

/* Opened when it is first asked for: it starts its threads as it is loaded, and a fork waits for them, for ever where
 * they found no memory. */
static struct {
    __typeof__(openblas_set_num_threads) *set_threads;
    __typeof__(openblas_get_corename) *core;
    __typeof__(cblas_sgemm) *sgemm;
    __typeof__(cblas_dgemm) *dgemm;
    char why[200]; /* it cannot be used; "": it can */
} blas;

static void find(void *library, const char *name, void *function) {
    void *found = library ? dlsym(library, name) : NULL;
    if (!found && !blas.why[0]) snprintf(blas.why, sizeof blas.why, "OpenBLAS cannot be opened: %.150s", dlerror());
    memcpy(function, &found, sizeof found);
}

static void open_library(void) {
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library) library = dlopen(TD_OPENBLAS, RTLD_NOW | RTLD_LOCAL);
    find(library, "openblas_set_num_threads", &blas.set_threads);
    find(library, "openblas_get_corename", &blas.core);
    find(library, "cblas_sgemm", &blas.sgemm);
    find(library, "cblas_dgemm", &blas.dgemm);
}

static int is_there(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_library);
    return !blas.why[0];
}

static td_status supports(const td_problem *problem, td_error *why) {
    const td_matrix_problem *p = &problem->matrix;
    int64_t most = p->M > p->N ? p->M : p->N;
    if (!is_there()) return td_fail(why, TD_UNSUPPORTED, "%s", blas.why);
    if (p->K > most) most = p->K;
    if (most <= INT_MAX) return TD_OK;
    return td_fail(why, TD_UNSUPPORTED, "size %lld: OpenBLAS counts rows and columns in 32 bits", (long long)most);
}

/* OpenBLAS takes rows that lie side by side: elements next to each other, a leading dimension of 32 bits. */
static td_status rows(const td_tensor *t, const char *name, td_dtype dtype, blasint *leading, td_error *err) {
    int64_t width = t->size[3] > 1 ? t->size[3] : 1, step = t->size[2] > 1 ? t->stride[2] : width;
    *leading = (blasint)step;
    if (t->dtype != dtype)
        return td_fail(err, TD_UNSUPPORTED, "%s: is %s; this OpenBLAS product is of %s", name, td_dtype_name(t->dtype),
                       td_dtype_name(dtype));
    if ((t->stride[3] != 1 && width > 1) || step < width || step > INT_MAX)
        return td_fail(err, TD_UNSUPPORTED, "%s: strides %lld, %lld; OpenBLAS needs contiguous rows", name,
                       (long long)t->stride[2], (long long)t->stride[3]);
    return TD_OK;
}

static td_status multiply(const td_problem *problem, const td_tensor *t, td_dtype dtype, td_error *err) {
    const td_matrix_problem *p = &problem->matrix;
    blasint M = (blasint)p->M, N = (blasint)p->N, K = (blasint)p->K, lda, ldb, ldc;
    td_status s;
    if (!is_there()) return td_fail(err, TD_UNSUPPORTED, "%s", blas.why);
    if ((s = rows(&t[TD_A], "A", dtype, &lda, err)) || (s = rows(&t[TD_B], "B", dtype, &ldb, err)) ||
        (s = rows(&t[TD_C], "C", dtype, &ldc, err)))
        return s;
    blas.set_threads(omp_get_max_threads());
    if (dtype == TD_F32)
        blas.sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, M, N, K, 1, t[TD_A].data, lda, t[TD_B].data, ldb, 0,
                   t[TD_C].data, ldc);
    else
        blas.dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, M, N, K, 1, t[TD_A].data, lda, t[TD_B].data, ldb, 0,
                   t[TD_C].data, ldc);
    return TD_OK;
}

const char *td_openblas_core(void) {
    return is_there() ? blas.core() : NULL;
}
#else
const char *td_openblas_core(void) {
    return NULL;
}

static td_status supports(const td_problem *problem, td_error *why) {
    (void)problem;
    return td_fail(why, TD_UNSUPPORTED, "built without OpenBLAS");
}

static td_status multiply(const td_problem *problem, const td_tensor *t, td_dtype dtype, td_error *err) {
    (void)t, (void)dtype;
    return supports(problem, err);
}
#endif

static td_status run_f32(const td_problem *problem, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    (void)workspace, (void)stream;
    return multiply(problem, t, TD_F32, err);
}

static td_status run_f64(const td_problem *problem, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    (void)workspace, (void)stream;
    return multiply(problem, t, TD_F64, err);
}

const td_variant td_gemm_openblas_f32 = {
    .name = "gemm_openblas_f32",
    .op = TD_OP_GEMM,
    .backend = TD_CPU,
    .dtype = TD_F32,
    .rounding = {TD_F32, TD_F32, TD_F32, 0},
    .idea = "peer: OpenBLAS sgemm",
    .limits = "contiguous rows; output float32",
    .workspace_tag = TD_MEM_WORKSPACE,
    .supports = supports,
    .workspace_bytes = td_no_workspace,
    .run = run_f32,
    .flops = td_gemm_flops,
    .bytes = td_gemm_bytes_f32,
};

const td_variant td_gemm_openblas_f64 = {
    .name = "gemm_openblas_f64",
    .op = TD_OP_GEMM,
    .backend = TD_CPU,
    .dtype = TD_F64,
    .rounding = {TD_F64, TD_F64, TD_F64, 0},
    .idea = "peer: OpenBLAS dgemm",
    .limits = "contiguous rows; output double",
    .workspace_tag = TD_MEM_WORKSPACE,
    .supports = supports,
    .workspace_bytes = td_no_workspace,
    .run = run_f64,
    .flops = td_gemm_flops,
    .bytes = td_gemm_bytes_f64,
};
