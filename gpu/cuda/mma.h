/* The GPU's side of mma.h: each function is one PTX instruction. */
#ifndef TANDEM_GPU_CUDA_MMA_H
#define TANDEM_GPU_CUDA_MMA_H

#include "../gpu.h"

template <typename T>
static __device__ __forceinline__ void td_mma(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]);
#define TD_MMA(T, TYPES)                                                                                               \
    template <>                                                                                                        \
    __device__ __forceinline__ void td_mma<T>(float(&c)[4], const uint32_t(&a)[4], const uint32_t(&b)[2]) {            \
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." TYPES ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "        \
                     "{%8, %9}, {%0, %1, %2, %3};"                                                                     \
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                  \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                              \
    }
TD_MMA(td_bf16, "bf16.bf16")
TD_MMA(td_fp16, "f16.f16")
#undef TD_MMA

static __device__ __forceinline__ void td_ldmatrix4(uint32_t (&r)[4], const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row))
                 : "memory");
}
static __device__ __forceinline__ void td_ldmatrix4_transposed(uint32_t (&r)[4], const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row))
                 : "memory");
}

template <typename T> static __device__ __forceinline__ uint32_t td_pack(float low, float high);
template <> __device__ __forceinline__ uint32_t td_pack<td_bf16>(float low, float high) {
    uint32_t both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}
template <> __device__ __forceinline__ uint32_t td_pack<td_fp16>(float low, float high) {
    uint32_t both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

static __device__ __forceinline__ void td_copy16_async(void *shared, const void *global, bool inside) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((unsigned)__cvta_generic_to_shared(shared)),
                 "l"(global), "r"(inside ? 16 : 0)
                 : "memory");
}
static __device__ __forceinline__ void td_copies_commit(void) {
    asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int N> static __device__ __forceinline__ void td_copies_wait_but(void) {
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

#endif
