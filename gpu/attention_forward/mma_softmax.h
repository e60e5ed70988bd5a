/* From S to P in a warp's fragments: mask, maxima and sums of rows, and P as the left operand of P V. A lane has two
 * rows of each fragment: [i][0] is row 16 i + g of its warp, [i][1] is 8 further down. */
#ifndef TANDEM_GPU_MMA_SOFTMAX_H
#define TANDEM_GPU_MMA_SOFTMAX_H

#include "mma_tile.h"
#include <string.h>

template <typename tile>
static __device__ __forceinline__ void td_scale(float (&S)[tile::DOWNWARD][tile::S_WIDE][4], float scale) {
#pragma unroll
    for (int i = 0; i < tile::DOWNWARD; i++)
#pragma unroll
        for (int j = 0; j < tile::S_WIDE; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) S[i][j][e] *= scale;
}

/* Scores that the mask forbids, or beyond the last key, become −∞: row r has the first limit + r of `keys`. */
template <typename tile>
static __device__ __forceinline__ void td_mask_scores(float (&S)[tile::DOWNWARD][tile::S_WIDE][4], td_lane at, int keys,
                                                      int limit) {
#pragma unroll
    for (int i = 0; i < tile::DOWNWARD; i++)
#pragma unroll
        for (int e = 0; e < 4; e++) {
            int allowed = min(keys, limit + at.row + 16 * i + at.g + e / 2 * 8) - at.key - at.p - e % 2;
#pragma unroll
            for (int j = 0; j < tile::S_WIDE; j++)
                if (8 * j >= allowed) S[i][j][e] = -INFINITY;
        }
}

/* Over the 4 lanes that share rows. */
static __device__ __forceinline__ float td_max_of_quad(float x) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
    return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}
static __device__ __forceinline__ float td_sum_of_quad(float x) {
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

/* l of whole rows, in the warp's columns. */
template <typename tile> static __device__ __forceinline__ void td_sum_rows(float (&l)[tile::DOWNWARD][2]) {
#pragma unroll
    for (int i = 0; i < tile::DOWNWARD; i++)
#pragma unroll
        for (int r = 0; r < 2; r++) l[i][r] = td_sum_of_quad(l[i][r]);
}

/* The largest score of each of this lane's rows, in the warp's columns; NaN loses, and comes back through l. */
template <typename tile>
static __device__ __forceinline__ void td_row_max(float (&most)[tile::DOWNWARD][2],
                                                  const float (&S)[tile::DOWNWARD][tile::S_WIDE][4]) {
#pragma unroll
    for (int i = 0; i < tile::DOWNWARD; i++)
#pragma unroll
        for (int r = 0; r < 2; r++) {
            float x = fmaxf(S[i][0][2 * r], S[i][0][2 * r + 1]);
#pragma unroll
            for (int j = 1; j < tile::S_WIDE; j++) x = fmaxf(x, fmaxf(S[i][j][2 * r], S[i][j][2 * r + 1]));
            most[i][r] = td_max_of_quad(x);
        }
}

/* One number a row: of all warps that share the row they meet in shared memory, `room` (ACROSS,ROWS), and become their
 * maximum, or their sum. */
template <typename tile, bool SUM>
static __device__ __forceinline__ void td_meet(float (&x)[tile::DOWNWARD][2], float *room, td_lane at) {
    float *own = room + at.row + at.g;
#pragma unroll
    for (int i = 0; i < tile::DOWNWARD; i++)
#pragma unroll
        for (int r = 0; r < 2; r++)
            if (at.p == 0) own[at.across * tile::ROWS + 16 * i + 8 * r] = x[i][r];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < tile::DOWNWARD; i++)
#pragma unroll
        for (int r = 0; r < 2; r++) {
            x[i][r] = own[16 * i + 8 * r];
#pragma unroll
            for (int w = 1; w < tile::ACROSS; w++) {
                float other = own[w * tile::ROWS + 16 * i + 8 * r];
                x[i][r] = SUM ? x[i][r] + other : fmaxf(x[i][r], other);
            }
        }
}

/* From S to P in place; m and l (of this lane's keys) follow the new maximum, and alpha is what O is to be multiplied
 * by for that. */
