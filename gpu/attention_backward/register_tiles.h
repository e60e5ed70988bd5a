/* The three products of rung 4, on tiles in shared memory with sums in registers. A block's threads form a grid of
 * 16×16, and thread (y, x) owns the same share of every result of a kind: rows R y … R y + R − 1, and columns C x … C x
 * + C − 1 or the pieces of 4 columns x, x + 16, … .
 *
 * A multiply-add needs two operands. A thread that owns an r×c piece of the result loads r + c of them for r·c
 * multiply-adds: 4 + 1 for 4 in rung 3, 8 + 8 for 64 here, and four in one access.
 *
 * Rows have no padding: the pieces of 16 bytes are permuted instead. In the n-th run of rows, as many as a thread owns,
 * piece k stands at k XOR (n mod 8). So 8 lanes that read one piece of 8 runs, and 8 that read 8 pieces of one row,
 * both meet all 32 banks; and within a run all addresses are one address and constants.
 *
 * The loops are not unrolled further: instructions have a cache too. With 130 KB of them for a pass through all five
 * products, where this has 50, rung 4, before its copies were asynchronous, reached 28 and 24 TFLOP/s at d 64 and 128
 * instead of 36 and 33. */
#ifndef TANDEM_GPU_ATTENTION_BACKWARD_REGISTER_TILES_H
#define TANDEM_GPU_ATTENTION_BACKWARD_REGISTER_TILES_H

#include "attention_backward.h"

enum { TD_SIDE = 16, TD_REGISTER_THREADS = TD_SIDE * TD_SIDE };

/* The thread's place. A warp covers 4×8 places; lanes 1 apart share y, lanes 2 apart share x: shared memory serves such
 * neighbours, which read the same piece, in one go. */
static __device__ __forceinline__ int td_place_x(void) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    return (lane & 1) | (lane >> 1 & 6) | (warp & 1) << 3;
}
static __device__ __forceinline__ int td_place_y(void) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    return (lane >> 1 & 1) | (lane >> 4) << 1 | (warp >> 1) << 2;
}

/* Where piece k of row r begins in a tile of WIDTH columns and runs of RUN rows. */
template <int WIDTH, int RUN> static __device__ __forceinline__ int td_piece(int r, int k) {
    return r * WIDTH + ((k ^ (r / RUN & 7)) << 2);
}

static __device__ __forceinline__ float td_part(float4 v, int k) {
    return k == 0 ? v.x : k == 1 ? v.y : k == 2 ? v.z : v.w;
}

/* sum[0 … 3] += a · x */
static __device__ __forceinline__ void td_add4(float *sum, float a, float4 x) {
    sum[0] = fmaf(a, x.x, sum[0]);
    sum[1] = fmaf(a, x.y, sum[1]);
    sum[2] = fmaf(a, x.z, sum[2]);
    sum[3] = fmaf(a, x.w, sum[3]);
}

/* sum[r][c] += A[R y + r] · B[C x + c], dot products of rows: S = Q Kᵀ, dP = dO Vᵀ. Runs of R and of C rows. */
template <int WIDTH, int R, int C>
static __device__ __forceinline__ void td_rows_by_rows(float (&sum)[R][C], const float *A, const float *B, int y,
                                                       int x) {
#pragma unroll 2
    for (int k = 0; k < WIDTH / 4; k++) {
        const float *A_k = A + td_piece<WIDTH, R>(R * y, k), *B_k = B + td_piece<WIDTH, C>(C * x, k);
        float4 b[C];
#pragma unroll
        for (int c = 0; c < C; c++) b[c] = td_load4(B_k + c * WIDTH);
#pragma unroll
        for (int r = 0; r < R; r++) {
            float4 a = td_load4(A_k + r * WIDTH);
#pragma unroll
            for (int e = 0; e < 4; e++)
#pragma unroll
                for (int c = 0; c < C; c++) sum[r][c] = fmaf(td_part(a, e), td_part(b[c], e), sum[r][c]);
        }
    }
}

/* sum += Aᵀ B, over rows i of both, in runs of RUN: dV = Pᵀ dO, dK = dSᵀ Q. The thread's rows are the columns
 * 4 (y + 16 g) + 0 … 3 of A, its columns the pieces x + 16 m of B. MASKED: column j of A takes rows i ≥ j − shift
 * alone. */
template <int ROWS, int A_WIDTH, int B_WIDTH, int RUN, bool MASKED, int R, int C>
static __device__ __forceinline__ void td_columns_by_columns(float (&sum)[R][C], const float *A, const float *B, int y,
                                                             int x, int shift) {
#pragma unroll 1
    for (int n = 0; n < ROWS / RUN; n++) {
        const float *A_n = A + td_piece<A_WIDTH, RUN>(RUN * n, y), *B_n = B + td_piece<B_WIDTH, RUN>(RUN * n, x);
#pragma unroll(MASKED ? 1 : RUN)
        for (int u = 0; u < RUN; u++) {
            float4 a[R / 4], b[C / 4];
#pragma unroll
            for (int g = 0; g < R / 4; g++) a[g] = td_load4(A_n + u * A_WIDTH + 4 * TD_SIDE * g);
#pragma unroll
            for (int m = 0; m < C / 4; m++) b[m] = td_load4(B_n + u * B_WIDTH + 4 * TD_SIDE * m);
#pragma unroll
            for (int r = 0; r < R; r++)
                if (!MASKED || 4 * (y + TD_SIDE * (r / 4)) + r % 4 <= RUN * n + u + shift)
#pragma unroll
                    for (int m = 0; m < C / 4; m++) td_add4(&sum[r][4 * m], td_part(a[r / 4], r % 4), b[m]);
        }
    }
}

/* sum += A B: dQ = dS K. The thread's rows are R y + r of A, its columns the pieces x + 16 m of B, whose runs are of
 * RUN rows. MASKED: row i of A takes rows j ≤ i + shift of B alone. */
template <int A_WIDTH, int B_WIDTH, int RUN, bool MASKED, int R, int C>
static __device__ __forceinline__ void td_rows_by_columns(float (&sum)[R][C], const float *A, const float *B, int y,
                                                          int x, int shift) {
#pragma unroll 2
    for (int k = 0; k < A_WIDTH / 4; k++) {
        const float *A_k = A + td_piece<A_WIDTH, R>(R * y, k), *B_k = B + td_piece<B_WIDTH, RUN>(4 * k, x);
        float4 b[4][C / 4];
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int m = 0; m < C / 4; m++) b[j][m] = td_load4(B_k + j * B_WIDTH + 4 * TD_SIDE * m);
#pragma unroll
        for (int r = 0; r < R; r++) {
            float4 a = td_load4(A_k + r * A_WIDTH);
#pragma unroll
            for (int j = 0; j < 4; j++)
                if (!MASKED || 4 * k + j <= R * y + r + shift)
#pragma unroll
                    for (int m = 0; m < C / 4; m++) td_add4(&sum[r][4 * m], td_part(a, j), b[j][m]);
        }
    }
}

#endif
