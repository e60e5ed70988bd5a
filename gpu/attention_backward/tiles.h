/* The tiles of rungs 2 and 3: 32 queries by 32 keys in shared memory, computed by 256 threads. A thread works at lane
 * x = 0 … 31 and, in warp y = 0 … 7, at rows y, y + 8, y + 16 and y + 24. */
#ifndef TANDEM_GPU_ATTENTION_BACKWARD_TILES_H
#define TANDEM_GPU_ATTENTION_BACKWARD_TILES_H

#include "attention_backward.h"

enum { TD_TILE = 32, TD_TILE_THREADS = 256, TD_TILE_WARPS = 8, TD_TILE_ROWS = TD_TILE / TD_TILE_WARPS };

/* A row in shared memory: 32 M columns, zeros from d on, and one more, so that 32 lanes at 32 rows meet 32 banks. */
template <int M> struct td_row { float x[32 * M + 1]; };

/* What a block has in shared memory. */
template <int M> struct td_tiles {
    td_row<M> Q[TD_TILE], dO[TD_TILE], K[TD_TILE], V[TD_TILE];
    td_row<1> P[TD_TILE], dS[TD_TILE]; /* a row a query */
    float LSE[TD_TILE], D[TD_TILE];
};

static inline int64_t td_tiles_in(int64_t T) {
    return (T + TD_TILE - 1) / TD_TILE;
}

static inline td_status td_tiles_support(const td_problem *problem, td_error *why) {
    int64_t block = problem->attention.block;
    if (block == 0 || block == TD_TILE) return td_scale_fits_float(problem, why);
    return td_fail(why, TD_UNSUPPORTED, "block = %lld: the threads are laid out for tiles of %d keys; 0 means that too",
                   (long long)block, TD_TILE);
}

/* Rows first … first + 31 of head (b, h); rows beyond the end are zeros. */
template <typename T, int M>
static __device__ __forceinline__ void td_load_tile(td_row<M> *tile, const td_tensor &t, int64_t b, int64_t h,
                                                    int64_t first) {
    int x = threadIdx.x % 32;
    for (int r = threadIdx.x / 32; r < TD_TILE; r += TD_TILE_WARPS)
        for (int c = x; c < 32 * M; c += 32)
            tile[r].x[c] = first + r < t.size[2] && c < t.size[3] ? td_read<T>(t, b, h, first + r, c) : 0;
}

template <typename T, int M>
static __device__ __forceinline__ void td_load_keys(td_tiles<M> &s, const td_backward &w, int64_t b, int64_t kv,
                                                    int64_t first) {
    td_load_tile<T, M>(s.K, w.t[TD_K], b, kv, first);
    td_load_tile<T, M>(s.V, w.t[TD_V], b, kv, first);
}

/* What a query brings: its rows of Q and dO, LSE and D. */
template <typename T, int M>
static __device__ __forceinline__ void td_load_queries(td_tiles<M> &s, const td_backward &w, int64_t b, int64_t h,
                                                       int64_t first) {
    td_load_tile<T, M>(s.Q, w.t[TD_Q], b, h, first);
    td_load_tile<T, M>(s.dO, w.t[TD_DO], b, h, first);
    int64_t i = first + threadIdx.x;
    if (threadIdx.x < TD_TILE && i < w.Tq) {
        s.LSE[threadIdx.x] = td_read<float>(w.t[TD_LSE], b, h, i, 0);
        s.D[threadIdx.x] = w.D[(b * w.Hq + h) * w.Tq + i];
    }
}

/* P and dS of queries i … i + 31 and keys j … j + 31; 0 where the mask forbids, or beyond the end. */
template <int M>
static __device__ __forceinline__ void td_pair_tile(td_tiles<M> &s, const td_backward &w, int64_t i, int64_t j) {
    int y = threadIdx.x / 32, x = threadIdx.x % 32;
    float S[TD_TILE_ROWS] = {0}, dP[TD_TILE_ROWS] = {0};
    for (int c = 0; c < w.d; c++)
#pragma unroll
        for (int r = 0; r < TD_TILE_ROWS; r++) {
            S[r] = fmaf(s.Q[y + 8 * r].x[c], s.K[x].x[c], S[r]);
            dP[r] = fmaf(s.dO[y + 8 * r].x[c], s.V[x].x[c], dP[r]);
        }
#pragma unroll
    for (int r = 0; r < TD_TILE_ROWS; r++) {
        int row = y + 8 * r;
        bool allowed = i + row < w.Tq && j + x < w.Tk && j + x <= i + row + w.diagonal;
        float p = allowed ? td_weight(S[r], w.scale, s.LSE[row]) : 0;
        s.P[row].x[x] = p;
        s.dS[row].x[x] = allowed ? p * (dP[r] - s.D[row]) : 0;
    }
}

/* sum[r][m] += Σ pair[i][key] · from[i][column] over the tile's queries that may read the key: key y + 8 r of the tile
 * that begins at j, column x + 32 m. */
template <int M>
static __device__ __forceinline__ void td_add_to_keys(float (*sum)[M], const td_row<1> *pair, const td_row<M> *from,
                                                      int64_t i, int64_t j, int64_t diagonal) {
    int y = threadIdx.x / 32, x = threadIdx.x % 32;
    int64_t first = j + y - diagonal - i; /* query of the tile that is the first to read key y */
    for (int q = 0; q < TD_TILE; q++)
#pragma unroll
        for (int r = 0; r < TD_TILE_ROWS; r++)
            if (q >= first + 8 * r)
#pragma unroll
                for (int m = 0; m < M; m++) sum[r][m] = fmaf(pair[q].x[y + 8 * r], from[q].x[x + 32 * m], sum[r][m]);
}

/* sum[r][m] += Σ dS[query][k] · K[k][column] over the tile's keys that query y + 8 r may read. */
template <int M>
static __device__ __forceinline__ void td_add_to_queries(float (*sum)[M], const td_tiles<M> &s, int64_t i, int64_t j,
                                                         int64_t diagonal) {
    int y = threadIdx.x / 32, x = threadIdx.x % 32;
    int64_t last = i + y + diagonal - j; /* key of the tile that is the last for query y */
    for (int k = 0; k < TD_TILE; k++)
#pragma unroll
        for (int r = 0; r < TD_TILE_ROWS; r++)
            if (k <= last + 8 * r)
#pragma unroll
                for (int m = 0; m < M; m++) sum[r][m] = fmaf(s.dS[y + 8 * r].x[k], s.K[k].x[x + 32 * m], sum[r][m]);
}

/* Rows y + 8 r of the tile that begins at `first`, times `scale`, to an output; nothing if it is not wanted. */
template <int M>
static __device__ __forceinline__ void td_store_tile(const td_tensor &t, const float (*sum)[M], float scale, int64_t b,
                                                     int64_t h, int64_t first) {
    int y = threadIdx.x / 32, x = threadIdx.x % 32;
    if (!t.data) return;
#pragma unroll
    for (int r = 0; r < TD_TILE_ROWS; r++)
#pragma unroll
        for (int m = 0; m < M; m++)
            if (first + y + 8 * r < t.size[2] && x + 32 * m < t.size[3])
                td_set(&t, b, h, first + y + 8 * r, x + 32 * m, scale * sum[r][m]);
}

#endif
