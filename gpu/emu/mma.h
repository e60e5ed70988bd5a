/* The emulator's side of mma.h. What it does is in matrix.c and copies.c. */
#ifndef TANDEM_GPU_EMU_MMA_H
#define TANDEM_GPU_EMU_MMA_H

#include "../gpu.h"

/* By value, so that a thread's arrays stay its own, and the compiler need not report what it does with them. */
struct td_emulated_a {
    uint32_t x[4];
};
struct td_emulated_b {
    uint32_t x[2];
};
struct td_emulated_c {
    float x[4];
};

extern "C" {
td_emulated_c td_emulated_mma(td_emulated_c c, td_emulated_a a, td_emulated_b b, bool half, int line);
td_emulated_a td_emulated_ldmatrix(const void *row, bool transposed, int line);
void td_emulated_copies_commit(void);
}

template <typename T>
static __forceinline__ void td_mma(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                                   int line = __builtin_LINE()) {
    static_assert(__is_same(T, td_bf16) || __is_same(T, td_fp16), "elements of 16 bits");
    td_emulated_c sum =
        td_emulated_mma({c[0], c[1], c[2], c[3]}, {a[0], a[1], a[2], a[3]}, {b[0], b[1]}, __is_same(T, td_fp16), line);
    for (int i = 0; i < 4; i++) c[i] = sum.x[i];
}

static __forceinline__ void td_ldmatrix4(uint32_t (&r)[4], const void *row, int line = __builtin_LINE()) {
    td_emulated_a got = td_emulated_ldmatrix(row, false, line);
    for (int i = 0; i < 4; i++) r[i] = got.x[i];
}
static __forceinline__ void td_ldmatrix4_transposed(uint32_t (&r)[4], const void *row, int line = __builtin_LINE()) {
    td_emulated_a got = td_emulated_ldmatrix(row, true, line);
    for (int i = 0; i < 4; i++) r[i] = got.x[i];
}

template <typename T> static __forceinline__ uint32_t td_pack(float low, float high);
template <> __forceinline__ uint32_t td_pack<td_bf16>(float low, float high) {
    return td_f32_to_bf16(low) | (uint32_t)td_f32_to_bf16(high) << 16;
}
template <> __forceinline__ uint32_t td_pack<td_fp16>(float low, float high) {
    return td_f32_to_fp16(low) | (uint32_t)td_f32_to_fp16(high) << 16;
}

static __forceinline__ void td_copy16_async(void *shared, const void *global, bool inside) {
    td_emulated_copy(shared, global, 16, inside, "td_copy16_async");
}
static __forceinline__ void td_copies_commit(void) {
    td_emulated_copies_commit();
}
template <int N> static __forceinline__ void td_copies_wait_but(void) {
    td_emulated_copies_land(N);
}

#endif
