/* Products by a warpgroup, 4 warps of which the first one's number is a multiple of 4: C (64,N) += A (64,16) B (16,N),
 * asynchronously, with C in registers, B in shared memory, and A in either (PTX ISA 8.0, section "Asynchronous
 * Warpgroup Level Matrix Multiply-Accumulate Instructions"). Hopper only.
 *
 * C's fragment, of thread t of the warpgroup: c[4 n + 2 i + j] is element (16 (t / 32) + (t % 32) / 4 + 8 i, 8 n + 2 (t
 * % 4) + j). A's, from registers: a[2 k + i], its two halves j = 0 and 1, is element (row as C's, 8 k + 2 (t % 4) + j).
 * So C of one product, rounded and packed two by two, is A of the next: c[8 m … 8 m + 7] for columns 16 m … 16 m + 15.
 *
 * Tiles in shared memory are swizzled over 128 bytes: columns of 64 elements of 16 bits, 128 bytes a row, in which the
 * piece of 16 bytes p of row r stands at p XOR (r mod 8); a wider matrix is several such columns, one after the other.
 * Every column begins at a multiple of 1024 bytes. */
#ifndef TANDEM_GPU_HOPPER_WGMMA_H
#define TANDEM_GPU_HOPPER_WGMMA_H

#include "barrier.h"

