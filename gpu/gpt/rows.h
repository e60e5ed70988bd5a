/* What the GPT's kernels share: a few neighbouring elements at a time, sums over a warp, sums over the rows of a
 * matrix. */
#ifndef TANDEM_GPU_GPT_ROWS_H
#define TANDEM_GPU_GPT_ROWS_H

#include "../gpu.h"
#include "layers.h"

/* W elements at p, 4 or 1, as floats; 4 of them begin at a multiple of their size. */
template <int W> struct td_few { float x[W]; };

static __device__ __forceinline__ void td_get(const float *p, td_few<1> &v) {
    v.x[0] = *p;
}
static __device__ __forceinline__ void td_get(const float *p, td_few<4> &v) {
    float4 q = td_load4(p);
    v.x[0] = q.x, v.x[1] = q.y, v.x[2] = q.z, v.x[3] = q.w;
}
static __device__ __forceinline__ void td_put(float *p, const td_few<1> &v) {
    *p = v.x[0];
}
static __device__ __forceinline__ void td_put(float *p, const td_few<4> &v) {
    td_store4(p, make_float4(v.x[0], v.x[1], v.x[2], v.x[3]));
}

/* Two words of two bf16 each: one access of 8 bytes to nvcc. */
struct __align__(8) td_two_words {
    uint32_t low, high;
};

static __device__ __forceinline__ void td_get(const td_bf16 *p, td_few<1> &v) {
    v.x[0] = td_float(*p);
}
static __device__ __forceinline__ void td_get(const td_bf16 *p, td_few<4> &v) {
    td_two_words w = *(const td_two_words *)p;
    v.x[0] = td_f32_from_bits(w.low << 16), v.x[1] = td_f32_from_bits(w.low & 0xffff0000u);
    v.x[2] = td_f32_from_bits(w.high << 16), v.x[3] = td_f32_from_bits(w.high & 0xffff0000u);
}
static __device__ __forceinline__ void td_put(td_bf16 *p, const td_few<1> &v) {
    p->bits = td_f32_to_bf16(v.x[0]);
}
static __device__ __forceinline__ uint32_t td_word(float low, float high) {
    return td_f32_to_bf16(low) | (uint32_t)td_f32_to_bf16(high) << 16;
}
static __device__ __forceinline__ void td_put(td_bf16 *p, const td_few<4> &v) {
    *(td_two_words *)p = {td_word(v.x[0], v.x[1]), td_word(v.x[2], v.x[3])};
}

/* May rows of C elements be read four at a time? NULL fits. */
static inline bool td_in_fours(int64_t C, const void *a, const void *b, const void *c, const void *d) {
    uintptr_t together = (uintptr_t)a | (uintptr_t)b | (uintptr_t)c | (uintptr_t)d;
    return C % 4 == 0 && together % 16 == 0;
}

static __device__ __forceinline__ float td_warp_sum(float x) {
#pragma unroll
    for (int k = 16; k > 0; k /= 2) x += __shfl_xor_sync(0xffffffffu, x, k);
    return x;
}

static inline dim3 td_blocks(int64_t count, int64_t each) {
    return dim3((unsigned)((count + each - 1) / each));
}

/* Sums over all rows of a matrix: a block owns `columns` neighbouring columns, and its threads take their rows in turn.
 * One block sums a column, so that the order is fixed, and there is no second stage. Few columns, 32 bytes of a row,
 * make blocks enough for the device where a matrix is narrow. */
static constexpr int TD_COLUMN_THREADS = 1024;

/* The total of a column of the block's, in the first `columns` threads; every thread brings its part. */
static __device__ __forceinline__ float td_column_total(float *room, float mine, int columns) {
    int t = threadIdx.x;
    room[t] = mine;
    __syncthreads();
    for (int half = TD_COLUMN_THREADS / 2; half >= columns; half /= 2) {
        if (t < half) room[t] += room[t + half];
        __syncthreads();
    }
    float total = room[t % columns];
    __syncthreads(); /* the room may be used again */
    return total;
}

#endif
