/* Products of tiles with the result in registers: C (ROWS,D) += A (ROWS,CHUNK) B (CHUNK,D), A and B in shared memory.
 *
 * A warp owns 32 rows by 64 columns of C, a thread 8 × 8 of them: 16 elements loaded from shared memory serve 64
 * multiplications. Its rows and columns come in fours, so that each load is 16 bytes. */
#ifndef TANDEM_GPU_REGISTER_TILE_H
#define TANDEM_GPU_REGISTER_TILE_H

#include "gpu.h"

enum { SIDE = 8, CHUNK = 16, WARP_ROWS = 32, WARP_COLUMNS = 64 };

/* A thread's elements: rows row + {0 … 3, 16 … 19}, columns column + {0 … 3, 32 … 35}. The warp begins at warp_row. */
struct td_place {
    int warp_row, row, column;
};

/* Lanes lie 4 down and 8 across, in squares of 2 × 2: the 8 that a load serves at once then ask for few addresses. */
template <int D> static __device__ __forceinline__ td_place td_place_of(int thread) {
    constexpr int ACROSS = D / WARP_COLUMNS;
    int warp = thread / 32, lane = thread % 32, warp_row = warp / ACROSS * WARP_ROWS;
    int down = lane % 2 + lane / 16 * 2, across = lane / 2 % 8;
    return {warp_row, warp_row + 4 * down, warp % ACROSS * WARP_COLUMNS + 4 * across};
}

static __device__ __forceinline__ int td_row_of(td_place at, int i) {
    return at.row + i % 4 + i / 4 * 16;
}

static __device__ __forceinline__ int td_column_of(td_place at, int j) {
    return at.column + j % 4 + j / 4 * 32;
}

/* Over the 8 lanes of a warp that share rows. */
static __device__ __forceinline__ float td_max_across(float x) {
#pragma unroll
    for (int lane = 2; lane < 16; lane *= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, lane));
    return x;
}

static __device__ __forceinline__ float td_sum_across(float x) {
#pragma unroll
    for (int lane = 2; lane < 16; lane *= 2) x += __shfl_xor_sync(0xffffffffu, x, lane);
    return x;
}

/* A lies in shared memory by columns, so that a thread's rows are neighbours: element (row, k) at k·ROWS + row. Within
 * each 16 rows the fours trade places with k / 8: lanes that write a row side by side, 4 columns apart, would otherwise
 * all meet in the same banks. */
template <int ROWS> static __device__ __forceinline__ int td_left(int row, int k) {
    return k * ROWS + (row ^ (k / 8 % 4 * 4));
}

static __device__ __forceinline__ void td_eight(float x[SIDE], const float *p, int step) {
    float4 first = td_load4(p), second = td_load4(p + step);
    x[0] = first.x, x[1] = first.y, x[2] = first.z, x[3] = first.w;
    x[4] = second.x, x[5] = second.y, x[6] = second.z, x[7] = second.w;
}

/* C += A B, where A's columns are k0 … k0 + CHUNK − 1 of a larger one. Snake-wise, so that each multiplication shares
 * an operand with the one before it: one read of the register file less. Unrolled by 8 and no more, since the loop must
 * come out of the instruction cache at an instruction a clock. */
template <int ROWS, int D>
static __device__ __forceinline__ void td_product(float C[SIDE][SIDE], const float *A, int k0, const float *B,
                                                  td_place at) {
#pragma unroll 1
    for (int k8 = 0; k8 < CHUNK; k8 += 8) {
        const float *left = A + td_left<ROWS>(at.row, k0 + k8), *right = B + k8 * D + at.column;
#pragma unroll
        for (int k = 0; k < 8; k++) {
            float a[SIDE], b[SIDE];
            td_eight(a, left + k * ROWS, 16);
            td_eight(b, right + k * D, 32);
#pragma unroll
            for (int j = 0; j < SIDE; j++)
#pragma unroll
                for (int n = 0; n < SIDE; n++) {
                    int i = j % 2 ? SIDE - 1 - n : n;
                    C[i][j] = fmaf(a[i], b[j], C[i][j]);
                }
        }
    }
}

/* The same for A's columns below limit + r in row r. The others are left out by selection: 0·NaN is NaN. */
template <int ROWS, int D>
static __device__ __forceinline__ void td_product_below(float C[SIDE][SIDE], const float *A, int k0, const float *B,
                                                        td_place at, int limit) {
#pragma unroll 2
    for (int k = 0; k < CHUNK; k++) {
        float a[SIDE], b[SIDE];
        td_eight(a, A + td_left<ROWS>(at.row, k0 + k), 16);
        td_eight(b, B + k * D + at.column, 32);
#pragma unroll
        for (int i = 0; i < SIDE; i++)
            if (k0 + k < limit + td_row_of(at, i))
#pragma unroll
                for (int j = 0; j < SIDE; j++) C[i][j] = fmaf(a[i], b[j], C[i][j]);
    }
}

/* Elements c … c + 3 of a row, zeros from d on. VECTOR: they are neighbours, at an address that 16 divides. */
template <bool VECTOR> static __device__ __forceinline__ float4 td_four(const float *row, int64_t step, int c, int d) {
    float4 x = {0, 0, 0, 0};
    if (VECTOR) {
        if (c < d) x = td_load4(row + c);
        return x;
    }
    if (c < d) x.x = row[c * step];
    if (c + 1 < d) x.y = row[(c + 1) * step];
    if (c + 2 < d) x.z = row[(c + 2) * step];
    if (c + 3 < d) x.w = row[(c + 3) * step];
    return x;
}

/* Whether every row of a tensor may be read in fours of neighbours. */
static inline bool td_fits_vectors(const td_tensor *t) {
    return t->stride[3] == 1 && t->size[3] % 4 == 0 && t->stride[0] % 4 == 0 && t->stride[1] % 4 == 0 &&
           t->stride[2] % 4 == 0 && (uintptr_t)t->data % 16 == 0;
}

static __device__ __forceinline__ void td_swap(float **x, float **y) {
    float *z = *x;
    *x = *y, *y = z;
}

#endif
