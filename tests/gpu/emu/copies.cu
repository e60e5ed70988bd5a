/* Copies to shared memory that nobody waited for in time, each with its repaired twin. */
#include "faults.h"

enum { N = 64 };

template <bool wrong> __global__ void copy_not_waited(const float *x, float *y) {
    __shared__ __align__(16) float tile[4 * N];
    td_copy4_async(tile + 4 * threadIdx.x, x + 4 * threadIdx.x, true);
    if (!wrong) td_copies_wait();
    y[threadIdx.x] = tile[4 * threadIdx.x + 2];
    if (wrong) td_copies_wait();
}

/* A barrier alone shows no copy to others: whose it is waits for it first. */
template <bool wrong> __global__ void copy_of_another(const float *x, float *y) {
    TD_DYNAMIC_SHARED(float, tile);
    td_copy1_async(tile + threadIdx.x, x + threadIdx.x, threadIdx.x % 2);
    if (!wrong) td_copies_wait();
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x ^ 33];
    if (wrong) td_copies_wait();
}

/* The next piece is on its way to where the current one is still to be read. */
template <bool wrong> __global__ void copy_next_too_early(const float *x, float *y) {
    __shared__ float tile[2][N];
    float sum = 0;
    td_copy1_async(tile[0] + threadIdx.x, x + threadIdx.x, true);
    for (int i = 0; i < 3; i++) {
        td_copies_wait();
        if (i < 2) td_copy1_async(tile[wrong ? 0 : (i + 1) % 2] + threadIdx.x, x + (i + 1) * N + threadIdx.x, true);
        sum += tile[i % 2][threadIdx.x];
    }
    y[blockIdx.x * N + threadIdx.x] = sum;
}

template <bool wrong> __global__ void copy_overwritten(const float *x, float *y) {
    __shared__ float tile[N];
    td_copy1_async(tile + threadIdx.x, x + threadIdx.x, true);
    if (!wrong) td_copies_wait();
    if (threadIdx.x == 40) tile[threadIdx.x] = 0;
    td_copies_wait();
    y[threadIdx.x] = tile[threadIdx.x];
}

template <bool wrong> __global__ void copy_twice(const float *x, float *y) {
    __shared__ float tile[N];
    td_copy1_async(tile + threadIdx.x, x + threadIdx.x, true);
    if (!wrong) td_copies_wait();
    td_copy1_async(tile + threadIdx.x, x + N + threadIdx.x, true);
    td_copies_wait();
    y[threadIdx.x] = tile[threadIdx.x];
}

template <bool wrong> __global__ void copy_half_read(const float *x, float *y) {
    __shared__ float tile[N];
    td_copy1_async(tile + threadIdx.x, x + threadIdx.x, true);
    if (!wrong) td_copies_wait();
    y[threadIdx.x] = ((const uint16_t *)(tile + threadIdx.x))[1];
    td_copies_wait();
}

template <bool wrong> __global__ void copy_source_written(const float *, float *y) {
    __shared__ float tile[N];
    y[threadIdx.x] = 1;
    td_copy1_async(tile + threadIdx.x, y + threadIdx.x, true);
    if (!wrong) td_copies_wait();
    y[threadIdx.x] = 2;
    td_copies_wait();
}

template <bool wrong> __global__ void copy_never_waited(const float *x, float *y) {
    __shared__ __align__(16) float tile[4 * N];
    td_copy4_async(tile + 4 * threadIdx.x, x + 4 * threadIdx.x, true);
    y[threadIdx.x] = 1;
    if (!wrong || threadIdx.x != 40) td_copies_wait();
}

template <bool wrong> __global__ void copy_to_global(const float *x, float *y) {
    __shared__ __align__(16) float tile[4 * N];
    td_copy4_async((wrong ? y : tile) + 4 * threadIdx.x, x + 4 * threadIdx.x, true);
    td_copies_wait();
}

extern "C" const td_test_fault td_test_copies[] = {
    TD_FAULT(copy_not_waited, 1, N, 0,
             "<true>, block 0, thread 0: copy in flight: reads 4 bytes at static shared memory + 8 before thread 0 has "
             "waited for its copy there"),
    TD_FAULT(copy_of_another, 1, N, 4 * N,
             "<true>, block 0, thread 0: copy in flight: reads 4 bytes at dynamic shared memory + 132 before thread 33 "
             "has waited for its copy there"),
    TD_FAULT(copy_next_too_early, 2, N, 0,
             "<true>, block 0, thread 0: copy in flight: reads 4 bytes at static shared memory + 0 before thread 0 has "
             "waited for its copy there"),
    TD_FAULT(
        copy_overwritten, 1, N, 0,
        "<true>, block 0, thread 40: copy in flight: writes 4 bytes at static shared memory + 160 before thread 40 "
        "has waited for its copy there"),
    TD_FAULT(
        copy_twice, 1, N, 0,
        "<true>, block 0, thread 0: copy in flight: writes 4 bytes at static shared memory + 0 before thread 0 has "
        "waited for its copy there"),
    TD_FAULT(copy_half_read, 1, N, 0,
             "<true>, block 0, thread 0: copy in flight: reads 2 bytes at static shared memory + 2 before thread 0 has "
             "waited for its copy there"),
    TD_FAULT(copy_source_written, 1, N, 0,
             "<true>, block 0, thread 0: copy in flight: its source, buffer of 1024 bytes + 0, was written before the "
             "copy was waited for"),
    TD_FAULT(copy_never_waited, 1, N, 0,
             "<true>, block 0, thread 40: copy in flight: ends with 1 copies not waited for"),
    TD_FAULT(copy_to_global, 1, N, 0, "<true>, block 0, thread 0: td_copy4_async is for shared memory alone"),
    {},
};
