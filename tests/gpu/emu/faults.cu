/* Accesses, barriers and launches that are wrong in one way each, and their repaired twins: `wrong` is all that tells
 * them apart. */
#include "faults.h"

enum { N = 64 };

template <bool wrong> __global__ void past_end(const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < TD_TEST_FLOATS || wrong) y[i] = x[i];
}

/* Blocks and threads in two dimensions, named as in the source. */
template <bool wrong> __global__ void past_rows(const float *x, float *y) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, i = row * 16 + blockIdx.x * blockDim.x + threadIdx.x;
    if (row < 15 || wrong) y[i] = x[i + 16];
}

template <bool wrong> __global__ void before_start(const float *x, float *y) {
    int i = (int)threadIdx.x - 1;
    if (i >= 0 || wrong) y[threadIdx.x] = x[i];
}

template <bool wrong> __global__ void past_shared(const float *, float *y) {
    TD_DYNAMIC_SHARED(float, tile);
    tile[threadIdx.x + (wrong ? 1 : 0)] = 1;
    y[threadIdx.x] = 1;
}

template <bool wrong> __global__ void past_array(const float *, float *y) {
    __shared__ float tile[2][N];
    int i = threadIdx.x + (wrong ? 1 : 0);
    tile[0][i] = 1;
    y[threadIdx.x] = tile[0][i];
}

/* A pointer to a variable is of use to its own thread alone. */
template <bool wrong> __global__ void others_stack(const float *, float *y) {
    __shared__ float *where[N];
    float mine[2] = {1, 2};
    where[threadIdx.x] = mine;
    __syncthreads();
    y[threadIdx.x] = where[wrong ? threadIdx.x ^ 1 : threadIdx.x][1];
    __syncthreads();
}

/* The host's variables are not the device's. */
static float on_host;
template <bool wrong> __global__ void host_variable(const float *, float *y) {
    if (wrong) on_host += 1;
    y[threadIdx.x] = on_host;
}

/* --- alignment, unwritten bytes --- */

template <bool wrong> __global__ void misaligned(const float *x, float *y) {
    td_store4(y + 4 * threadIdx.x, td_load4(x + 4 * threadIdx.x + (wrong ? 1 : 0)));
}

template <bool wrong> __global__ void misaligned_scalar(const float *x, float *y) {
    y[threadIdx.x] = *(const float *)((const char *)x + 4 * threadIdx.x + (wrong ? 2 : 0));
}

template <bool wrong> __global__ void misaligned_sum(const float *, float *y) {
    if (threadIdx.x < 8) y[threadIdx.x] = 0;
    __syncthreads();
    td_atomic_add4(y + (wrong ? 2 : 4), make_float4(1, 2, 3, 4));
}

/* Four sums at once are for global memory. */
template <bool wrong> __global__ void shared_sum(const float *, float *y) {
    __shared__ __align__(16) float tile[4];
    if (threadIdx.x < 4) y[threadIdx.x] = tile[threadIdx.x] = 0;
    __syncthreads();
    td_atomic_add4(wrong ? tile : y, make_float4(1, 2, 3, 4));
}

template <bool wrong> __global__ void unwritten_global(const float *, float *y) {
    if (!wrong) y[threadIdx.x] = 0;
    y[threadIdx.x] += 1;
}

template <bool wrong> __global__ void unwritten_sum(const float *, float *y) {
    if (!wrong && threadIdx.x == 0) y[0] = 0;
    __syncthreads();
    atomicAdd(y, 1.0f);
}

/* Shared memory is filled up to the tail, and read beyond; what the last block left there is not this block's. */
template <bool wrong> __global__ void unwritten_shared(const float *, float *y) {
    __shared__ float tile[N];
    if (threadIdx.x < N - 3 || blockIdx.x == 0 || !wrong) tile[threadIdx.x] = 1;
    __syncthreads();
    y[blockIdx.x * N + threadIdx.x] = tile[N - 1 - threadIdx.x];
}

/* --- barriers --- */

template <bool wrong> __global__ void barrier_left_out(const float *, float *y) {
    if (wrong && threadIdx.x >= 40) return;
    __syncthreads();
    y[threadIdx.x] = 1;
}

