/* mbarriers, named barriers, register reallocation and the fence between ordinary and asynchronous accesses: each
 * function is one PTX instruction (PTX ISA 8.0, sections "Parallel Synchronization" and "Miscellaneous"). Hopper only.
 */
#ifndef TANDEM_GPU_HOPPER_BARRIER_H
#define TANDEM_GPU_HOPPER_BARRIER_H

#include "../gpu.h"

/* An address in shared memory as these instructions take it: 32 bits, an offset into the block's window. */
static __device__ __forceinline__ uint32_t td_shared_address(const void *p) {
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* mbarrier: a phase ends when `arrivals` threads have arrived and all expected bytes have landed; it then begins anew.
 * Phases alternate 0, 1, 0, … */
static __device__ __forceinline__ void td_mbarrier_init(uint64_t *barrier, unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(td_shared_address(barrier)), "r"(arrivals) : "memory");
}

/* Shows initialised barriers to the asynchronous copies; then a __syncthreads shows them to the block. */
static __device__ __forceinline__ void td_mbarrier_init_done(void) {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

static __device__ __forceinline__ void td_mbarrier_arrive(uint64_t *barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(td_shared_address(barrier)) : "memory");
}

/* Arrive, and let the phase wait for `bytes` more that copies will report. */
static __device__ __forceinline__ void td_mbarrier_expect(uint64_t *barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(td_shared_address(barrier)), "r"(bytes)
                 : "memory");
}

/* Until the phase of this parity has ended. On a fresh barrier, parity 1 counts as ended. */
static __device__ __forceinline__ void td_mbarrier_wait(uint64_t *barrier, unsigned parity) {
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra.uni ended;\n"
                 "bra.uni again;\n"
                 "ended:\n"
                 "}" ::"r"(td_shared_address(barrier)),
                 "r"(parity)
                 : "memory");
}

/* Named barriers 1 … 15 (0 is __syncthreads): `threads` of the block, a multiple of 32, sync or arrive. */
static __device__ __forceinline__ void td_named_sync(int name, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(name), "r"(threads) : "memory");
}
static __device__ __forceinline__ void td_named_arrive(int name, int threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(name), "r"(threads) : "memory");
}

/* What this thread wrote to shared memory with ordinary stores is seen by wgmma and by bulk copies that are started
 * after it (and after a barrier, if by others). */
static __device__ __forceinline__ void td_fence_async(void) {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* The same of global memory, in either direction: between bulk copies and what orders them with other blocks' ones. */
static __device__ __forceinline__ void td_fence_async_global(void) {
    asm volatile("fence.proxy.async.global;" ::: "memory");
}

/* A flag in global memory: who reads a value with the one sees all that its writer, before the other, had seen. */
static __device__ __forceinline__ int td_load_acquire(const int *flag) {
    int value;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
    return value;
}
static __device__ __forceinline__ void td_store_release(int *flag, int value) {
    asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

/* From here on this warp has COUNT registers a thread: a producer gives some back, consumers take them. All warps of a
 * warpgroup must run it; COUNT is a multiple of 8, 24 … 256. */
template <int COUNT> static __device__ __forceinline__ void td_registers_give(void) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}
template <int COUNT> static __device__ __forceinline__ void td_registers_take(void) {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}

#endif
