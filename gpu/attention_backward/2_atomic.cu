/* Rung 2, atomic: nothing of size T×T. A block owns 32 keys, visits their queries tile by tile, and recomputes P and dS
 * of 32×32 pairs in shared memory, where all three gradients take them from.
 *
 * Gain expected: rung 1 writes or reads a matrix of pairs six times, 24 bytes a pair through global memory, and reads
 * two floats of cache for each multiply-add. Here a tile of Q and dO is read once for 32 keys, and the rest is shared
 * memory: 5·32·32·d multiply-adds for 64·d floats. Memory is O(T): D and a float copy of dQ.
 * dK and dV stay with their block, in registers. But every block of a head has a part of the same dQ: they meet in
 * global memory with atomicAdd, whose order is the hardware's. float sums depend on order, so dQ differs in its last
 * bits from run to run. dQ is summed in a float workspace, and stored in the output's type and strides at the end.
 * Bound by shared memory: S and dP load 1.25 floats for a multiply-add, where a multiprocessor has time for 32 in that
 * of 128 multiply-adds. Measured (as rung 1): 11.0 TFLOP/s at d 64, 11.7 at d 128. */
#include "tiles.h"

/* dQ += dS K of this tile: other blocks add theirs at the same time. */
template <int M>
static __device__ __forceinline__ void add_tile(float *dQ, const td_tiles<M> &s, const td_backward &w, int64_t b,
                                                int64_t h, int64_t i, int64_t j) {
    int y = threadIdx.x / 32, x = threadIdx.x % 32;
    float sum[TD_TILE_ROWS][M] = {}, *to = dQ + ((b * w.Hq + h) * w.Tq + i) * w.d;
    td_add_to_queries<M>(sum, s, i, j, w.diagonal);
#pragma unroll
    for (int r = 0; r < TD_TILE_ROWS; r++)
#pragma unroll
        for (int m = 0; m < M; m++)
            if (i + y + 8 * r < w.Tq && x + 32 * m < w.d) atomicAdd(to + (y + 8 * r) * w.d + x + 32 * m, sum[r][m]);
}

/* Blocks are numbered from the first keys, which a causal mask gives the most queries: the longest start first. */
template <typename T, int M>
__global__ __launch_bounds__(TD_TILE_THREADS) void atomic_keys(const td_backward w, float *dQ) {
    TD_DYNAMIC_SHARED(td_tiles<M>, shared);
    td_tiles<M> &s = *shared;
    int64_t kv = blockIdx.x % w.Hkv, b = blockIdx.x / w.Hkv % w.B, j = blockIdx.x / w.Hkv / w.B * TD_TILE;
    int64_t group = w.Hq / w.Hkv, first = j > w.diagonal ? (j - w.diagonal) / TD_TILE * TD_TILE : 0;
    float dK[TD_TILE_ROWS][M] = {}, dV[TD_TILE_ROWS][M] = {};
    td_load_keys<T, M>(s, w, b, kv, j);
    for (int64_t h = kv * group; h < (kv + 1) * group; h++)
        for (int64_t i = first; i < w.Tq; i += TD_TILE) {
            td_load_queries<T, M>(s, w, b, h, i);
            __syncthreads();
            td_pair_tile<M>(s, w, i, j);
            __syncthreads();
            td_add_to_keys<M>(dV, s.P, s.dO, i, j, w.diagonal);
            td_add_to_keys<M>(dK, s.dS, s.Q, i, j, w.diagonal);
            if (dQ) add_tile<M>(dQ, s, w, b, h, i, j);
            __syncthreads(); /* before the next tile takes the place of this one */
        }
    td_store_tile<M>(w.t[TD_DK], dK, w.scale, b, kv, j);
    td_store_tile<M>(w.t[TD_DV], dV, 1, b, kv, j);
}

static size_t sum_bytes(const td_problem *problem) {
    return (size_t)td_query_elements(&problem->attention) * sizeof(float);
}

static size_t workspace_bytes(const td_problem *problem) {
    return td_backward_D_bytes(problem) + sum_bytes(problem);
}

template <typename T, int M> static td_status launch(const td_backward &w, float *dQ, void *stream, td_error *err) {
    dim3 grid((unsigned)(w.B * w.Hkv * td_tiles_in(w.Tk)));
    return TD_LAUNCH(err, (atomic_keys<T, M>), grid, dim3(TD_TILE_THREADS), sizeof(td_tiles<M>), stream, w, dQ);
}

template <typename T>
static td_status run(const td_problem *problem, const td_tensor *t, float *workspace, void *stream, td_error *err) {
    const td_backward w = td_backward_of(problem, t, workspace);
    float *dQ = t[TD_DQ].data ? workspace + td_backward_D_floats(&problem->attention) : NULL;
    td_status s = td_rowsum_launch<T>(w, stream, err);
    if (s == TD_OK && dQ) s = td_zero(dQ, sum_bytes(problem), stream, err);
    if (s == TD_OK)
        s = w.d <= 32    ? launch<T, 1>(w, dQ, stream, err)
            : w.d <= 64  ? launch<T, 2>(w, dQ, stream, err)
            : w.d <= 128 ? launch<T, 4>(w, dQ, stream, err)
                         : launch<T, 8>(w, dQ, stream, err);
    return s == TD_OK && dQ ? td_store_sums_launch(w, dQ, w.d, stream, err) : s;
}

TD_BACKWARD_VARIANTS(backward_atomic, "P again from LSE, tile by tile; a block a tile of keys, dQ by atomicAdd",
                     TD_LIMIT_BITS_VARY ": the order of its sums is not fixed", TD_MEM_WORKSPACE, td_tiles_support,
                     workspace_bytes);
