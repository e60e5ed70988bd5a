/* The tiles of rung 5: rows of 16-bit elements in shared memory, and the two shapes of product that backward is made
 * of, for a warp that owns 16 rows.
 *
 * A tile's rows are 8 elements longer than its width: 8 rows, 16 bytes each, meet all 32 banks. */
#ifndef TANDEM_GPU_ATTENTION_BACKWARD_MMA_TILES_H
#define TANDEM_GPU_ATTENTION_BACKWARD_MMA_TILES_H

#include "../mma.h"
#include "rowsum.h"

/* A warp's rows; a block's; the length of a row of a tile of WIDTH columns. */
enum { TD_WARP_ROWS = 16, TD_MMA_ROWS = 64, TD_MMA_THREADS = TD_MMA_ROWS / TD_WARP_ROWS * 32 };
template <int WIDTH> static constexpr int td_pitch = WIDTH + 8;

/* Which inputs come in vectors. */
struct td_vectors {
    bool Q, K, V, dO;
};
static inline td_vectors td_vectors_of(const td_tensor *t) {
    return {td_in_vectors(&t[TD_Q]), td_in_vectors(&t[TD_K]), td_in_vectors(&t[TD_V]), td_in_vectors(&t[TD_DO])};
}

/* Of the tile of queries i … and keys j …: its query q may read its key k iff k ≤ q + shift, and both are before their
 * ends; whole: all of them may read all. Keys from `end` on are read by none. */
struct td_tile_mask {
    int shift, queries, keys;
    bool whole;
};
template <int QUERIES, int KEYS>
static __device__ __forceinline__ td_tile_mask td_tile_mask_of(int shift, int queries, int keys) {
    return {shift, queries, keys, shift >= KEYS - 1 && queries >= QUERIES && keys >= KEYS};
}
/* The same from 64-bit places, whose differences are clamped. */
template <int QUERIES, int KEYS>
static __device__ __forceinline__ td_tile_mask td_tile_mask_at(const td_backward &w, int64_t i, int64_t j,
                                                               int64_t end) {
    int shift = (int)max(min(i + w.diagonal - j, (int64_t)KEYS), -(int64_t)QUERIES);
    return td_tile_mask_of<QUERIES, KEYS>(shift, (int)min(w.Tq - i, (int64_t)QUERIES),
                                          (int)min(end - j, (int64_t)KEYS));
}
static __device__ __forceinline__ bool td_may_read(td_tile_mask m, int query, int key) {
    return query < m.queries && key < m.keys && key <= query + m.shift;
}

/* Rows first … first + ROWS − 1 of head (b, h) to a tile; zeros beyond column d, and for rows outside low … high − 1,
 * which no pair has a use for: what stands there must not meet a 0. */
template <typename T, int WIDTH, int ROWS>
static __device__ __forceinline__ void td_load_rows(T *tile, const td_tensor &t, bool vectors, int64_t b, int64_t h,
                                                    int64_t first, int64_t low, int64_t high) {
    int d = (int)t.size[3];
    int from = (int)max((int64_t)0, low - first), end = (int)min((int64_t)ROWS, high - first);
    const T *head = (const T *)t.data + td_offset(&t, b, h, first, 0);
    if (vectors) {
        constexpr int PIECES = WIDTH / 8;
#pragma unroll 8
        for (int e = threadIdx.x; e < ROWS * PIECES; e += TD_MMA_THREADS) {
            int r = e / PIECES, c = e % PIECES * 8;
            float4 v = {0, 0, 0, 0};
            if (r >= from && r < end && c < d) v = td_load4((const float *)(head + r * t.stride[2] + c));
            td_store4((float *)(tile + r * td_pitch<WIDTH> + c), v);
        }
    } else {
#pragma unroll 4
        for (int e = threadIdx.x; e < ROWS * WIDTH; e += TD_MMA_THREADS) {
            int r = e / WIDTH, c = e % WIDTH;
            T zero = {0};
            bool inside = r >= from && r < end && c < d;
            tile[r * td_pitch<WIDTH> + c] = inside ? head[r * t.stride[2] + c * t.stride[3]] : zero;
        }
    }
}