/* Before the first wgmma of a group, and when registers that one uses were touched in between. */
static __device__ __forceinline__ void td_wgmma_begin(void) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
static __device__ __forceinline__ void td_wgmma_commit(void) {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/* Until all groups but the last N are done. */
template <int N> static __device__ __forceinline__ void td_wgmma_wait(void) {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
/* Holds the compiler from moving uses of the fragment across this place. */
template <int N> static __device__ __forceinline__ void td_wgmma_hold(float (&c)[N]) {
#pragma unroll
    for (int i = 0; i < N; i++) asm volatile("" : "+f"(c[i])::"memory");
}

/* The descriptor of a swizzled tile (PTX ISA, "Matrix Descriptor Format"): address, the two strides, all in 16 bytes;
 * layout 1 is the swizzle over 128 bytes. Eight rows are 1024 bytes.
 * By rows, K runs along a row: k elements further is address + 2 k bytes within the 64 of a column.
 * By columns, K runs down the rows (B or A transposed): 16 further is address + 2048 bytes; `column_bytes` is how far
 * the next 64 elements of M or N are. */
static __device__ __forceinline__ uint64_t td_descriptor(uint32_t address, uint32_t column_bytes) {
    return (uint64_t)((address & 0x3ffff) >> 4) | (uint64_t)(column_bytes >> 4) << 16 | (uint64_t)(1024 >> 4) << 32 |
           (uint64_t)1 << 62;
}
static __device__ __forceinline__ uint64_t td_descriptor_by_rows(const void *tile) {
    return td_descriptor(td_shared_address(tile), 16);
}
static __device__ __forceinline__ uint64_t td_descriptor_by_columns(const void *tile, uint32_t column_bytes) {
    return td_descriptor(td_shared_address(tile), column_bytes);
}
/* The same, `bytes` further on. */
static __device__ __forceinline__ uint64_t td_descriptor_at(uint64_t descriptor, uint32_t bytes) {
    return descriptor + (bytes >> 4);
}

/* Four 8×8 matrices of 16-bit elements to shared memory, td_ldmatrix4 turned round: matrix m is r[m] of all lanes, lane
 * i gives the address of row i mod 8 of matrix i / 8. A fragment of A is four such matrices: rows 0 … 7 and 8 … 15 of
 * its first 8 columns, then of the others. */
static __device__ __forceinline__ void td_stmatrix4(uint32_t address, const uint32_t (&r)[4]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(r[0]),
                 "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
}

#define TD_F4(i) "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3])
#define TD_F16(i) TD_F4(i), TD_F4(i + 4), TD_F4(i + 8), TD_F4(i + 12)

#define TD_REGISTERS_32 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define TD_OPERANDS_32 TD_F16(0)
#define TD_REGISTERS_64                                                                                                \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, "                  \
    "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define TD_OPERANDS_64 TD_F16(0), TD_F16(16)
#define TD_REGISTERS_96                                                                                                \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, "                  \
    "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, "                  \
    "%40, %41, %42, %43, %44, %45, %46, %47"
#define TD_OPERANDS_96 TD_F16(0), TD_F16(16), TD_F16(32)
#define TD_REGISTERS_128                                                                                               \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, "                  \
    "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, "                  \
    "%40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, "                  \
    "%59, %60, %61, %62, %63"
#define TD_OPERANDS_128 TD_F16(0), TD_F16(16), TD_F16(32), TD_F16(48)
#define TD_REGISTERS_192                                                                                               \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, "                  \
    "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, "                  \
    "%40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, "                  \
    "%59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, "                  \
    "%78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define TD_OPERANDS_192 TD_F16(0), TD_F16(16), TD_F16(32), TD_F16(48), TD_F16(64), TD_F16(80)
#define TD_REGISTERS_256                                                                                               \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, "                  \
    "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, "                  \
    "%40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, "                  \
    "%59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, "                  \
    "%78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, "                  \
    "%97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, "                    \
    "%113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define TD_OPERANDS_256 TD_F16(0), TD_F16(16), TD_F16(32), TD_F16(48), TD_F16(64), TD_F16(80), TD_F16(96), TD_F16(112)

/* One N: both places of A, both types. c, then a's descriptor or 4 registers, b's descriptor, whether to add to what c
 * holds (0: c becomes A B), and whether A and B lie by columns. The arguments after N are the numbers of those
 * operands. */
#define TD_WGMMA(N, SHARED_A, SHARED_B, SHARED_ADD, SHARED_TA, SHARED_TB, A0, A1, A2, A3, B, ADD, TB)                  \
    template <typename T, int TRANSPOSE_A, int TRANSPOSE_B>                                                            \
    static __device__ __forceinline__ void td_wgmma(float(&c)[N / 2], uint64_t a, uint64_t b, int add) {               \
        TD_WGMMA_SHARED(N, td_bf16, "bf16.bf16", SHARED_A, SHARED_B, SHARED_ADD, SHARED_TA, SHARED_TB)                 \
        TD_WGMMA_SHARED(N, td_fp16, "f16.f16", SHARED_A, SHARED_B, SHARED_ADD, SHARED_TA, SHARED_TB)                   \
    }                                                                                                                  \
    template <typename T, int TRANSPOSE_B>                                                                             \
    static __device__ __forceinline__ void td_wgmma(float(&c)[N / 2], const uint32_t(&a)[4], uint64_t b, int add) {    \
        TD_WGMMA_REGISTERS(N, td_bf16, "bf16.bf16", A0, A1, A2, A3, B, ADD, TB)                                        \
        TD_WGMMA_REGISTERS(N, td_fp16, "f16.f16", A0, A1, A2, A3, B, ADD, TB)                                          \
    }
#define TD_WGMMA_SHARED(N, type, TYPES, A, B, ADD, TA, TB)                                                             \
    if (td_same<T, type>)                                                                                              \
        asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" ADD ", 0;\n"                                             \
                     "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPES " {" TD_REGISTERS_##N                     \
                     "}, %" A ", %" B ", add, 1, 1, %" TA ", %" TB ";\n}"                                              \
                     : TD_OPERANDS_##N                                                                                 \
                     : "l"(a), "l"(b), "r"(add), "n"(TRANSPOSE_A), "n"(TRANSPOSE_B));
#define TD_WGMMA_REGISTERS(N, type, TYPES, A0, A1, A2, A3, B, ADD, TB)                                                 \
    if (td_same<T, type>)                                                                                              \
        asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" ADD ", 0;\n"                                             \
                     "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPES " {" TD_REGISTERS_##N                     \
                     "}, {%" A0 ", %" A1 ", %" A2 ", %" A3 "}, %" B ", add, 1, 1, %" TB ";\n}"                         \
                     : TD_OPERANDS_##N                                                                                 \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(TRANSPOSE_B));

template <typename A, typename B> static constexpr bool td_same = false;
template <typename A> static constexpr bool td_same<A, A> = true;

TD_WGMMA(32, "16", "17", "18", "19", "20", "16", "17", "18", "19", "20", "21", "22")
TD_WGMMA(64, "32", "33", "34", "35", "36", "32", "33", "34", "35", "36", "37", "38")
TD_WGMMA(96, "48", "49", "50", "51", "52", "48", "49", "50", "51", "52", "53", "54")
TD_WGMMA(128, "64", "65", "66", "67", "68", "64", "65", "66", "67", "68", "69", "70")
TD_WGMMA(192, "96", "97", "98", "99", "100", "96", "97", "98", "99", "100", "101", "102")
TD_WGMMA(256, "128", "129", "130", "131", "132", "128", "129", "130", "131", "132", "133", "134")

#undef TD_F4
#undef TD_F16
#undef TD_WGMMA
#undef TD_WGMMA_SHARED
#undef TD_WGMMA_REGISTERS
#undef TD_REGISTERS_32
#undef TD_OPERANDS_32
#undef TD_REGISTERS_64
#undef TD_OPERANDS_64
#undef TD_REGISTERS_96
#undef TD_OPERANDS_96
#undef TD_REGISTERS_128
#undef TD_OPERANDS_128
#undef TD_REGISTERS_192
#undef TD_OPERANDS_192
#undef TD_REGISTERS_256
#undef TD_OPERANDS_256

#endif
