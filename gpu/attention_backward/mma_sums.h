/* Rung 6: what happens to sums that are fragments. Those of dQ are added to a workspace, where other blocks add theirs;
 * those of dK and dV are stored.
 *
 * A lane holds two neighbouring columns of a fragment, but an atomic addition moves four floats. So the workspace has
 * an order of its own: the 16 columns of two fragments stand together, each lane's four in a row: (B, Hq, 16 columns,
 * rows, 16 floats). Eight rows are then 512 bytes without a gap. And it has rows for whole tiles, so that an addition
 * need not ask where the queries end. */
#ifndef TANDEM_GPU_ATTENTION_BACKWARD_MMA_SUMS_H
#define TANDEM_GPU_ATTENTION_BACKWARD_MMA_SUMS_H

#include "swizzled_tiles.h"

/* Rows of a head in the workspace; floats in all, for rows of WIDTH columns. */
static inline TD_HD int64_t td_fragment_rows(int64_t Tq) {
    return (Tq + 63) / 64 * 64;
}
static inline int64_t td_fragment_floats(const td_attention_problem *a, int width) {
    return a->B * a->Hq * td_fragment_rows(a->Tq) * width;
}

/* Where a head begins, which counts over (B, Hq); from there, where columns 16 n … of row i do. */
template <int WIDTH>
static __device__ __forceinline__ float *td_fragments_of(float *sums, const td_backward &w, int64_t head) {
    return sums + head * td_fragment_rows(w.Tq) * WIDTH;
}
static __device__ __forceinline__ int64_t td_fragment_place(const td_backward &w, int64_t i, int n) {
    return (n * td_fragment_rows(w.Tq) + i) * 16;
}

/* += the warp's 16 M rows and COLUMNS columns, from the place of the first on. */
template <int M, int COLUMNS>
static __device__ __forceinline__ void td_add_fragments(float *to, const td_backward &w,
                                                        const float (&C)[M][COLUMNS / 8][4]) {
    to += threadIdx.x % 32 * 4;
#pragma unroll
    for (int n = 0; n < COLUMNS / 16; n++, to += td_fragment_place(w, 0, 1))
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int e = 0; e < 4; e += 2) {
                const float(&left)[4] = C[m][2 * n], (&right)[4] = C[m][2 * n + 1];
                td_atomic_add4(to + 256 * m + 64 * e, float4{left[e], left[e + 1], right[e], right[e + 1]});
            }
}

/* Four words of each of the four lanes that share a row: word k of lane q becomes word q of lane k. */
static __device__ __forceinline__ void td_transpose_quad(uint32_t (&words)[4]) {
#pragma unroll
    for (int bit = 1; bit < 4; bit *= 2)
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (!(k & bit)) {
                bool upper = threadIdx.x & bit;
                uint32_t other = __shfl_xor_sync(0xffffffffu, upper ? words[k] : words[k | bit], bit);
                words[k] = upper ? other : words[k];
                words[k | bit] = upper ? words[k | bit] : other;
            }
}

/* The output dQ = scale · sums; a warp has 8 rows and 64 columns, and reads 512 bytes at a time. VECTORS: dQ is of T
 * and comes in vectors, so that a lane exchanges what it has of four times 16 columns for all of one of them. */
