/* What a rung of gpu/ includes, and all that it needs: CUDA's own words under nvcc, the emulator's under a C++ compiler
 * with -DTD_EMULATE, and the few wrappers through which both see the same.
 *
 * A rung stays within this subset, so that its very source also runs with no GPU:
 *   __global__, __device__, __forceinline__, __launch_bounds__, __restrict__, #pragma unroll; __shared__ arrays of
 *   fixed size; gridDim, blockIdx, blockDim, threadIdx, dim3; __syncthreads, __syncwarp; __shfl_sync,
 *   __shfl_xor_sync, __shfl_down_sync; __all_sync, __any_sync, __ballot_sync, __popc; atomicAdd on float and int; fmaf,
 * fmaxf, fminf, fabsf, sqrtf, expf, logf, erff, INFINITY, NAN, isinf, isnan, min, max; and
 * - TD_DYNAMIC_SHARED(float, tile): `tile` points at the block's dynamic shared memory, aligned to 16 bytes
 * - float4 td_load4(const float *), void td_store4(float *, float4): one access of 16 bytes, to an address that is a
 *   multiple of 16. (A plain float4 copy is four accesses to the emulator.)
 * - void td_copy4_async(float *shared, const float *global, bool inside): start to copy 16 bytes to shared memory, or
 *   zeros unless `inside`; td_copy1_async 4 bytes. They land in td_copies_wait() of their thread at the latest; it
 * takes a barrier after that to show them to others.
 * - void td_atomic_add4(float *, float4): four atomicAdd, to global memory, in one access of 16 bytes
 * - float td_exp2(float): 2^x, error below 2 ulp, results below 2^-126 flushed to 0 (ex2.approx.ftz)
 * - td_status TD_LAUNCH(err, kernel, grid, block, shared_bytes, stream, arguments …): launch and check the launch. A
 *   grid of 0 blocks is TD_OK and launches nothing; more shared memory than 48 KiB is asked for. A kernel with template
 *   arguments is written in parentheses: TD_LAUNCH(err, (attend<64>), …).
 * - td_status td_zero(void *pointer, size_t bytes, void *stream, td_error *err): set to 0, in the stream's order
 * - td_status td_copy(void *to, const void *from, size_t bytes, void *stream, td_error *err): from device memory to
 *   device memory, in the stream's order
 *
 * Matrix units are in mma.h, for both backends too; what a Hopper GPU alone has is in hopper.h.
 *
 * Host code of a rung is the same in both too: variants are called TD_GPU(name), their names TD_GPU_NAME("…"). */
#ifndef TANDEM_GPU_H
#define TANDEM_GPU_H

#include "tandem/attention_cost.h"
#include "tandem/device.h"

#ifdef TD_EMULATE
#include "emu/cuda.h"
#define TD_GPU_BACKEND TD_EMULATED
#define TD_GPU_NAME(name) "emu_" name
#define TD_GPU(symbol) td_emulated_##symbol
#else
#include "cuda.h"
#define TD_GPU_BACKEND TD_CUDA
#define TD_GPU_NAME(name) "gpu_" name
#define TD_GPU(symbol) td_cuda_##symbol
#endif

/* Elements of 16 bits; arithmetic on them is in float. */
struct td_bf16 {
    uint16_t bits;
};
struct td_fp16 {
    uint16_t bits;
};

static __device__ __forceinline__ float td_float(float x) {
    return x;
}
static __device__ __forceinline__ float td_float(td_bf16 x) {
    return td_bf16_to_f32(x.bits);
}
static __device__ __forceinline__ float td_float(td_fp16 x) {
    return td_half_to_float(x.bits);
}

#endif
