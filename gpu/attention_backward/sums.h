/* What the 16-bit rungs do before and after their products, 16 bytes at a time where the tensors allow it: D, and dQ
 * from its float sums. Both are bound by memory: at B·T = 16384, H·d = 2048 they move 134 and 201 MB. */
#ifndef TANDEM_GPU_ATTENTION_BACKWARD_SUMS_H
#define TANDEM_GPU_ATTENTION_BACKWARD_SUMS_H

#include "../mma.h"
#include "attention_backward.h"

/* A thread's columns, and the rows that a block of 256 threads takes with `lanes` of them to a row, four at once: that
 * many loads are on their way together. */
enum { TD_SUMS_COLUMNS = 8, TD_SUMS_UNROLL = 4 };
static inline TD_HD int td_sums_rows(int lanes) {
    return 256 / lanes * TD_SUMS_UNROLL;
}

/* Blocks for all rows of Q, each within one head. */
static inline unsigned td_sums_blocks(const td_backward &w, int lanes) {
    int rows = td_sums_rows(lanes);
    return (unsigned)(w.B * w.Hq * ((w.Tq + rows - 1) / rows));
}

/* Where a block of these kernels begins. */
struct td_sums_place {
    int64_t b, h, i;
};
static __device__ __forceinline__ td_sums_place td_sums_place_of(const td_backward &w, int lanes) {
    unsigned rows = td_sums_rows(lanes), blocks = (unsigned)((w.Tq + rows - 1) / rows), head = blockIdx.x / blocks;
    return {head / (unsigned)w.Hq, head % (unsigned)w.Hq, (int64_t)(blockIdx.x % blocks) * rows};
}

/* 8 elements of row i, from column c on. */
static __device__ __forceinline__ float4 td_vector(const td_tensor &t, int64_t b, int64_t h, int64_t i, int c) {
    return td_load4((const float *)((const uint16_t *)t.data + td_offset(&t, b, h, i, 0) + c));
}

/* D of a query, by LANES ≥ d / 8 lanes. */
template <typename T, int LANES> __global__ __launch_bounds__(256) void td_rowsum_vectors(const td_backward w) {
    const td_sums_place at = td_sums_place_of(w, LANES);
    int c = threadIdx.x % LANES * TD_SUMS_COLUMNS, row = threadIdx.x / LANES;
    float4 v[TD_SUMS_UNROLL][2];
#pragma unroll
    for (int k = 0; k < TD_SUMS_UNROLL; k++) {
        int64_t i = at.i + row + k * (256 / LANES);
        bool inside = i < w.Tq && c < w.d;
        v[k][0] = inside ? td_vector(w.t[TD_DO], at.b, at.h, i, c) : float4{0, 0, 0, 0};
        v[k][1] = inside ? td_vector(w.t[TD_O], at.b, at.h, i, c) : float4{0, 0, 0, 0};
    }
#pragma unroll
    for (int k = 0; k < TD_SUMS_UNROLL; k++) {
        T dO[TD_SUMS_COLUMNS], O[TD_SUMS_COLUMNS];
        memcpy(dO, &v[k][0], sizeof dO);
        memcpy(O, &v[k][1], sizeof O);
        float sum = 0;
#pragma unroll
        for (int e = 0; e < TD_SUMS_COLUMNS; e++) sum = fmaf(td_float(dO[e]), td_float(O[e]), sum);
#pragma unroll
        for (int n = LANES / 2; n > 0; n /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, n);
        int64_t i = at.i + row + k * (256 / LANES);
        if (c == 0 && i < w.Tq) w.D[(at.b * w.Hq + at.h) * w.Tq + i] = sum;
    }
}

/* D of all queries. */
template <typename T> static td_status td_rowsum_16bit_launch(const td_backward &w, void *stream, td_error *err) {
    if (!td_in_vectors(&w.t[TD_DO]) || !td_in_vectors(&w.t[TD_O])) return td_rowsum_launch<T>(w, stream, err);
    dim3 block(256);
    return w.d <= 64    ? TD_LAUNCH(err, (td_rowsum_vectors<T, 8>), dim3(td_sums_blocks(w, 8)), block, 0, stream, w)
           : w.d <= 128 ? TD_LAUNCH(err, (td_rowsum_vectors<T, 16>), dim3(td_sums_blocks(w, 16)), block, 0, stream, w)
                        : TD_LAUNCH(err, (td_rowsum_vectors<T, 32>), dim3(td_sums_blocks(w, 32)), block, 0, stream, w);
}

/* The output dQ = scale · sums, from a float matrix with rows of `width`, a multiple of 4, aligned to 16 bytes. */
template <typename T, int LANES>
__global__ __launch_bounds__(256) void td_store_sums_vectors(const td_backward w, const float *sums, int width) {
    const td_sums_place at = td_sums_place_of(w, LANES);
    const td_tensor &dQ = w.t[TD_DQ];
    int c = threadIdx.x % LANES * TD_SUMS_COLUMNS, row = threadIdx.x / LANES;
#pragma unroll
    for (int k = 0; k < TD_SUMS_UNROLL; k++) {
        int64_t i = at.i + row + k * (256 / LANES);
        if (i >= w.Tq || c >= w.d) continue;
        const float *from = sums + ((at.b * w.Hq + at.h) * w.Tq + i) * width + c;
        float4 x = td_load4(from), y = td_load4(from + 4), packed;
        float a = w.scale;
        const uint32_t words[4] = {td_pack<T>(a * x.x, a * x.y), td_pack<T>(a * x.z, a * x.w),
                                   td_pack<T>(a * y.x, a * y.y), td_pack<T>(a * y.z, a * y.w)};
        memcpy(&packed, words, sizeof packed);
        td_store4((float *)((T *)dQ.data + td_offset(&dQ, at.b, at.h, i, 0) + c), packed);
    }
}

/* As td_store_sums_launch; fast where dQ, like the inputs, is of T. */
template <typename T>
static td_status td_store_sums_16bit_launch(const td_backward &w, const float *sums, int width, void *stream,
                                            td_error *err) {
    const td_tensor *dQ = &w.t[TD_DQ];
    if (!dQ->data || dQ->dtype != w.t[TD_Q].dtype || !td_in_vectors(dQ))
        return td_store_sums_launch(w, sums, width, stream, err);
    dim3 block(256);
    return w.d <= 64    ? TD_LAUNCH(err, (td_store_sums_vectors<T, 8>), dim3(td_sums_blocks(w, 8)), block, 0, stream, w,
                                    sums, width)
           : w.d <= 128 ? TD_LAUNCH(err, (td_store_sums_vectors<T, 16>), dim3(td_sums_blocks(w, 16)), block, 0, stream,
                                    w, sums, width)
                        : TD_LAUNCH(err, (td_store_sums_vectors<T, 32>), dim3(td_sums_blocks(w, 32)), block, 0, stream,
                                    w, sums, width);
}

#endif
