/* The GPU's ceilings: memory that moves, multiply-adds that stay in registers, and cuBLAS's matrix products. */
#include "../blas.h"
#include "../ceilings.h"
#include "tandem/philox.h"

enum { REPEATS = 8, TOGETHER = 4, SIDE = 8192, CHAINS = 16, ROUNDS = 4096, BLOCK = 256 };
static const size_t array_bytes = (size_t)1 << 30; /* 17 times the L2 cache of an H200 */

/* a ← a·x + y on 16 chains that do not wait for each other: 32 FLOPs a round and thread. */
template <typename real> static __global__ void multiply_add(real *out, real x, real y) {
    real a[CHAINS];
#pragma unroll
    for (int k = 0; k < CHAINS; k++) a[k] = (real)(threadIdx.x + k);
#pragma unroll 1
    for (int r = 0; r < ROUNDS; r += 4)
#pragma unroll
        for (int i = 0; i < 4 * CHAINS; i++) a[i % CHAINS] = fma(a[i % CHAINS], x, y);
#pragma unroll
    for (int k = 1; k < CHAINS; k++) a[0] += a[k];
    if (a[0] == (real)-1) *out = a[0]; /* never so, but the compiler cannot know and drop the work */
}

/* Every element of an array, 16 bytes at a time, four loads in flight. */
static __global__ void read_all(const float4 *from, size_t count, float *out) {
    size_t stride = (size_t)gridDim.x * blockDim.x;
    float sum = 0;
#pragma unroll 4
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += stride) {
        float4 v = from[i];
        sum += v.x + v.y + v.z + v.w;
    }
    if (sum == -1) *out = sum; /* of zeros, never so */
}

template <typename real> static __global__ void draw(real *out, size_t count, uint64_t tensor) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < count) out[i] = (real)(float)td_normal(1, tensor, i);
}

/* What a repeat does, and how much it is. */
typedef struct work {
    const td_device *device;
    cublasHandle_t blas;
    void *a, *b, *c;
} work;

static td_status copy(const work *w, td_error *err) {
    return td_cuda_status(
        cudaMemcpyAsync(w->b, w->a, array_bytes, cudaMemcpyDeviceToDevice, (cudaStream_t)w->device->stream), "copy",
        err);
}

static td_status read(const work *w, td_error *err) {
    return TD_LAUNCH(err, read_all, dim3(16 * w->device->multiprocessors), dim3(BLOCK), 0, w->device->stream,
                     (const float4 *)w->a, array_bytes / sizeof(float4), (float *)w->b);
}

template <typename real> static td_status multiply_adds(const work *w, td_error *err) {
    return TD_LAUNCH(err, multiply_add<real>, dim3(8 * w->device->multiprocessors), dim3(BLOCK), 0, w->device->stream,
                     (real *)w->a, (real)0.999, (real)0.001);
}

static td_status gemm_f32(const work *w, td_error *err) {
    const float one = 1, zero = 0;
    return td_blas_status(cublasSgemm(w->blas, CUBLAS_OP_N, CUBLAS_OP_N, SIDE, SIDE, SIDE, &one, (const float *)w->a,
                                      SIDE, (const float *)w->b, SIDE, &zero, (float *)w->c, SIDE),
                          "float32 product", err);
}

static td_status gemm_bf16(const work *w, td_error *err) {
    const float one = 1, zero = 0;
    return td_blas_status(cublasGemmEx(w->blas, CUBLAS_OP_N, CUBLAS_OP_N, SIDE, SIDE, SIDE, &one, w->a, CUDA_R_16BF,
                                       SIDE, w->b, CUDA_R_16BF, SIDE, &zero, w->c, CUDA_R_16BF, SIDE,
                                       CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                          "bf16 product", err);
}

static double per_run(double seconds, double amount) {
    return amount * (double)TOGETHER / seconds;
}

/* Amount a second of the best repeat, several runs in each: a short one would time its own start. */
static td_status best_rate(td_status (*one)(const work *, td_error *), const work *w, double amount, double *out,
                           td_error *err) {
    td_status status = TD_OK;
    *out = 0;
    for (int repeat = -2; !status && repeat < REPEATS; repeat++) {
        double seconds = 0;
        status = w->device->start(err);
        for (int i = 0; !status && i < TOGETHER; i++) status = one(w, err);
        if (!status) status = w->device->stop(&seconds, err);
        if (!status && repeat >= 0 && per_run(seconds, amount) > *out) *out = per_run(seconds, amount);
    }
    return status;
}

template <typename real> static td_status draw_factors(const work *w, td_error *err) {
    const size_t count = (size_t)SIDE * SIDE;
    td_status s = TD_LAUNCH(err, draw<real>, dim3((unsigned)(count / BLOCK)), dim3(BLOCK), 0, w->device->stream,
                            (real *)w->a, count, (uint64_t)0);
    return s ? s
             : TD_LAUNCH(err, draw<real>, dim3((unsigned)(count / BLOCK)), dim3(BLOCK), 0, w->device->stream,
                         (real *)w->b, count, (uint64_t)1);
}

static td_status measure(const work *w, td_gpu_ceilings *out, td_error *err) {
    const double bytes = (double)array_bytes, side = SIDE, product = 2 * side * side * side;
    const double adds = 2.0 * (double)(CHAINS * ROUNDS) * (double)(8 * BLOCK * w->device->multiprocessors);
    td_status s;
    if ((s = td_zero(w->a, array_bytes, w->device->stream, err))) return s;
    if ((s = best_rate(copy, w, 2 * bytes, &out->copy_bytes_per_s, err))) return s;
    if ((s = best_rate(read, w, bytes, &out->read_bytes_per_s, err))) return s;
    if ((s = best_rate(multiply_adds<float>, w, adds, &out->fma_f32, err))) return s;
    if ((s = best_rate(multiply_adds<double>, w, adds, &out->fma_f64, err))) return s;
    if ((s = draw_factors<float>(w, err))) return s;
    if ((s = best_rate(gemm_f32, w, product, &out->gemm_f32, err))) return s;
    if ((s = draw_factors<__nv_bfloat16>(w, err))) return s;
    return best_rate(gemm_bf16, w, product, &out->gemm_bf16, err);
}

extern "C" td_status td_gpu_ceilings_measure(td_gpu_ceilings *out, td_error *err) {
    memset(out, 0, sizeof *out);
    const td_device *device = td_cuda_device(err);
    if (!device) return TD_NO_DEVICE;
    const td_allocator *allocator = &device->allocator;
    work w = {device, NULL, NULL, NULL, NULL};
    td_status status = td_blas_open(device, &w.blas, err);
    void **array[] = {&w.a, &w.b, &w.c};
    for (int i = 0; !status && i < 3; i++) {
        *array[i] = allocator->alloc(allocator->context, array_bytes, TD_MEM_WORKSPACE);
        if (!*array[i]) status = td_fail(err, TD_NO_MEMORY, "ceilings: no memory for three arrays of 1 GiB on the GPU");
    }
    if (!status) status = measure(&w, out, err);
    for (int i = 0; i < 3; i++)
        if (*array[i]) allocator->free(allocator->context, *array[i]);
    if (w.blas) cublasDestroy(w.blas);
    return status;
}
