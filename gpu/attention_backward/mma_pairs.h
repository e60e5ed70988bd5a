/* Rung 6: what happens to pairs of 16 M keys and QUERIES queries in a warp's registers, between two products. A row is
 * a key. */
#ifndef TANDEM_GPU_ATTENTION_BACKWARD_MMA_PAIRS_H
#define TANDEM_GPU_ATTENTION_BACKWARD_MMA_PAIRS_H

#include "swizzled_tiles.h"

/* P from S, in its place. In base 2 one multiply-add and one exponential; the two constants' rounding costs |LSE| u, no
 * more than S's own, and little beside P's rounding to 16 bits. */
template <int M, int QUERIES>
static __device__ __forceinline__ void td_weigh(float (&x)[M][QUERIES / 8][4], const float *LSE, float scale) {
    const float log2e = 0x1.715476p+0f;
#pragma unroll
    for (int n = 0; n < QUERIES / 8; n++)
#pragma unroll
        for (int e = 0; e < 4; e++) {
            float lse = LSE[8 * n + td_fragment_column() + e % 2] * log2e;
#pragma unroll
            for (int m = 0; m < M; m++) x[m][n][e] = td_exp2(fmaf(x[m][n][e], scale * log2e, -lse));
        }
}

/* −D, with which a sum of dP begins, to be dP − D. */
template <int M, int QUERIES>
static __device__ __forceinline__ void td_begin_dP(float (&x)[M][QUERIES / 8][4], const float *rowsum) {
#pragma unroll
    for (int n = 0; n < QUERIES / 8; n++)
#pragma unroll
        for (int e = 0; e < 4; e++)
#pragma unroll
            for (int m = 0; m < M; m++) x[m][n][e] = -rowsum[8 * n + td_fragment_column() + e % 2];
}

/* 0 where the mask forbids; the first of the warp's keys is `key`, of the queries `query`. */
template <int M, int QUERIES>
static __device__ __forceinline__ void td_drop_pairs(float (&x)[M][QUERIES / 8][4], td_tile_mask mask, int query,
                                                     int key) {
    if (mask.whole) return;
    query += td_fragment_column(), key += td_fragment_row();
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int n = 0; n < QUERIES / 8; n++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                if (!td_may_read(mask, query + 8 * n + e % 2, key + 16 * m + e / 2 * 8)) x[m][n][e] = 0;
}

/* P to another warp and back, dS from it: each lane finds what the same lane left. */
template <int M, int QUERIES>
static __device__ __forceinline__ void td_leave_P(float *room, const float (&x)[M][QUERIES / 8][4]) {
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int n = 0; n < QUERIES / 8; n++)
            td_store4(room + (m * (QUERIES / 8) + n) * 128 + threadIdx.x % 32 * 4,
                      float4{x[m][n][0], x[m][n][1], x[m][n][2], x[m][n][3]});
}
template <int M, int QUERIES>
static __device__ __forceinline__ void td_multiply_by_P(float (&x)[M][QUERIES / 8][4], const float *room) {
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int n = 0; n < QUERIES / 8; n++) {
            float4 p = td_load4(room + (m * (QUERIES / 8) + n) * 128 + threadIdx.x % 32 * 4);
            x[m][n][0] *= p.x, x[m][n][1] *= p.y, x[m][n][2] *= p.z, x[m][n][3] *= p.w;
        }
}

#endif
