/* td_mma, td_ldmatrix4 and groups of copies, used wrongly in one way each, and their repaired twins. */
#include "faults.h"
#include "mma.h"

enum { N = 32 };

/* Each lane's own row of 16 bytes. */
static void fill(float (&tile)[N][4], const float *x) {
    td_store4(tile[threadIdx.x], td_load4(x + 4 * threadIdx.x % 128));
}

template <bool wrong> __global__ void rows_misaligned(const float *x, float *) {
    __shared__ __align__(16) float tile[N][4];
    uint32_t r[4];
    fill(tile, x);
    __syncwarp();
    td_ldmatrix4(r, &tile[threadIdx.x / 2][wrong && threadIdx.x == 7 ? 2 : 0]);
}

template <bool wrong> __global__ void rows_unwritten(const float *x, float *) {
    __shared__ __align__(16) float tile[N][4];
    uint32_t r[4];
    if (!wrong || threadIdx.x != 9) fill(tile, x);
    __syncwarp();
    td_ldmatrix4_transposed(r, tile[threadIdx.x ^ 1]);
}

template <bool wrong> __global__ void rows_past_end(const float *x, float *) {
    TD_DYNAMIC_SHARED(float, tile);
    uint32_t r[4];
    td_store4(tile + 4 * threadIdx.x, td_load4(x + 4 * threadIdx.x));
    __syncwarp();
    td_ldmatrix4(r, tile + (wrong ? 4 * threadIdx.x + 4 : 4 * threadIdx.x));
}

template <bool wrong> __global__ void rows_global(const float *x, float *) {
    __shared__ __align__(16) float tile[N][4];
    uint32_t r[4];
    fill(tile, x);
    __syncwarp();
    td_ldmatrix4(r, wrong && threadIdx.x == 3 ? x : tile[threadIdx.x]);
}

template <bool wrong> __global__ void rows_local(const float *x, float *) {
    __shared__ __align__(16) float tile[N][4];
    __align__(16) float mine[4] = {1, 2, 3, 4};
    uint32_t r[4];
    fill(tile, x);
    __syncwarp();
    td_ldmatrix4(r, wrong ? mine : tile[threadIdx.x]);
}

/* That lanes wait for each other shows none what another has stored. */
template <bool wrong> __global__ void rows_of_another(const float *x, float *) {
    __shared__ __align__(16) float tile[N][4];
    uint32_t r[4];
    fill(tile, x);
    if (!wrong) __syncwarp();
    td_ldmatrix4(r, tile[threadIdx.x ^ 1]);
}

template <bool wrong> __global__ void rows_overwritten(const float *x, float *) {
    __shared__ __align__(16) float tile[N][4];
    uint32_t r[4];
    fill(tile, x);
    __syncwarp();
    td_ldmatrix4(r, tile[threadIdx.x ^ 1]);
    if (!wrong) __syncwarp();
    fill(tile, x);
}

template <bool wrong> __global__ void rows_lane_missing(const float *x, float *) {
    __shared__ __align__(16) float tile[N][4];
    uint32_t r[4];
    fill(tile, x);
    __syncwarp();
    if (wrong && threadIdx.x == 17) return;
    td_ldmatrix4(r, tile[threadIdx.x]);
}

template <bool wrong> __global__ void rows_partly_transposed(const float *x, float *) {
    __shared__ __align__(16) float tile[N][4];
    uint32_t r[4];
    fill(tile, x);
    __syncwarp();
    if (!wrong || threadIdx.x < 16)
        td_ldmatrix4_transposed(r, tile[threadIdx.x]);
    else
        td_ldmatrix4(r, tile[threadIdx.x]);
}

template <bool wrong> __global__ void product_lane_missing(const float *, float *) {
    const uint32_t a[4] = {}, b[2] = {};
    float c[4] = {};
    if (!wrong || threadIdx.x % 32 < 31) td_mma<td_bf16>(c, a, b);
}

template <bool wrong> __global__ void product_half_a_warp(const float *, float *) {
    const uint32_t a[4] = {}, b[2] = {};
    float c[4] = {};
    td_mma<td_fp16>(c, a, b);
}

template <bool wrong> __global__ void product_elsewhere(const float *, float *) {
    const uint32_t a[4] = {}, b[2] = {};
    float c[4] = {};
    if (!wrong || threadIdx.x < 16)
        td_mma<td_bf16>(c, a, b);
    else
        td_mma<td_bf16>(c, a, b);
}

template <bool wrong> __global__ void product_of_two_types(const float *, float *) {
    const uint32_t a[4] = {}, b[2] = {};
    float c[4] = {};
    // clang-format off
    if (!wrong || threadIdx.x < 16) td_mma<td_bf16>(c, a, b); else td_mma<td_fp16>(c, a, b);
    // clang-format on
}

/* --- groups of copies --- */

/* A tile ahead: the group just closed may be in flight, the one before it may not. */
template <bool wrong> __global__ void group_too_lax(const float *x, float *y) {
    __shared__ __align__(16) float tile[2][N][4];
    uint32_t r[4];
    const int lane = threadIdx.x;
    td_copy16_async(tile[0][lane], x + 4 * lane, true);
    td_copies_commit();
    for (int i = 0; i < 4; i++) {
        if (i < 3) td_copy16_async(tile[(i + 1) % 2][lane], x + 4 * (lane + i) % 128, lane % 2);
        td_copies_commit();
        td_copies_wait_but<wrong ? 2 : 1>();
        __syncwarp();
        td_ldmatrix4(r, tile[i % 2][lane ^ 5]);
        __syncwarp();
    }
    y[lane] = (float)r[0];
}

