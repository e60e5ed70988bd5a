/* A block's share of attention on the matrix units: S (ROWS,KEYS) = Q Kᵀ and O (ROWS,D) += P V, all four operands in
 * shared memory, S and O in registers, in mma.h's fragments of C.
 *
 * The warps lie DOWN × ACROSS over S and over O alike: a warp has ROWS / DOWN rows, and of these KEYS / ACROSS columns
 * of S and D / ACROSS of O. The more of both, the more products each fragment it loads serves. */
#ifndef TANDEM_GPU_MMA_TILE_H
#define TANDEM_GPU_MMA_TILE_H

#include "../mma.h"
#include "attention_forward.h"

/* D is d rounded up, BLOCKS how many of them a multiprocessor is to hold. */
template <int ROWS_, int KEYS_, int D_, int DOWN_, int ACROSS_, int BLOCKS_, bool SWIZZLED_> struct td_mma_tile {
    static constexpr int ROWS = ROWS_, KEYS = KEYS_, D = D_, DOWN = DOWN_, ACROSS = ACROSS_, BLOCKS = BLOCKS_;
    static constexpr bool SWIZZLED = SWIZZLED_;
    static constexpr int THREADS = 32 * DOWN * ACROSS;
    /* fragments of a warp: 16 rows each, 8 columns each */
    static constexpr int DOWNWARD = ROWS / DOWN / 16, S_WIDE = KEYS / ACROSS / 8, O_WIDE = D / ACROSS / 8;
};

/* Where a warp's part of S and O begins, and in it the first element of this lane. */
struct td_lane {
    int row, key, column, across;
    int g, p;
};

template <typename tile> static __device__ __forceinline__ td_lane td_lane_of(void) {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, across = warp % tile::ACROSS;
    return {warp / tile::ACROSS * (tile::ROWS / tile::DOWN),
            across * (tile::KEYS / tile::ACROSS),
            across * (tile::D / tile::ACROSS),
            across,
            lane / 4,
            lane % 4 * 2};
}

/* Element (row, column) of a tile of Q, K or V. ldmatrix reads 16 bytes of 8 rows at once; a row is a multiple of
 * 128 bytes, all banks, so that all 8 lie in the same 4 banks. SWIZZLED: the pieces of 16 bytes of row r change places,
 * piece k to k ^ (r mod 8): now they lie in 32 banks. */
template <typename tile> static __device__ __forceinline__ int td_at(int row, int column) {
    return row * tile::D + (tile::SWIZZLED ? column / 64 * 64 + (column % 64 ^ row % 8 * 8) : column);
}

/* Rows first … first + LENGTH − 1 of a head to shared memory; zeros beyond d and from row `end` on. EIGHTS: see
 * td_fits_vectors. */
template <typename tile, int LENGTH, typename T>
static __device__ __forceinline__ void td_load_tile(T *to, const T *head, const td_tensor &t, int first, int end, int d,
                                                    bool eights) {
    if (eights) {
        constexpr int STEP = tile::THREADS * 8 / tile::D;
        int r = threadIdx.x / (tile::D / 8), c = threadIdx.x % (tile::D / 8) * 8, there = c < d ? end - first : 0;
        const T *from = head + (int64_t)(first + r) * (int)t.stride[2] + c;
#pragma unroll
        for (int n = 0; n < LENGTH / STEP; n++, r += STEP, from += STEP * (int64_t)(int)t.stride[2]) {
            float4 x = {0, 0, 0, 0};
            if (r < there) x = td_load4((const float *)from);
            td_store4((float *)(to + td_at<tile>(r, c)), x);
        }
    } else {
#pragma unroll 1
        for (int e = threadIdx.x; e < LENGTH * tile::D; e += tile::THREADS) {
            int r = e / tile::D, c = e % tile::D;
            bool there = first + r < end && c < d;
            to[td_at<tile>(r, c)] = there ? head[(first + r) * t.stride[2] + c * t.stride[3]] : T{0};
        }
    }
}

/* The same, started and not awaited; it must fit eights. */
template <typename tile, int LENGTH, typename T>
static __device__ __forceinline__ void td_copy_tile(T *to, const T *head, const td_tensor &t, int first, int end,
                                                    int d) {
    constexpr int STEP = tile::THREADS * 8 / tile::D;
    int r = threadIdx.x / (tile::D / 8), c = threadIdx.x % (tile::D / 8) * 8, there = c < d ? end - first : 0;
    const T *from = head + (int64_t)(first + r) * (int)t.stride[2] + c;
#pragma unroll
    for (int n = 0; n < LENGTH / STEP; n++, r += STEP, from += STEP * (int64_t)(int)t.stride[2])
        td_copy16_async(to + td_at<tile>(r, c), from, r < there);
}

/* This lane's 16 bytes for ldmatrix of the (16,16) elements from (row, column) on, both multiples of 16. Its matrices
 * are their quarters, in the order in which A takes Q's, and B two times two of V's: down, then across. B takes K's, as
 * K lies by columns, across, then down. */
template <typename tile, typename T>
static __device__ __forceinline__ const T *td_down(const T *from, int row, int column) {
    int lane = threadIdx.x % 32, own = td_at<tile>(lane % 16, lane / 16 * 8);
    return from + row * tile::D + column / 64 * 64 + (own ^ column % 64);
}
template <typename tile, typename T>
static __device__ __forceinline__ const T *td_across(const T *from, int row, int column) {
    int lane = threadIdx.x % 32, own = td_at<tile>(lane % 8 + lane / 16 * 8, lane / 8 % 2 * 8);
    return from + row * tile::D + column / 64 * 64 + (own ^ column % 64);
}

/* S += Q Kᵀ, 16 of d at a time. */
template <typename tile, typename T>
static __device__ __forceinline__ void td_add_qk(float (&S)[tile::DOWNWARD][tile::S_WIDE][4], const T *Q, const T *K,
                                                 td_lane at) {
#pragma unroll
    for (int k = 0; k < tile::D; k += 16) {
        uint32_t a[tile::DOWNWARD][4], r[4];
#pragma unroll
        for (int i = 0; i < tile::DOWNWARD; i++) td_ldmatrix4(a[i], td_down<tile>(Q, at.row + 16 * i, k));
#pragma unroll
        for (int j = 0; j < tile::S_WIDE; j += 2) {
            td_ldmatrix4(r, td_across<tile>(K, at.key + 8 * j, k));
            uint32_t left[2] = {r[0], r[1]}, right[2] = {r[2], r[3]};
#pragma unroll
            for (int i = 0; i < tile::DOWNWARD; i++)
                td_mma<T>(S[i][j], a[i], left), td_mma<T>(S[i][j + 1], a[i], right);
        }
    }
}

/* O += P V for the 16 keys from k on; a: these columns of P. */
template <typename tile, typename T>
static __device__ __forceinline__ void td_add_pv(float (&O)[tile::DOWNWARD][tile::O_WIDE][4],
                                                 const uint32_t (&a)[tile::DOWNWARD][4], const T *V, int k,
                                                 td_lane at) {
#pragma unroll
    for (int j = 0; j < tile::O_WIDE; j += 2) {
        uint32_t r[4];
        td_ldmatrix4_transposed(r, td_down<tile>(V, k, at.column + 8 * j));
        uint32_t left[2] = {r[0], r[1]}, right[2] = {r[2], r[3]};
#pragma unroll
        for (int i = 0; i < tile::DOWNWARD; i++) td_mma<T>(O[i][j], a[i], left), td_mma<T>(O[i][j + 1], a[i], right);
    }
}

#endif