template <bool wrong> __global__ void barrier_elsewhere(const float *, float *y) {
    if (threadIdx.x < 32 || !wrong) {
        __syncthreads();
        y[threadIdx.x] = 1;
    } else {
        __syncthreads();
        y[threadIdx.x] = 2;
    }
}

template <bool wrong> __global__ void lane_left_out(const float *, float *y) {
    if (wrong && threadIdx.x == 17) return;
    y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1.0f, 1);
}

template <bool wrong> __global__ void lane_at_barrier(const float *, float *y) {
    if (wrong && threadIdx.x == 33) __syncthreads();
    y[threadIdx.x] = __any_sync(0xffffffffu, threadIdx.x == 3);
    if (!wrong || threadIdx.x != 33) __syncthreads();
}

template <bool wrong> __global__ void mask_without_itself(const float *, float *y) {
    y[threadIdx.x] = __ballot_sync(wrong ? 0x0000fff0u : 0xffffffffu, 1);
}

template <bool wrong> __global__ void source_outside_mask(const float *, float *y) {
    if (threadIdx.x < 16) y[threadIdx.x] = __shfl_sync(0xffffu, (float)threadIdx.x, wrong ? 16 : 15);
}

/* To wait for another thread without a barrier is to hope that it runs meanwhile. */
template <bool wrong> __global__ void wait_in_a_loop(const float *, float *y) {
    volatile float *flag = y;
    if (threadIdx.x == 0) *flag = 0;
    __syncthreads();
    if (threadIdx.x == 0 && wrong)
        while (*flag == 0) continue;
    __syncthreads();
    if (threadIdx.x == 1) *flag = 1;
}

/* The same operation for all, but not the same call. */
template <bool wrong> __global__ void warp_elsewhere(const float *, float *y) {
    if (threadIdx.x < 16 || !wrong)
        y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1.0f, 1);
    else
        y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1.0f, 1);
}

template <bool wrong> __global__ void warp_other_operation(const float *, float *y) {
    y[threadIdx.x] = 1;
    if (threadIdx.x < 16 || !wrong)
        y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1.0f, 1);
    else
        __syncwarp();
}

template <bool wrong> __global__ void warp_masks(const float *, float *y) {
    unsigned mask = threadIdx.x < 16 || !wrong ? 0xffffffffu : 0xffff0001u;
    y[threadIdx.x] = __ballot_sync(mask, 1);
}

/* Several blocks go wrong, and the lowest is named: though block 0 takes longer than the others, or block 1 does. */
template <bool wrong> __global__ void slow_block_0(const float *x, float *y) {
    for (int i = 0; i < (blockIdx.x == 0 ? 3000 : 1); i++) __syncthreads();
    y[blockIdx.x * 32 + threadIdx.x] = x[threadIdx.x + (wrong ? TD_TEST_FLOATS : 0)];
}

template <bool wrong> __global__ void slow_block_1(const float *x, float *y) {
    for (int i = 0; i < (blockIdx.x == 1 ? 3000 : 1); i++) __syncthreads();
    y[blockIdx.x * 32 + threadIdx.x] = x[threadIdx.x + (wrong ? TD_TEST_FLOATS : 0)];
}

/* Neither the line nor the operation tells these barriers apart. */
template <bool wrong> __global__ void barrier_same_line(const float *, float *y) {
    y[threadIdx.x] = 1;
    // clang-format off
    if (threadIdx.x < 32 || !wrong) __syncthreads(); else __syncthreads();
    // clang-format on
}

template <bool wrong> __global__ void barriers_without_end(const float *, float *y) {
    __shared__ int done;
    if (threadIdx.x == 0) done = 0;
    for (int i = 0;; i++) {
        __syncthreads();
        if (done) break;
        __syncthreads();
        if (!wrong && threadIdx.x == 0 && i == 9) done = 1;
    }
    y[threadIdx.x] = 1;
}

template <bool wrong> __global__ void votes_without_end(const float *, float *y) {
    for (int i = 0; !__any_sync(1, !wrong && i == 9); i++) continue;
    y[threadIdx.x] = 1;
}