/* C += A Bᵀ, dot products of rows: 16 rows of A, COLUMNS rows of B. */
template <typename T, int WIDTH, int COLUMNS>
static __device__ __forceinline__ void td_rows_by_rows(float (&C)[COLUMNS / 8][4], const T *A, const T *B) {
    constexpr int PITCH = td_pitch<WIDTH>;
    int lane = threadIdx.x % 32;
    A += lane % 16 * PITCH + lane / 16 * 8;
    B += (lane % 8 + lane / 16 * 8) * PITCH + lane / 8 % 2 * 8;
#pragma unroll 4
    for (int k = 0; k < WIDTH; k += 16) {
        uint32_t a[4], b[4];
        td_ldmatrix4(a, A + k);
#pragma unroll
        for (int n = 0; n < COLUMNS / 16; n++) {
            td_ldmatrix4(b, B + 16 * n * PITCH + k);
            const uint32_t left[2] = {b[0], b[1]}, right[2] = {b[2], b[3]};
            td_mma<T>(C[2 * n], a, left);
            td_mma<T>(C[2 * n + 1], a, right);
        }
    }
}

/* C += A B: 16 rows of A, which a product left in registers and which are rounded here; ROWS rows of B, of which
 * COLUMNS columns. */
template <typename T, int WIDTH, int ROWS, int COLUMNS>
static __device__ __forceinline__ void td_registers_by_columns(float (&C)[COLUMNS / 8][4],
                                                               const float (&A)[ROWS / 8][4], const T *B) {
    constexpr int PITCH = td_pitch<WIDTH>;
    int lane = threadIdx.x % 32;
    B += lane % 16 * PITCH + lane / 16 * 8;
#pragma unroll
    for (int k = 0; k < ROWS / 16; k++) {
        const float(&low)[4] = A[2 * k], (&high)[4] = A[2 * k + 1];
        const uint32_t a[4] = {td_pack<T>(low[0], low[1]), td_pack<T>(low[2], low[3]), td_pack<T>(high[0], high[1]),
                               td_pack<T>(high[2], high[3])};
#pragma unroll
        for (int n = 0; n < COLUMNS / 16; n++) {
            uint32_t b[4];
            td_ldmatrix4_transposed(b, B + 16 * k * PITCH + 16 * n);
            const uint32_t left[2] = {b[0], b[1]}, right[2] = {b[2], b[3]};
            td_mma<T>(C[2 * n], a, left);
            td_mma<T>(C[2 * n + 1], a, right);
        }
    }
}

/* The lane's elements of a fragment: rows g and g + 8, and in fragment n of a product columns 8 n + p and that + 1. */
static __device__ __forceinline__ int td_fragment_row(void) {
    return threadIdx.x % 32 / 4;
}
static __device__ __forceinline__ int td_fragment_column(void) {
    return threadIdx.x % 4 * 2;
}

/* A block's sums, times `scale`, to rows first … of an output, columns `column` …; nothing if it is not wanted. They
 * pass through shared memory, `room` of ROWS × COLUMNS floats that nobody needs any more. */
template <int COLUMNS>
static __device__ __forceinline__ void td_store_rows(const td_tensor &t, float *room, const float (&C)[COLUMNS / 8][4],
                                                     float scale, int64_t b, int64_t h, int64_t first, int column) {
    int row = threadIdx.x / 32 * TD_WARP_ROWS + td_fragment_row();
    if (!t.data) return;
    __syncthreads();
#pragma unroll
    for (int n = 0; n < COLUMNS / 8; n++)
#pragma unroll
        for (int e = 0; e < 4; e++) room[(row + e / 2 * 8) * COLUMNS + 8 * n + td_fragment_column() + e % 2] = C[n][e];
    __syncthreads();
#pragma unroll 1
    for (int e = threadIdx.x; e < TD_MMA_ROWS * COLUMNS; e += TD_MMA_THREADS) {
        int r = e / COLUMNS, c = column + e % COLUMNS;
        if (first + r < t.size[2] && c < t.size[3]) td_set(&t, b, h, first + r, c, scale * room[e]);
    }
}

#endif
