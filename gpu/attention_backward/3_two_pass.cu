/* Rung 3, two passes: dQ from a kernel of its own, in which a block owns 32 queries and visits their keys. Every sum
 * has one owner and one order, so that the result is the same, bit for bit, in every run; and no float copy of dQ.
 *
 * Gain expected: none in time. S and dP are computed in both passes: 7 products of 2·d operations a pair instead of 5,
 * so about 1.4 times the time of rung 2, less what its atomics cost. It buys determinism: a run can be repeated to find
 * a fault, and two programs compared by equality. Bound, like rung 2, by loads from shared memory.
 * Measured (as rung 1): 8.1 TFLOP/s at d 64, 8.5 at d 128: 1.35 and 1.37 times rung 2's time. */
#include "tiles.h"

/* dK and dV; the longest blocks, by a causal mask the first, start first. */
template <typename T, int M> __global__ __launch_bounds__(TD_TILE_THREADS) void two_pass_keys(const td_backward w) {
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
            __syncthreads(); /* before the next tile takes the place of this one */
        }
    td_store_tile<M>(w.t[TD_DK], dK, w.scale, b, kv, j);
    td_store_tile<M>(w.t[TD_DV], dV, 1, b, kv, j);
}

/* dQ; the longest blocks, by a causal mask the last, start first. */
template <typename T, int M> __global__ __launch_bounds__(TD_TILE_THREADS) void two_pass_queries(const td_backward w) {
    TD_DYNAMIC_SHARED(td_tiles<M>, shared);
    td_tiles<M> &s = *shared;
    int64_t number = gridDim.x - 1 - blockIdx.x;
    int64_t h = number % w.Hq, b = number / w.Hq % w.B, i = number / w.Hq / w.B * TD_TILE;
    int64_t kv = h / (w.Hq / w.Hkv), keys = min(w.Tk, i + TD_TILE + w.diagonal);
    float dQ[TD_TILE_ROWS][M] = {};
    td_load_queries<T, M>(s, w, b, h, i);
    for (int64_t j = 0; j < keys; j += TD_TILE) {
        td_load_keys<T, M>(s, w, b, kv, j);
        __syncthreads();
        td_pair_tile<M>(s, w, i, j);
        __syncthreads();
        td_add_to_queries<M>(dQ, s, i, j, w.diagonal);
        __syncthreads();
    }
    td_store_tile<M>(w.t[TD_DQ], dQ, w.scale, b, h, i);
}

template <typename T, int M> static td_status launch(const td_backward &w, void *stream, td_error *err) {
    dim3 block(TD_TILE_THREADS), key((unsigned)(w.B * w.Hkv * td_tiles_in(w.Tk))),
        query((unsigned)(w.B * w.Hq * td_tiles_in(w.Tq)));
    size_t shared = sizeof(td_tiles<M>);
    td_status s = TD_OK;
    if (w.t[TD_DK].data || w.t[TD_DV].data) s = TD_LAUNCH(err, (two_pass_keys<T, M>), key, block, shared, stream, w);
    if (s == TD_OK && w.t[TD_DQ].data) s = TD_LAUNCH(err, (two_pass_queries<T, M>), query, block, shared, stream, w);
    return s;
}

template <typename T>
static td_status run(const td_problem *problem, const td_tensor *t, float *workspace, void *stream, td_error *err) {
    const td_backward w = td_backward_of(problem, t, workspace);
    td_status s = td_rowsum_launch<T>(w, stream, err);
    if (s) return s;
    return w.d <= 32    ? launch<T, 1>(w, stream, err)
           : w.d <= 64  ? launch<T, 2>(w, stream, err)
           : w.d <= 128 ? launch<T, 4>(w, stream, err)
                        : launch<T, 8>(w, stream, err);
}

TD_BACKWARD_VARIANTS(backward_two_pass, "dK and dV in one pass, dQ in another: no atomics, the same bits in every run",
                     "S and dP are computed twice", TD_MEM_WORKSPACE, td_tiles_support, td_backward_D_bytes);