template <typename tile>
static __device__ __forceinline__ void
td_softmax(float (&S)[tile::DOWNWARD][tile::S_WIDE][4], float (&m)[tile::DOWNWARD][2], float (&l)[tile::DOWNWARD][2],
           float (&alpha)[tile::DOWNWARD][2], const float (&most)[tile::DOWNWARD][2]) {
#pragma unroll
    for (int i = 0; i < tile::DOWNWARD; i++)
#pragma unroll
        for (int r = 0; r < 2; r++) {
            float m_new = fmaxf(m[i][r], most[i][r]), shift = td_shift(m_new);
            alpha[i][r] = td_exp2(m[i][r] - shift);
            m[i][r] = m_new, l[i][r] *= alpha[i][r];
#pragma unroll
            for (int j = 0; j < tile::S_WIDE; j++)
#pragma unroll
                for (int e = 2 * r; e < 2 * r + 2; e++) l[i][r] += S[i][j][e] = td_exp2(S[i][j][e] - shift);
        }
}

template <typename tile>
static __device__ __forceinline__ void td_rescale(float (&O)[tile::DOWNWARD][tile::O_WIDE][4],
                                                  const float (&alpha)[tile::DOWNWARD][2]) {
#pragma unroll
    for (int i = 0; i < tile::DOWNWARD; i++)
#pragma unroll
        for (int j = 0; j < tile::O_WIDE; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) O[i][j][e] *= alpha[i][e / 2];
}

/* A (16,16) of P from two neighbouring C of S. */
template <typename T>
static __device__ __forceinline__ void td_pack_a(uint32_t (&a)[4], const float (&left)[4], const float (&right)[4]) {
    a[0] = td_pack<T>(left[0], left[1]), a[1] = td_pack<T>(left[2], left[3]);
    a[2] = td_pack<T>(right[0], right[1]), a[3] = td_pack<T>(right[2], right[3]);
}

/* Of this lane, in the fragment of P at (row, k). */
template <typename tile> static __device__ __forceinline__ int td_fragment(int row, int k) {
    return (row / 16 * (tile::KEYS / 16) + k / 16) * 256 + threadIdx.x % 32 * 8;
}

/* P, rounded, to shared memory, where it is the left operand of all warps that share its rows. A's fragment is what two
 * neighbouring C leave with each lane: fragment by fragment, 16 bytes a lane, P needs no ldmatrix to come back. */
template <typename tile, typename T>
static __device__ __forceinline__ void td_put_p(T *P, const float (&S)[tile::DOWNWARD][tile::S_WIDE][4], td_lane at) {
#pragma unroll
    for (int i = 0; i < tile::DOWNWARD; i++)
#pragma unroll
        for (int j = 0; j < tile::S_WIDE; j += 2) {
            uint32_t a[4];
            float4 bits;
            td_pack_a<T>(a, S[i][j], S[i][j + 1]);
            memcpy(&bits, a, sizeof bits);
            td_store4((float *)(P + td_fragment<tile>(at.row + 16 * i, at.key + 8 * j)), bits);
        }
}
template <typename tile, typename T>
static __device__ __forceinline__ void td_load_p(uint32_t (&a)[4], const T *P, int row, int k) {
    float4 bits = td_load4((const float *)(P + td_fragment<tile>(row, k)));
    memcpy(a, &bits, sizeof bits);
}

/* One tile of keys as rungs 6 to 8 visit it: O, m and l follow. Row r of the block may read the first limit + r of
 * `keys`. */
template <typename tile, typename T>
static __device__ __forceinline__ void
td_visit(float (&O)[tile::DOWNWARD][tile::O_WIDE][4], float (&m)[tile::DOWNWARD][2], float (&l)[tile::DOWNWARD][2],
         const T *Q, const T *K, const T *V, T *P, float *room, td_lane at, float scale, int keys, int limit) {
    float S[tile::DOWNWARD][tile::S_WIDE][4] = {}, most[tile::DOWNWARD][2], alpha[tile::DOWNWARD][2];
    td_add_qk<tile>(S, Q, K, at);
    td_scale<tile>(S, scale);
    if (keys < tile::KEYS || limit + at.row < tile::KEYS) td_mask_scores<tile>(S, at, keys, limit);
    td_row_max<tile>(most, S);
    td_meet<tile, false>(most, room, at);
    td_softmax<tile>(S, m, l, alpha, most);
    td_put_p<tile>(P, S, at);
    __syncthreads();
    td_rescale<tile>(O, alpha);
#pragma unroll
    for (int k = 0; k < tile::KEYS; k += 16) {
        uint32_t a[tile::DOWNWARD][4];
#pragma unroll
        for (int i = 0; i < tile::DOWNWARD; i++) td_load_p<tile>(a[i], P, at.row + 16 * i, k);
        td_add_pv<tile>(O, a, V, k, at);
    }
}

#endif
