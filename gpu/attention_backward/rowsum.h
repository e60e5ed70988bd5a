/* D = rowsum(dO ∘ O) for the 16-bit rungs, 16 bytes at a time where the tensors allow it. Bound by memory. */
#ifndef TANDEM_GPU_ATTENTION_BACKWARD_ROWSUM_H
#define TANDEM_GPU_ATTENTION_BACKWARD_ROWSUM_H

#include "attention_backward.h"

/* A thread has 8 columns of 4 rows, whose loads are on their way together; a row has `LANES` threads. */
enum { TD_ROWSUM_UNROLL = 4 };
template <int LANES> static constexpr int td_rowsum_rows = 256 * TD_ROWSUM_UNROLL / LANES;

/* 8 elements of row i, from column c on. */
static __device__ __forceinline__ float4 td_vector(const td_tensor &t, int64_t b, int64_t h, int64_t i, int c) {
    return td_load4((const float *)((const uint16_t *)t.data + td_offset(&t, b, h, i, 0) + c));
}

/* D of a query, by LANES ≥ d / 8 lanes. */
template <typename T, int LANES> __global__ __launch_bounds__(256) void td_rowsum_vectors(const td_backward w) {
    unsigned blocks = (unsigned)((w.Tq + td_rowsum_rows<LANES> - 1) / td_rowsum_rows<LANES>); /* of a head */
    unsigned head = blockIdx.x / blocks;
    int64_t b = head / (unsigned)w.Hq, h = head % (unsigned)w.Hq;
    int64_t first = (int64_t)(blockIdx.x % blocks) * td_rowsum_rows<LANES> + threadIdx.x / LANES;
    int c = threadIdx.x % LANES * 8;
    float4 v[TD_ROWSUM_UNROLL][2];
#pragma unroll
    for (int k = 0; k < TD_ROWSUM_UNROLL; k++) {
        int64_t i = first + k * (256 / LANES);
        bool inside = i < w.Tq && c < w.d;
        v[k][0] = inside ? td_vector(w.t[TD_DO], b, h, i, c) : float4{0, 0, 0, 0};
        v[k][1] = inside ? td_vector(w.t[TD_O], b, h, i, c) : float4{0, 0, 0, 0};
    }
#pragma unroll
    for (int k = 0; k < TD_ROWSUM_UNROLL; k++) {
        T dO[8], O[8];
        memcpy(dO, &v[k][0], sizeof dO);
        memcpy(O, &v[k][1], sizeof O);
        float sum = 0;
#pragma unroll
        for (int e = 0; e < 8; e++) sum = fmaf(td_float(dO[e]), td_float(O[e]), sum);
#pragma unroll
        for (int n = LANES / 2; n > 0; n /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, n);
        int64_t i = first + k * (256 / LANES);
        if (c == 0 && i < w.Tq) w.D[(int64_t)head * w.Tq + i] = sum;
    }
}

template <typename T, int LANES>
static td_status td_rowsum_vectors_launch(const td_backward &w, void *stream, td_error *err) {
    int64_t blocks = (w.Tq + td_rowsum_rows<LANES> - 1) / td_rowsum_rows<LANES>;
    return TD_LAUNCH(err, (td_rowsum_vectors<T, LANES>), dim3((unsigned)(w.B * w.Hq * blocks)), dim3(256), 0, stream,
                     w);
}

/* D of all queries. */
template <typename T> static td_status td_rowsum_16bit_launch(const td_backward &w, void *stream, td_error *err) {
    if (!td_in_vectors(&w.t[TD_DO]) || !td_in_vectors(&w.t[TD_O])) return td_rowsum_launch<T>(w, stream, err);
    return w.d <= 64    ? td_rowsum_vectors_launch<T, 8>(w, stream, err)
           : w.d <= 128 ? td_rowsum_vectors_launch<T, 16>(w, stream, err)
                        : td_rowsum_vectors_launch<T, 32>(w, stream, err);
}

#endif
