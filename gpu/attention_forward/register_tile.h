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

/* Lanes lie 4 down and 8 across, two rows of lanes at a time, so that lanes served together ask for few addresses. */
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

/* A lies in shared memory by columns, so that a thread's rows are neighbours: element (row, k) at k·td_left(ROWS) +
 * row. The 4 more keep lanes that write one row, 4 columns apart, from all meeting in the same banks. */
static __device__ __forceinline__ constexpr int td_left(int rows) {
    return rows + 4;
}

static __device__ __forceinline__ void td_eight(float x[SIDE], const float *p, int step) {
    float4 first = td_load4(p), second = td_load4(p + step);
    x[0] = first.x, x[1] = first.y, x[2] = first.z, x[3] = first.w;
    x[4] = second.x, x[5] = second.y, x[6] = second.z, x[7] = second.w;
}

/* What a thread multiplies for one k: 8 elements of A's column and 8 of B's row. A and B point at its own first ones.
 */
struct td_operands {
    float a[SIDE], b[SIDE];
};

template <int ROWS, int D>
static __device__ __forceinline__ void td_load_operands(td_operands &x, const float *A, const float *B, int k) {
    td_eight(x.a, A + k * td_left(ROWS), 16);
    td_eight(x.b, B + k * D, 32);
}

/* C += A B. The operands of k = 0 are there already, and the next ones always on their way. Snake-wise, so that each
 * multiplication shares an operand with the one before it: one read of the register file less. UNROLL: the loop must
 * come out of the instruction cache at an instruction a clock. */
template <int ROWS, int D, int UNROLL>
static __device__ __forceinline__ void td_product(float C[SIDE][SIDE], const td_operands &operands, const float *A,
                                                  const float *B) {
    td_operands x[2] = {operands};
#pragma unroll UNROLL
    for (int k = 0; k < CHUNK; k++) {
        const td_operands &now = x[k % 2];
        if (k + 1 < CHUNK) td_load_operands<ROWS, D>(x[1 - k % 2], A, B, k + 1);
#pragma unroll
        for (int j = 0; j < SIDE; j++)
#pragma unroll
            for (int n = 0; n < SIDE; n++) {
                int i = j % 2 ? SIDE - 1 - n : n;
                C[i][j] = fmaf(now.a[i], now.b[j], C[i][j]);
            }
    }
}

/* The same for A's columns below limit + r in row r. The others are left out by selection: 0·NaN is NaN. */
template <int ROWS, int D>
static __device__ __forceinline__ void td_product_below(float C[SIDE][SIDE], const float *A, const float *B,
                                                        td_place at, int limit) {
#pragma unroll 2
    for (int k = 0; k < CHUNK; k++) {
        td_operands x;
        td_load_operands<ROWS, D>(x, A, B, k);
#pragma unroll
        for (int i = 0; i < SIDE; i++)
            if (k < limit + td_row_of(at, i))
#pragma unroll
                for (int j = 0; j < SIDE; j++) C[i][j] = fmaf(x.a[i], x.b[j], C[i][j]);
    }
}

/* Elements c … c + 3 of a row. VECTOR: they are neighbours, at an address that 16 divides, and all there; otherwise
 * zeros from d on. */
template <bool VECTOR> static __device__ __forceinline__ float4 td_four(const float *row, int64_t step, int c, int d) {
    if (VECTOR) return td_load4(row + c);
    float4 x = {0, 0, 0, 0};
    if (c < d) x.x = row[c * step];
    if (c + 1 < d) x.y = row[(c + 1) * step];
    if (c + 2 < d) x.z = row[(c + 2) * step];
    if (c + 3 < d) x.w = row[(c + 3) * step];
    return x;
}

#endif
