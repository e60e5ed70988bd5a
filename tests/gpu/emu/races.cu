/* Races, each with its repaired twin: `wrong` is all that tells them apart. */
#include "faults.h"

enum { N = 64 };

/* Each thread reads what its neighbour wrote to shared memory. */
template <bool wrong> __global__ void race_shared(const float *, float *y) {
    __shared__ float tile[N];
    tile[threadIdx.x] = threadIdx.x;
    if (!wrong) __syncthreads();
    y[threadIdx.x] = tile[(threadIdx.x + 1) % N];
}

/* The next value is written while slower threads may still read the last one. */
template <bool wrong> __global__ void race_overwrite(const float *, float *y) {
    __shared__ float tile[N];
    float sum = 0;
    for (int step = 0; step < 2; step++) {
        tile[threadIdx.x] = step;
        __syncthreads();
        sum += tile[N - 1 - threadIdx.x];
        if (!wrong) __syncthreads();
    }
    y[threadIdx.x] = sum;
}

/* The same through global memory, which a block may use to talk to itself. */
template <bool wrong> __global__ void race_global(const float *, float *y) {
    y[threadIdx.x] = 1;
    if (!wrong) __syncthreads();
    if (threadIdx.x == 40) y[40] += y[3];
}

/* Lanes do not run in step unless they are told to. */
template <bool wrong> __global__ void race_warp(const float *, float *y) {
    TD_DYNAMIC_SHARED(float, tile);
    tile[threadIdx.x] = threadIdx.x;
    if (!wrong) __syncwarp();
    y[threadIdx.x] = tile[threadIdx.x ^ 1];
}

/* Half a warp meets; the other half knows nothing of it. */
template <bool wrong> __global__ void race_half_warp(const float *, float *y) {
    __shared__ float tile[32];
    unsigned half = threadIdx.x < 16 ? 0x0000ffffu : 0xffff0000u;
    tile[threadIdx.x] = threadIdx.x;
    __syncwarp(half);
    y[threadIdx.x] = tile[threadIdx.x ^ (wrong ? 16 : 1)];
}

/* Lane 0 may write once lane 2 has read; that lane 1 has, too, it does not know. `tile`: shared, or global memory. */
template <bool wrong> static __device__ void readers(float *tile, float *y) {
    int lane = threadIdx.x;
    if (lane == 3) tile[0] = 1;
    __syncthreads();
    float seen = tile[0];
    if (lane == 0 || lane == 2) __syncwarp(0x5);
    if (!wrong) __syncwarp();
    if (lane == 0) tile[0] = 2;
    y[lane + 1] = seen;
}

template <bool wrong> __global__ void race_readers(const float *, float *y) {
    __shared__ float tile[1];
    readers<wrong>(tile, y);
}

template <bool wrong> __global__ void race_readers_global(const float *, float *y) {
    readers<wrong>(y, y);
}

/* Lane 1 meets lane 0 and then lane 2, so that lane 2 knows what lane 0 did; not if it meets them the other way round.
 */
template <bool wrong> __global__ void race_chain(const float *, float *y) {
    __shared__ float value;
    int lane = threadIdx.x;
    if (lane == 0) value = 3;
    if (wrong && (lane == 1 || lane == 2)) __syncwarp(0x6);
    if (lane == 0 || lane == 1) __syncwarp(0x3);
    if (!wrong && (lane == 1 || lane == 2)) __syncwarp(0x6);
    if (lane == 2) y[2] = value;
}

/* What all have read, one writes anew. */
template <bool wrong> __global__ void race_after_read(const float *, float *y) {
    __shared__ float value;
    if (threadIdx.x == 0) value = 1;
    __syncthreads();
    y[threadIdx.x] = value;
    if (!wrong) __syncthreads();
    if (threadIdx.x == 40) value = 2;
}

/* That lane 0 has read its own value does not make it the others'. */
template <bool wrong> __global__ void race_own_read(const float *, float *y) {
    TD_DYNAMIC_SHARED(float, tile);
    if (threadIdx.x == 0) {
        tile[0] = 1;
        y[0] = tile[0];
    }
    if (!wrong) __syncwarp();
    if (threadIdx.x > 0) y[threadIdx.x] = tile[0];
}

/* No barrier holds between blocks. */
template <bool wrong> __global__ void race_blocks(const float *, float *y) {
    if (threadIdx.x == 5) y[wrong ? 0 : blockIdx.x] = blockIdx.x;
}

/* What is added up atomically is complete only after a barrier. */
template <bool wrong> __global__ void race_atomic(const float *, float *y) {
    __shared__ float sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, 1.0f);
    if (!wrong) __syncthreads();
    y[threadIdx.x] = sum;
}

