/* Rung 4: rows of tensors to tiles in shared memory, and sums in registers to outputs. */
#ifndef TANDEM_GPU_ATTENTION_BACKWARD_REGISTER_ROWS_H
#define TANDEM_GPU_ATTENTION_BACKWARD_REGISTER_ROWS_H

#include "register_tiles.h"

/* Start to copy rows first … first + ROWS − 1 of head (b, h) into a tile, with zeros beyond the ends. */
template <int ROWS, int WIDTH, int RUN>
static __device__ __forceinline__ void td_copy_rows(float *tile, const td_tensor &t, bool vectors, int64_t b, int64_t h,
                                                    int64_t first) {
    int d = (int)t.size[3], rows = t.size[2] - first < ROWS ? (int)(t.size[2] - first) : ROWS;
    const float *from = (const float *)t.data + td_offset(&t, b, h, first, 0);
    if (vectors) {
        int k = threadIdx.x % (WIDTH / 4), end = 4 * k < d ? rows : 0;
#pragma unroll 4
        for (int r = threadIdx.x / (WIDTH / 4); r < ROWS; r += TD_REGISTER_THREADS / (WIDTH / 4))
            td_copy4_async(tile + td_piece<WIDTH, RUN>(r, k), from + (r < end ? r * t.stride[2] + 4 * k : 0), r < end);
    } else {
#pragma unroll 1
        for (int e = threadIdx.x; e < ROWS * WIDTH; e += TD_REGISTER_THREADS) {
            int r = e / WIDTH, c = e % WIDTH;
            bool inside = r < rows && c < d;
            td_copy1_async(tile + td_piece<WIDTH, RUN>(r, c / 4) + c % 4,
                           from + (inside ? r * t.stride[2] + c * t.stride[3] : 0), inside);
        }
    }
}

/* Rows of a tile, times `scale`, to an output from row `first` on; nothing if it is not wanted. */
template <int ROWS, int WIDTH, int RUN>
static __device__ __forceinline__ void td_store_rows(const td_tensor &t, const float *tile, float scale, int64_t b,
                                                     int64_t h, int64_t first) {
    if (!t.data) return;
#pragma unroll 1
    for (int e = threadIdx.x; e < ROWS * WIDTH; e += TD_REGISTER_THREADS) {
        int r = e / WIDTH, c = e % WIDTH;
        if (first + r < t.size[2] && c < t.size[3])
            td_set(&t, b, h, first + r, c, scale * tile[td_piece<WIDTH, RUN>(r, c / 4) + c % 4]);
    }
}

/* The thread's sums into a tile. Rows of dK and dV come in fours, 64 apart (see td_columns_by_columns); those of dQ
 * stand together. */
template <int WIDTH, int RUN, bool FOURS, int R, int C>
static __device__ __forceinline__ void td_put_rows(float *tile, const float (&sum)[R][C], int y, int x) {
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
        for (int m = 0; m < C / 4; m++) {
            const float *v = &sum[r][4 * m];
            int row = FOURS ? 4 * (y + TD_SIDE * (r / 4)) + r % 4 : R * y + r;
            td_store4(tile + td_piece<WIDTH, RUN>(row, x + TD_SIDE * m), float4{v[0], v[1], v[2], v[3]});
        }
}

/* to += the thread's rows R y + r of a tile, in a float matrix of `rows` rows of `width`: others add theirs meanwhile.
 */
template <int R, int C>
static __device__ __forceinline__ void td_add_rows(float *to, int width, int64_t rows, const float (&sum)[R][C], int y,
                                                   int x) {
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
        for (int m = 0; m < C / 4; m++) {
            const float *v = &sum[r][4 * m];
            int row = R * y + r, column = 4 * (x + TD_SIDE * m);
            if (row < rows && column < width) td_atomic_add4(to + row * width + column, float4{v[0], v[1], v[2], v[3]});
        }
}

#endif