template <typename T, int WIDTH, bool VECTORS>
__global__ __launch_bounds__(256) void td_store_fragments(const td_backward w, float *sums) {
    const td_tensor &dQ = w.t[TD_DQ];
    int64_t rows = td_fragment_rows(w.Tq), number = (int64_t)blockIdx.x * 8 + threadIdx.x / 32;
    int lane = threadIdx.x % 32, parts = WIDTH / 64, part = (int)(number % parts);
    unsigned eights = (unsigned)(rows / 8), n = (unsigned)(number / parts), head = n / eights;
    int64_t b = head / (unsigned)w.Hq, h = head % (unsigned)w.Hq, first = (int64_t)(n % eights) * 8,
            i = first + lane / 4;
    const float *from = td_fragments_of<WIDTH>(sums, w, head) + 4 * lane;
    float4 v[4];
#pragma unroll
    for (int k = 0; k < 4; k++) v[k] = td_load4(from + td_fragment_place(w, first, 4 * part + k));
    if (VECTORS) {
        uint32_t words[2][4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            words[0][k] = td_pack<T>(w.scale * v[k].x, w.scale * v[k].y);
            words[1][k] = td_pack<T>(w.scale * v[k].z, w.scale * v[k].w);
        }
#pragma unroll
        for (int k = 0; k < 2; k++) {
            float4 packed;
            int c = 64 * part + lane % 4 * 16 + 8 * k;
            td_transpose_quad(words[k]);
            memcpy(&packed, words[k], sizeof packed);
            if (i < w.Tq && c < w.d) td_store4((float *)((T *)dQ.data + td_offset(&dQ, b, h, i, c)), packed);
        }
    } else {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const float x[4] = {v[k].x, v[k].y, v[k].z, v[k].w};
#pragma unroll
            for (int e = 0; e < 4; e++) {
                int c = 64 * part + 16 * k + e / 2 * 8 + lane % 4 * 2 + e % 2;
                if (i < w.Tq && c < w.d) td_set(&dQ, b, h, i, c, w.scale * x[e]);
            }
        }
    }
}

template <typename T, int WIDTH>
static td_status td_store_fragments_launch(const td_backward &w, float *sums, void *stream, td_error *err) {
    const td_tensor *dQ = &w.t[TD_DQ];
    dim3 grid((unsigned)(w.B * w.Hq * td_fragment_rows(w.Tq) / 64 * (WIDTH / 64)));
    if (dQ->dtype == w.t[TD_Q].dtype && td_in_vectors(dQ))
        return TD_LAUNCH(err, (td_store_fragments<T, WIDTH, true>), grid, dim3(256), 0, stream, w, sums);
    return TD_LAUNCH(err, (td_store_fragments<T, WIDTH, false>), grid, dim3(256), 0, stream, w, sums);
}

/* The warp's 16 M rows, times `scale`, to rows first … of an output; nothing if it is not wanted. VECTORS as above.
 * They pass through `room`, 16 M rows of WIDTH floats that are the warp's alone. */
template <typename T, int WIDTH, int M>
static __device__ __forceinline__ void td_store_own_rows(const td_tensor &t, bool vectors, void *room,
                                                         float (&C)[M][WIDTH / 8][4], float scale, int64_t b, int64_t h,
                                                         int64_t first) {
    int lane = threadIdx.x % 32, d = (int)t.size[3], rows = (int)min((int64_t)16 * M, t.size[2] - first);
    if (!t.data) return;
    __syncwarp();
    if (vectors) {
        T *tile = (T *)room;
        uint32_t packed[M][WIDTH / 16][4];
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int n = 0; n < WIDTH / 8; n++)
#pragma unroll
                for (int e = 0; e < 4; e++) C[m][n][e] *= scale;
        td_pack_fragments<T, M, WIDTH>(packed, C);
        td_put_packed<T, WIDTH, M, WIDTH>(tile, packed, 0);
        __syncwarp();
        T *to = (T *)t.data + td_offset(&t, b, h, first, 0);
        int k = lane % (WIDTH / 8);
#pragma unroll 4
        for (int r = lane / (WIDTH / 8); r < 16 * M; r += 32 / (WIDTH / 8))
            if (r < rows && 8 * k < d)
                td_store4((float *)(to + r * t.stride[2] + 8 * k),
                          td_load4((const float *)(tile + td_swizzled<WIDTH>(r, k))));
    } else {
        float *all = (float *)room;
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int n = 0; n < WIDTH / 8; n++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    all[(16 * m + td_fragment_row() + e / 2 * 8) * WIDTH + 8 * n + td_fragment_column() + e % 2] =
                        C[m][n][e];
        __syncwarp();
#pragma unroll 1
        for (int e = lane; e < 16 * M * WIDTH; e += 32)
            if (e / WIDTH < rows && e % WIDTH < d) td_set(&t, b, h, first + e / WIDTH, e % WIDTH, scale * all[e]);
    }
}

#endif
