/* The tiles of rung 6: rows of 16-bit elements in shared memory, without a gap between them, which copies fill while
 * the warps compute; and the products on them, for a warp that owns M times 16 rows.
 *
 * A row is a sequence of 16-byte pieces. Piece k of row r stands at place k ^ (r mod 8): whether a warp reads the same
 * piece of 8 rows, as ldmatrix does, or 8 pieces of one row, as copies do, it meets all 32 banks. */
#ifndef TANDEM_GPU_ATTENTION_BACKWARD_SWIZZLED_TILES_H
#define TANDEM_GPU_ATTENTION_BACKWARD_SWIZZLED_TILES_H

#include "mma_tiles.h"

/* Where piece k of row r begins in a tile of WIDTH columns. Piece k ^ n begins at that ^ 8 n. */
template <int WIDTH> static __device__ __forceinline__ int td_swizzled(int r, int k) {
    return r * WIDTH + (k ^ (r & 7)) * 8;
}

/* Start to copy rows first … first + ROWS − 1 of head (b, h) to a tile, as td_load_rows; all inputs come in vectors. */
template <typename T, int WIDTH, int ROWS, int THREADS>
static __device__ __forceinline__ void td_copy_tile(T *tile, const td_tensor &t, int64_t b, int64_t h, int64_t first,
                                                    int64_t low, int64_t high) {
    constexpr int PIECES = WIDTH / 8, TOGETHER = THREADS / PIECES;
    static_assert(TOGETHER % 8 == 0 && ROWS % TOGETHER == 0,
                  "a thread's rows are swizzled alike, and all of them exist");
    int k = threadIdx.x % PIECES, r = threadIdx.x / PIECES, d = (int)t.size[3];
    int from = (int)max((int64_t)0, low - first), end = 8 * k < d ? (int)min((int64_t)ROWS, high - first) : from;
    const T *row = (const T *)t.data + td_offset(&t, b, h, first + r, 8 * k);
    T *to = tile + td_swizzled<WIDTH>(r, k);
#pragma unroll
    for (int n = 0; n < ROWS; n += TOGETHER)
        td_copy16_async(to + n * WIDTH, row + n * t.stride[2], r + n >= from && r + n < end);
}

/* Where a lane reads its row of four 8×8 matrices of 16 rows and two pieces: first two one below the other, or side by
 * side. */
template <int WIDTH> static __device__ __forceinline__ int td_lane_below(void) {
    int lane = threadIdx.x % 32;
    return td_swizzled<WIDTH>(lane % 16, lane / 16);
}
template <int WIDTH> static __device__ __forceinline__ int td_lane_beside(void) {
    int lane = threadIdx.x % 32;
    return td_swizzled<WIDTH>(lane % 8 + lane / 16 * 8, lane / 8 % 2);
}

/* C += A Bᵀ, dot products of rows of WIDTH: 16 M rows of A, COLUMNS rows of B. */
template <typename T, int WIDTH, int M, int COLUMNS>
static __device__ __forceinline__ void td_swizzled_by_rows(float (&C)[M][COLUMNS / 8][4], const T *A, const T *B) {
    int below = td_lane_below<WIDTH>(), beside = td_lane_beside<WIDTH>();
#pragma unroll
    for (int k = 0; k < WIDTH; k += 16) {
        uint32_t a[M][4];
#pragma unroll
        for (int m = 0; m < M; m++) td_ldmatrix4(a[m], A + 16 * m * WIDTH + (below ^ k));
#pragma unroll
        for (int n = 0; n < COLUMNS / 16; n++) {
            uint32_t b[4];
            td_ldmatrix4(b, B + 16 * n * WIDTH + (beside ^ k));
            const uint32_t left[2] = {b[0], b[1]}, right[2] = {b[2], b[3]};
#pragma unroll
            for (int m = 0; m < M; m++) {
                td_mma<T>(C[m][2 * n], a[m], left);
                td_mma<T>(C[m][2 * n + 1], a[m], right);
            }
        }
    }
}

/* C += A B: 16 M rows of A, rounded and packed; ROWS rows of B, all WIDTH columns. */
template <typename T, int WIDTH, int M, int ROWS>
static __device__ __forceinline__ void td_packed_by_columns(float (&C)[M][WIDTH / 8][4],
                                                            const uint32_t (&A)[M][ROWS / 16][4], const T *B) {
    int below = td_lane_below<WIDTH>();
#pragma unroll
    for (int k = 0; k < ROWS / 16; k++)
#pragma unroll
        for (int n = 0; n < WIDTH / 16; n++) {
            uint32_t b[4];
            td_ldmatrix4_transposed(b, B + 16 * k * WIDTH + (below ^ 16 * n));
            const uint32_t left[2] = {b[0], b[1]}, right[2] = {b[2], b[3]};
#pragma unroll
            for (int m = 0; m < M; m++) {
                td_mma<T>(C[m][2 * n], A[m][k], left);
                td_mma<T>(C[m][2 * n + 1], A[m][k], right);
            }
        }
}

/* Fragments A of a product, from those that another left. */
template <typename T, int M, int COLUMNS>
static __device__ __forceinline__ void td_pack_fragments(uint32_t (&A)[M][COLUMNS / 16][4],
                                                         const float (&C)[M][COLUMNS / 8][4]) {
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int k = 0; k < COLUMNS / 16; k++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const float(&c)[4] = C[m][2 * k + e / 2];
                A[m][k][e] = td_pack<T>(c[e % 2 * 2], c[e % 2 * 2 + 1]);
            }
}

/* Packed fragments to 16 M rows of a tile, from column 8 k on, a multiple of COLUMNS. */
template <typename T, int WIDTH, int M, int COLUMNS>
static __device__ __forceinline__ void td_put_packed(T *tile, const uint32_t (&A)[M][COLUMNS / 16][4], int k) {
    int place = td_swizzled<WIDTH>(td_fragment_row(), k) + td_fragment_column();
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int n = 0; n < COLUMNS / 16; n++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                *(uint32_t *)(tile + (16 * m + e % 2 * 8) * WIDTH + (place ^ (16 * n + 8 * (e / 2)))) = A[m][n][e];
}

/* C += Aᵀ B: columns `row` … + 16 M − 1 of tile A, of A_WIDTH columns, are the rows; B's columns `column` … + COLUMNS −
 * 1; both multiples of 16. Sums over the ROWS rows of both. */
template <typename T, int A_WIDTH, int B_WIDTH, int ROWS, int M, int COLUMNS>
static __device__ __forceinline__ void td_columns_by_columns_mma(float (&C)[M][COLUMNS / 8][4], const T *A, int row,
                                                                 const T *B, int column) {
    int beside = td_lane_beside<A_WIDTH>() ^ row, below = td_lane_below<B_WIDTH>() ^ column;
#pragma unroll
    for (int i = 0; i < ROWS; i += 16) {
        uint32_t a[M][4];
#pragma unroll
        for (int m = 0; m < M; m++) td_ldmatrix4_transposed(a[m], A + i * A_WIDTH + (beside ^ 16 * m));
#pragma unroll
        for (int n = 0; n < COLUMNS / 16; n++) {
            uint32_t b[4];
            td_ldmatrix4_transposed(b, B + i * B_WIDTH + (below ^ 16 * n));
            const uint32_t left[2] = {b[0], b[1]}, right[2] = {b[2], b[3]};
#pragma unroll
            for (int m = 0; m < M; m++) {
                td_mma<T>(C[m][2 * n], a[m], left);
                td_mma<T>(C[m][2 * n + 1], a[m], right);
            }
        }
    }
}

#endif