/* --- limits --- */

/* A thread may have 512 KiB of its own. */
template <bool wrong> __global__ void large_local(const float *, float *y) {
    float mine[wrong ? 160 * 1024 : 100 * 1024], *volatile first = mine;
    first[0] = 1;
    y[threadIdx.x] = first[0];
}

template <bool wrong> __global__ void large_static(const float *, float *y) {
    __shared__ float tile[wrong ? 12289 : 12288];
    for (int i = threadIdx.x; i < (wrong ? 12289 : 12288); i += blockDim.x) tile[i] = 1;
    y[threadIdx.x] = tile[threadIdx.x];
}

/* 227 KiB for both together: 1 KiB of it is static. */
template <bool wrong> __global__ void large_sum(const float *, float *y) {
    __shared__ float tile[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) tile[i] = 1;
    y[threadIdx.x] = tile[threadIdx.x];
}

template <bool wrong> __global__ void nothing(const float *, float *) {
}

extern "C" const td_test_fault td_test_faults[] = {
    TD_FAULT(past_end, 9, 32, 0,
             "<true>, block 8, thread 0: out of bounds: reads 4 bytes at buffer of 1024 bytes + 1024 (0 past its end)"),
    TD_FAULT(past_rows, dim3(2, 2), dim3(8, 8), 0,
             "<true>, block (0, 1, 0), thread (0, 7, 0): out of bounds: reads 4 bytes at buffer of 1024 bytes + 1024 "
             "(0 past its end)"),
    TD_FAULT(before_start, 1, N, 0,
             "<true>, block 0, thread 0: out of bounds: reads 4 bytes at buffer of 1024 bytes - 4 (before its start)"),
    TD_FAULT(
        past_shared, 1, N, 4 * N,
        "<true>, block 0, thread 63: out of bounds: writes 4 bytes at dynamic shared memory + 256 (0 past its end)"),
    TD_FAULT(past_array, 1, N, 0,
             "<true>, block 0, thread 63: out of bounds: index 64 of an array of type 'float [64]', at line #"),
    TD_FAULT(others_stack, 1, N, 0,
             "<true>, block 0, thread 0: out of bounds: reads 4 bytes at a local variable of thread 1"),
    TD_FAULT(host_variable, 1, N, 0,
             "<true>, block 0, thread 0: out of bounds: writes 4 bytes at a variable of the host's program"),
    TD_FAULT(misaligned, 1, 8, 0,
             "<true>, block 0, thread 0: misaligned: reads 16 bytes at buffer of 1024 bytes + 4, which is no multiple "
             "of 16"),
    TD_FAULT(
        misaligned_scalar, 1, 8, 0,
        "<true>, block 0, thread 0: misaligned: reads 4 bytes at buffer of 1024 bytes + 2, which is no multiple of 4"),
    TD_FAULT(misaligned_sum, 1, 32, 0,
             "<true>, block 0, thread 0: misaligned: adds to 16 bytes at buffer of 1024 bytes + 8, which is no "
             "multiple of 16"),
    TD_FAULT(shared_sum, 1, 32, 0, "<true>, block 0, thread 0: td_atomic_add4 is for global memory alone"),
    TD_FAULT(unwritten_global, 1, N, 0,
             "<true>, block 0, thread 0: unwritten: reads 4 bytes at buffer of 1024 bytes + 0, which nobody wrote"),
    TD_FAULT(unwritten_shared, 2, N, 0,
             "<true>, block 1, thread 0: unwritten: reads 4 bytes at static shared memory + 252, which nobody wrote"),
    TD_FAULT(barrier_left_out, 1, N, 0,
             "<true>, block 0, thread 0: __syncthreads at line #, but thread 40 has finished"),
    TD_FAULT(barrier_elsewhere, 1, N, 0,
             "<true>, block 0, thread 0: __syncthreads at line #, but thread 32 waits at the one at line #"),
    TD_FAULT(lane_left_out, 1, N, 0,
             "<true>, block 0, thread 0: shuffle at line #: lanes 00020000 of the mask ffffffff never arrive: they "
             "have finished"),
    TD_FAULT(lane_at_barrier, 1, N, 0,
             "<true>, block 0, thread 32: vote at line #: lanes 00000002 of the mask ffffffff never arrive: they wait "
             "at __syncthreads"),
    TD_FAULT(mask_without_itself, 1, 32, 0,
             "<true>, block 0, thread 0: vote at line #: the mask 0000fff0 leaves out the lane itself, 0"),
    TD_FAULT(source_outside_mask, 1, 32, 0,
             "<true>, block 0, thread 0: shuffle at line #: takes from lane 16, which the mask 0000ffff leaves out"),
    TD_FAULT(unwritten_sum, 1, 32, 0,
             "<true>, block 0, thread 0: unwritten: reads 4 bytes at buffer of 1024 bytes + 0, which nobody wrote"),
    TD_FAULT(wait_in_a_loop, 1, 32, 0,
             "<true>, block 0, thread 0: waits: # accesses with no barrier or warp operation"),
    TD_FAULT(warp_elsewhere, 1, 32, 0,
             "<true>, block 0, thread 0: shuffle at line #: lanes ffff0000 of the mask ffffffff never arrive: they "
             "wait at another warp operation"),
    TD_FAULT(warp_other_operation, 1, 32, 0,
             "<true>, block 0, thread 0: shuffle at line #: lanes ffff0000 of the mask ffffffff never arrive: they "
             "wait at another warp operation"),
    TD_FAULT(warp_masks, 1, 32, 0,
             "<true>, block 0, thread 0: vote at line #: lanes ffff0000 of the mask ffffffff never arrive: they wait "
             "at another warp operation"),
    TD_FAULT(slow_block_0, 8, 32, 0,
             "<true>, block 0, thread 0: out of bounds: reads 4 bytes at buffer of 1024 bytes + 1024 (0 past its end)"),
    TD_FAULT(slow_block_1, 8, 32, 0,
             "<true>, block 0, thread 0: out of bounds: reads 4 bytes at buffer of 1024 bytes + 1024 (0 past its end)"),
    TD_FAULT(barrier_same_line, 1, N, 0,
             "<true>, block 0, thread 0: __syncthreads at line #, but thread 32 waits at another one in that line"),
    TD_FAULT(barriers_without_end, 1, 2, 0,
             "<true>, block 0, thread 0: waits: __syncthreads at line # is the block's barrier 1048576: a loop without "
             "end"),
    TD_FAULT(votes_without_end, 1, 1, 0,
             "<true>, block 0, thread 0: waits: 16777216 barriers and warp operations in the block: a loop without "
             "end"),
    TD_FAULT(large_local, 1, 32, 0,
             "<true>, block 0, thread 0: out of bounds: writes 4 bytes at a local variable beyond the 512 KiB that a "
             "thread may have of them"),
    TD_FAULT(large_static, 1, 32, 0,
             "<true>, block 0, thread 31: limit: more than 49152 bytes of static shared memory"),
    TD_FAULT(large_sum, 1, 32, 226 * 1024 + (wrong ? 4 : 0),
             "<true>, block 0, thread 31: limit: more than 232448 bytes of shared memory, static and dynamic"),
    TD_FAULT(nothing, 1, wrong ? 1025 : 1024, 0,
             "<true>: limit: block (1025, 1, 1): 1 to 1024 threads, at most 64 in z"),
    TD_FAULT(nothing, 1, dim3(1, 1, wrong ? 65 : 64), 0,
             "<true>: limit: block (1, 1, 65): 1 to 1024 threads, at most 64 in z"),
    TD_FAULT(nothing, 1, wrong ? 0 : 1, 0, "<true>: limit: block (0, 1, 1): 1 to 1024 threads, at most 64 in z"),
    TD_FAULT(nothing, dim3(1, wrong ? 65536 : 65535), 1, 0,
             "<true>: limit: grid (1, 65536, 1): at most 2147483647 blocks in x, 65535 in y and z"),
    TD_FAULT(nothing, 1, 1, 227 * 1024 + (wrong ? 1 : 0),
             "<true>: limit: 232449 bytes of dynamic shared memory: at most 232448"),
    {},
};
