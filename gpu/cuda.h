/* The GPU's side of gpu.h: CUDA itself, and checked launches. */
#ifndef TANDEM_GPU_CUDA_H
#define TANDEM_GPU_CUDA_H

#include "cuda/launches.h"
#include "tandem/status.h"
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

#define TD_DYNAMIC_SHARED(type, name)                                                                                  \
    extern __shared__ __align__(16) unsigned char td_dynamic_shared[];                                                 \
    type *name = (type *)td_dynamic_shared

static __device__ __forceinline__ float4 td_load4(const float *p) {
    return *(const float4 *)p;
}

static __device__ __forceinline__ void td_store4(float *p, float4 v) {
    *(float4 *)p = v;
}

/* With 0 bytes to read, a copy writes zeros. */
static __device__ __forceinline__ void td_copy1_async(float *shared, const float *global, bool inside) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"((unsigned)__cvta_generic_to_shared(shared)),
                 "l"(global), "r"(inside ? 4 : 0)
                 : "memory");
}
static __device__ __forceinline__ void td_copy4_async(float *shared, const float *global, bool inside) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((unsigned)__cvta_generic_to_shared(shared)),
                 "l"(global), "r"(inside ? 16 : 0)
                 : "memory");
}
static __device__ __forceinline__ void td_copies_wait(void) {
    asm volatile("cp.async.wait_all;" ::: "memory");
}

static __device__ __forceinline__ void td_atomic_add4(float *p, float4 v) {
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w)
                 : "memory");
}

static __device__ __forceinline__ float td_exp2(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

static __device__ __forceinline__ float td_half_to_float(uint16_t bits) {
    return __half2float(__ushort_as_half(bits));
}

/* TD_OK, or what `what` failed with: TD_NO_MEMORY, TD_NO_DEVICE, else TD_INTERNAL. */
static inline td_status td_cuda_status(cudaError_t error, const char *what, td_error *err) {
    if (error == cudaSuccess) return TD_OK;
    td_status status = error == cudaErrorMemoryAllocation ? TD_NO_MEMORY
                       : error == cudaErrorNoDevice       ? TD_NO_DEVICE
                                                          : TD_INTERNAL;
    return td_fail(err, status, "%s: %s", what, cudaGetErrorString(error));
}

static inline td_status td_zero(void *pointer, size_t bytes, void *stream, td_error *err) {
    return td_cuda_status(cudaMemsetAsync(pointer, 0, bytes, (cudaStream_t)stream), "zero", err);
}

static inline td_status td_copy(void *to, const void *from, size_t bytes, void *stream, td_error *err) {
    return td_cuda_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, (cudaStream_t)stream), "copy",
                          err);
}

/* For the message, should this kernel turn out to have failed. `kernel` must live on. */
extern "C" void td_cuda_launched(const char *kernel);

template <typename... Parameters, typename... Arguments>
td_status td_launch(td_error *err, const char *name, void (*kernel)(Parameters...), dim3 grid, dim3 block,
                    size_t shared_bytes, void *stream, Arguments... arguments) {
    if (grid.x == 0 || grid.y == 0 || grid.z == 0) return TD_OK;
    cudaError_t e = cudaSuccess;
    if (shared_bytes > 48 * 1024)
        e = cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared_bytes);
    if (e == cudaSuccess) {
        td_cuda_launched(name);
        td_cuda_log_launch(name, (const void *)kernel, grid, block, shared_bytes);
        kernel<<<grid, block, shared_bytes, (cudaStream_t)stream>>>(arguments...);
        e = cudaGetLastError();
    }
    return td_cuda_status(e, name, err);
}

#define TD_LAUNCH(err, kernel, ...) td_launch(err, #kernel, kernel, __VA_ARGS__)

#endif