/* At the end of such a loop no group follows: what was one is now the last. */
template <bool wrong> __global__ void group_at_the_end(const float *x, float *y) {
    __shared__ __align__(16) float tile[2][N][4];
    const int lane = threadIdx.x;
    for (int i = 0; i < 2; i++) {
        td_copy16_async(tile[i][lane], x + 4 * lane, true);
        td_copies_commit();
    }
    for (int i = 0; i < 2; i++) {
        td_copies_wait_but<1>();
        if (!wrong) td_copies_commit();
        y[i * N + lane] = tile[i][lane][3];
    }
}

template <bool wrong> __global__ void group_left_open(const float *x, float *y) {
    __shared__ __align__(16) float tile[N][4];
    td_copy16_async(tile[threadIdx.x], x + 4 * threadIdx.x, true);
    if (!wrong) td_copies_commit();
    td_copies_wait_but<0>();
    y[threadIdx.x] = tile[threadIdx.x][0];
}

template <bool wrong> __global__ void group_not_waited(const float *x, float *y) {
    __shared__ __align__(16) float tile[2][N][4];
    for (int i = 0; i < 2; i++) {
        td_copy16_async(tile[i][threadIdx.x], x + 4 * threadIdx.x, true);
        td_copies_commit();
    }
    td_copies_wait_but<1>();
    y[threadIdx.x] = tile[0][threadIdx.x][0];
    if (!wrong) td_copies_wait();
}

template <bool wrong> __global__ void group_to_global(const float *x, float *y) {
    __shared__ __align__(16) float tile[N][4];
    td_copy16_async(wrong ? y + 4 * threadIdx.x : tile[threadIdx.x], x + 4 * threadIdx.x, true);
    td_copies_wait();
}

#define ABSENT " of the mask ffffffff never arrive: they "
extern "C" const td_test_fault td_test_matrices[] = {
    TD_FAULT(rows_misaligned, 1, N, 0,
             "<true>, block 0, thread 7: misaligned: reads 16 bytes at static shared memory + 56, which is no multiple "
             "of 16"),
    TD_FAULT(rows_unwritten, 1, N, 0,
             "<true>, block 0, thread 8: unwritten: reads 16 bytes at static shared memory + 144, which nobody wrote"),
    TD_FAULT(
        rows_past_end, 1, N, 16 * N,
        "<true>, block 0, thread 31: out of bounds: reads 16 bytes at dynamic shared memory + 512 (0 past its end)"),
    TD_FAULT(rows_global, 1, N, 0, "<true>, block 0, thread 3: td_ldmatrix4 at line # is for shared memory alone"),
    TD_FAULT(rows_local, 1, N, 0, "<true>, block 0, thread 31: td_ldmatrix4 at line # is for shared memory alone"),
    TD_FAULT(rows_of_another, 1, N, 0,
             "<true>, block 0, thread 1: race: its write at static shared memory + 16 and the read of thread 0 have no "
             "barrier between"),
    TD_FAULT(rows_overwritten, 1, N, 0,
             "<true>, block 0, thread 30: race: its write at static shared memory + 480 and the read of thread 31 have "
             "no barrier between"),
    TD_FAULT(rows_lane_missing, 1, N, 0,
             "<true>, block 0, thread 0: td_ldmatrix4 at line #: lanes 00020000" ABSENT "have finished"),
    TD_FAULT(rows_partly_transposed, 1, N, 0,
             "<true>, block 0, thread 0: td_ldmatrix4_transposed at line #: lanes ffff0000" ABSENT
             "wait at another warp operation"),
    TD_FAULT(product_lane_missing, 1, 2 * N, 0,
             "<true>, block 0, thread 0: td_mma at line #: lanes 80000000" ABSENT "have finished"),
    TD_FAULT(product_half_a_warp, 1, wrong ? N / 2 : N, 0,
             "<true>, block 0, thread 0: td_mma at line #: lanes ffff0000" ABSENT "do not exist"),
    TD_FAULT(product_elsewhere, 1, N, 0,
             "<true>, block 0, thread 0: td_mma at line #: lanes ffff0000" ABSENT "wait at another warp operation"),
    TD_FAULT(product_of_two_types, 1, N, 0,
             "<true>, block 0, thread 0: td_mma at line #: lanes ffff0000" ABSENT "wait at another warp operation"),
    TD_FAULT(group_too_lax, 1, N, 0,
             "<true>, block 0, thread 31: copy in flight: reads 16 bytes at static shared memory + 416 before thread "
             "26 has waited for its copy there"),
    TD_FAULT(group_at_the_end, 1, N, 0,
             "<true>, block 0, thread 0: copy in flight: reads 4 bytes at static shared memory + 524 before thread 0 "
             "has waited for its copy there"),
    TD_FAULT(group_left_open, 1, N, 0,
             "<true>, block 0, thread 0: copy in flight: reads 4 bytes at static shared memory + 0 before thread 0 has "
             "waited for its copy there"),
    TD_FAULT(group_not_waited, 1, N, 0, "<true>, block 0, thread 0: copy in flight: ends with 1 copies not waited for"),
    TD_FAULT(group_to_global, 1, N, 0, "<true>, block 0, thread 0: td_copy16_async is for shared memory alone"),
    {},
};