/* Who sets a sum to 0 must be done before others add to it. */
template <bool wrong> __global__ void race_first_value(const float *, float *y) {
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    if (!wrong) __syncthreads();
    atomicAdd(&sum, 1);
    __syncthreads();
    y[threadIdx.x] = sum;
}

/* Half words in shared memory, block after block. */
template <bool wrong> __global__ void race_shared_half_words(const float *, float *y) {
    __shared__ uint16_t tile[N];
    tile[threadIdx.x] = 1;
    if (!wrong) __syncthreads();
    y[blockIdx.x * N + threadIdx.x] = tile[threadIdx.x ^ 33];
}

/* A word that one thread writes, and half of it that another reads. */
template <bool wrong> __global__ void race_half_of_a_word(const float *, float *y) {
    __shared__ float tile[N];
    tile[threadIdx.x] = 1;
    if (!wrong) __syncthreads();
    if (threadIdx.x == 50) y[0] = ((const uint16_t *)tile)[2 * 7 + 1];
}

/* Two neighbours in one word: each its own half, or both the same. */
template <bool wrong> __global__ void race_half_words(const float *, float *y) {
    uint16_t *half = (uint16_t *)y;
    half[wrong && threadIdx.x == 9 ? 8 : threadIdx.x] = 1;
}

extern "C" const td_test_fault td_test_races[] = {
    TD_FAULT(race_shared, 1, N, 0,
             "<true>, block 0, thread 1: race: its write at static shared memory + 4 and the read of thread 0 have no "
             "barrier between"),
    TD_FAULT(race_overwrite, 1, N, 0,
             "<true>, block 0, thread 32: race: its read at static shared memory + 124 and the write of thread 31 have "
             "no barrier between"),
    TD_FAULT(race_global, 1, N, 0,
             "<true>, block 0, thread 40: race: its read at buffer of 1024 bytes + 12 and the write of thread 3 have "
             "no barrier between"),
    TD_FAULT(race_warp, 1, 32, 128,
             "<true>, block 0, thread 1: race: its write at dynamic shared memory + 4 and the read of thread 0 have no "
             "barrier between"),
    TD_FAULT(race_half_warp, 1, 32, 0,
             "<true>, block 0, thread 16: race: its write at static shared memory + 64 and the read of thread 0 have "
             "no barrier between"),
    TD_FAULT(race_blocks, 6, 32, 0,
             "<true>, block 1, thread 5: race: its write at buffer of 1024 bytes + 0 and the write of block 0, thread "
             "5 have no barrier between"),
    TD_FAULT(race_readers, 1, 32, 0,
             "<true>, block 0, thread 0: race: its write at static shared memory + 0 and the read of thread 1 have no "
             "barrier between"),
    TD_FAULT(race_readers_global, 1, 32, 0,
             "<true>, block 0, thread 0: race: its write at buffer of 1024 bytes + 0 and the read of thread 1 have no "
             "barrier between"),
    TD_FAULT(race_chain, 1, 32, 0,
             "<true>, block 0, thread 2: race: its read at static shared memory + 0 and the write of thread 0 have no "
             "barrier between"),
    TD_FAULT(race_after_read, 1, N, 0,
             "<true>, block 0, thread 40: race: its write at static shared memory + 0 and the read of several threads "
             "have no barrier between"),
    TD_FAULT(race_own_read, 1, 32, 4,
             "<true>, block 0, thread 1: race: its read at dynamic shared memory + 0 and the write of thread 0 have no "
             "barrier between"),
    TD_FAULT(race_first_value, 1, N, 0,
             "<true>, block 0, thread 1: race: its atomic operation at static shared memory + 0 and the write of "
             "thread 0 have no barrier between"),
    TD_FAULT(race_shared_half_words, 4, N, 0,
             "<true>, block 0, thread 32: race: its write at static shared memory + 64 and the read of thread 1 have "
             "no barrier between"),
    TD_FAULT(race_half_of_a_word, 1, N, 0,
             "<true>, block 0, thread 50: race: its read at static shared memory + 30 and the write of thread 7 have "
             "no barrier between"),
    TD_FAULT(race_atomic, 1, 64, 0,
             "<true>, block 0, thread 1: race: its atomic operation at static shared memory + 0 and the read of thread "
             "0 have no barrier between"),
    TD_FAULT(race_half_words, 1, 64, 0,
             "<true>, block 0, thread 9: race: its write at buffer of 1024 bytes + 16 and the write of thread 8 have "
             "no barrier between"),
    {},
};
