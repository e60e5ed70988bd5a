/* Kernels whose requests can be counted by hand; test_counts.c has the formulas. */
#include "counted.h"
#include "mma.h"

enum { T = 32, M = 16 };

template <int stride> __global__ void copy(const float *x, float *y) {
    int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i * stride];
}

__global__ void copy_vectors(const float *x, float *y) {
    int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
    td_store4(y + 4 * i, td_load4(x + 4 * i));
}

__global__ void copy_half_words(const float *x, float *y) {
    int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
    ((uint16_t *)y)[i] = ((const uint16_t *)x)[i];
}

/* By one warp, through shared memory: 16 lanes copy, the others write zeros. */
__global__ void copy_async(const float *x, float *y) {
    __shared__ __align__(16) float tile[4 * T];
    int i = 4 * threadIdx.x, at = blockIdx.x * 4 * T + i;
    td_copy4_async(tile + i, x + at, threadIdx.x < T / 2);
    td_copies_wait();
    __syncwarp();
    td_store4(y + at, td_load4(tile + i));
}

/* Y = Xᵀ, (n, n), a tile of 32 × 32 by 32 × 8 threads. */
template <int pad> __global__ void transpose(const float *x, float *y) {
    __shared__ float tile[T][T + pad];
    int n = gridDim.x * T, row = blockIdx.y * T, column = blockIdx.x * T;
    for (int i = threadIdx.y; i < T; i += blockDim.y) tile[i][threadIdx.x] = x[(row + i) * n + column + threadIdx.x];
    __syncthreads();
    for (int i = threadIdx.y; i < T; i += blockDim.y) y[(column + i) * n + row + threadIdx.x] = tile[threadIdx.x][i];
}

/* Y = X X, (n, n), a tile of 16 × 16 by as many threads. */
__global__ void product(const float *x, float *y) {
    __shared__ float a[M][M], b[M][M];
    int n = gridDim.x * M, row = blockIdx.y * M + threadIdx.y, column = blockIdx.x * M + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += M) {
        a[threadIdx.y][threadIdx.x] = x[row * n + k + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = x[(k + threadIdx.y) * n + column];
        __syncthreads();
        for (int i = 0; i < M; i++) sum += a[threadIdx.y][i] * b[i][threadIdx.x];
        __syncthreads();
    }
    y[row * n + column] = sum;
}

/* A lane reads 16 bytes of a row of its own. */
template <int pad> __global__ void rows_of_vectors(const float *x, float *y) {
    __shared__ __align__(16) float tile[T][T + pad];
    for (int i = 0; i < T; i++) tile[i][threadIdx.x] = x[i * T + threadIdx.x];
    __syncwarp();
    td_store4(y + 4 * threadIdx.x, td_load4(&tile[threadIdx.x][0]));
}

/* Rows of 256 bytes, a piece of 16 bytes a lane, read as four 8×8 matrices: all 8 pieces of a matrix lie in the same
 * banks, unless the places of a row's pieces are exchanged by its number. */
template <bool swizzled> __global__ void matrices(const float *x, float *y) {
    __shared__ __align__(16) float tile[T][64];
    const int lane = threadIdx.x, at = swizzled ? lane % 8 : 0;
    uint32_t r[4];
    td_copy16_async(&tile[lane][4 * at], x + 4 * lane, true);
    td_copies_commit();
    td_copies_wait_but<0>();
    __syncwarp();
    td_ldmatrix4(r, &tile[lane][4 * at]);
    for (int i = 0; i < 4; i++) ((uint32_t *)y)[(blockIdx.x * 4 + i) * T + lane] = r[i];
}

/* Lanes below blockIdx.x pass the loop more often; then all add up. */
__global__ void sum(const float *x, float *y) {
    float part = 0;
    for (int i = 0; i < (threadIdx.x < blockIdx.x ? 3 : 1); i++) part += x[i * 32 + threadIdx.x];
    for (int step = 16; step > 0; step /= 2) part += __shfl_xor_sync(0xffffffffu, part, step);
    if (threadIdx.x < 4) atomicAdd(y, part);
}

/* y[0] as an int, and y[1]: the number of threads; y[4] … y[7]: that, twice, three and four times. */
__global__ void add_ones(float *y) {
    atomicAdd((int *)y, 1);
    atomicAdd(y + 1, 1.0f);
    td_atomic_add4(y + 4, make_float4(1, 2, 3, 4));
}

/* Device memory read by the host: what works here by chance would end the program beside a GPU. */
extern "C" float td_test_host_reads(const float *x) {
    return x[2];
}

extern "C" td_status td_test_counted(td_test_kernel kernel, int blocks, const float *x, float *y, td_error *err) {
    unsigned n = (unsigned)blocks;
    switch (kernel) {
    case TD_COPY: return TD_LAUNCH(err, (copy<1>), n, 64, 0, NULL, x, y);
    case TD_COPY_STRIDED: return TD_LAUNCH(err, (copy<2>), n, 64, 0, NULL, x, y);
    case TD_COPY_VECTORS: return TD_LAUNCH(err, copy_vectors, n, 64, 0, NULL, x, y);
    case TD_COPY_ASYNC: return TD_LAUNCH(err, copy_async, n, T, 0, NULL, x, y);
    case TD_COPY_HALF_WORDS: return TD_LAUNCH(err, copy_half_words, n, 64, 0, NULL, x, y);
    case TD_TRANSPOSE: return TD_LAUNCH(err, (transpose<0>), dim3(n, n), dim3(32, 8), 0, NULL, x, y);
    case TD_TRANSPOSE_PADDED: return TD_LAUNCH(err, (transpose<1>), dim3(n, n), dim3(32, 8), 0, NULL, x, y);
    case TD_PRODUCT: return TD_LAUNCH(err, product, dim3(n, n), dim3(M, M), 0, NULL, x, y);
    case TD_ROWS: return TD_LAUNCH(err, (rows_of_vectors<0>), 1, 32, 0, NULL, x, y);
    case TD_ROWS_PADDED: return TD_LAUNCH(err, (rows_of_vectors<4>), 1, 32, 0, NULL, x, y);
    case TD_MATRICES: return TD_LAUNCH(err, (matrices<false>), n, 32, 0, NULL, x, y);
    case TD_MATRICES_SWIZZLED: return TD_LAUNCH(err, (matrices<true>), n, 32, 0, NULL, x, y);
    case TD_SUM: return td_zero(y, sizeof *y, NULL, err) ? TD_INTERNAL : TD_LAUNCH(err, sum, n, 32, 0, NULL, x, y);
    case TD_ADD:
        return td_zero(y, 8 * sizeof *y, NULL, err) ? TD_INTERNAL : TD_LAUNCH(err, add_ones, n, 64, 0, NULL, y);
    }
    return td_fail(err, TD_INTERNAL, "no such kernel");
}
