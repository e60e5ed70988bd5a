/* Rung 5, mma, two passes: rung 3's plan on the tensor cores. A block of four warps owns 64 keys, or in the second pass
 * 64 queries; a warp owns 16 of them, its rows, visits the other side's tile by tile, and keeps its sums in registers.
 *
 * Whose rows come first decides what must move. The pass over keys computes Sᵀ = K Qᵀ, a row a key, and not S: then P,
 * rounded and packed, is in the very registers that the product Pᵀ dO wants as its left side, and so is dS for dSᵀ Q;
 * the pass over queries computes S, for dS K. No P and no dS goes through shared memory, and no warp waits for another
 * but for the tiles.
 *
 * Gain expected: an instruction of a warp does 2048 multiply-adds where rung 3's does 32, one a thread; rung 3 was
 * bound by its loads, 1.25 floats each, and here a load of 512 bytes serves 4096. Both passes together compute seven
 * products. Registers 166 to 253; shared memory 37, 69 and 99 KiB for tiles of 64, 128 and 256 columns; one stage.
 * Measured (H200, plots/recorded/gpu_peers_16bit.csv, bf16, B·T = 16384, H·d = 2048; T 1024 / 4096 / 16384), TFLOP/s:
 * d 64 65 / 80 / 87, causal 55 / 78 / 89; d 128 120 / 152 / 162, causal 97 / 144 / 166. Rung 3 has 8 at both. Bound by
 * waiting: every tile is loaded, and then used, by the same few warps.
 * Takes what there is: any strides and alignment (16-byte loads where they fit), any d (tiles of 64, 128 or 256
 * columns, zeros from d on). The rungs after this one, which do not, send theirs here. */
#include "mma_tiles.h"

/* Rows of the visited side in a tile; columns of a block's sums: registers hold no more, so that for d > 128 a second
 * block computes P and dS again for the other columns of dK and dV. */
template <int D> static constexpr int STEP = D == 256 ? 32 : 64;
template <int D> static constexpr int PART = D == 256 ? 128 : D;
template <int D> static constexpr int PARTS = D / PART<D>;

/* A block's shared memory. */
template <typename T, int D> struct mma_tiles {
    T own[2][TD_MMA_ROWS * td_pitch<D>]; /* K and V; Q and dO */
    T visited[2][STEP<D> * td_pitch<D>]; /* Q and dO; K and V */
    float LSE[STEP<D>], rowsum[STEP<D>];
};

/* S and dP of the warp's rows, the first of which is `row`, and the tile; or their transposes, where keys are the rows.
 */
template <typename T, int D>
static __device__ __forceinline__ void own_by_visited(float (&S)[STEP<D> / 8][4], float (&dP)[STEP<D> / 8][4],
                                                      const mma_tiles<T, D> &s, int row) {
    td_rows_by_rows<T, D, STEP<D>>(S, s.own[0] + row * td_pitch<D>, s.visited[0]);
    td_rows_by_rows<T, D, STEP<D>>(dP, s.own[1] + row * td_pitch<D>, s.visited[1]);
}

/* P and dS of a pair from its S and dP, in their place. */
static __device__ __forceinline__ void weigh(float &s, float &dP, float scale, float lse, float rowsum) {
    s = td_weight(s, scale, lse);
    dP = s * (dP - rowsum);
}

/* dK and dV; the longest blocks, by a causal mask the first, start first. */
template <typename T, int D>
__global__ __launch_bounds__(TD_MMA_THREADS) void mma_keys(const td_backward w, const td_vectors v) {
    using tiles = mma_tiles<T, D>;
    TD_DYNAMIC_SHARED(tiles, shared);
    tiles &s = *shared;
    unsigned number = blockIdx.x / PARTS<D>;
    int column = blockIdx.x % PARTS<D> * PART<D>, own = threadIdx.x / 32 * TD_WARP_ROWS;
    int row = own + td_fragment_row();
    int64_t kv = number % w.Hkv, b = number / w.Hkv % w.B, j = number / w.Hkv / w.B * TD_MMA_ROWS;
    int64_t group = w.Hq / w.Hkv, low = max((int64_t)0, -w.diagonal); /* the first query that reads any key */
    int64_t first = j > w.diagonal ? (j - w.diagonal) / STEP<D> * STEP<D> : 0;
    int64_t keys = min(w.Tk, w.Tq + w.diagonal);
    float dK[PART<D> / 8][4] = {}, dV[PART<D> / 8][4] = {};
    td_load_rows<T, D, TD_MMA_ROWS>(s.own[0], w.t[TD_K], v.K, b, kv, j, 0, keys);
    td_load_rows<T, D, TD_MMA_ROWS>(s.own[1], w.t[TD_V], v.V, b, kv, j, 0, keys);
    for (int64_t h = kv * group; h < (kv + 1) * group; h++)
        for (int64_t i = first; i < w.Tq; i += STEP<D>) {
            __syncthreads(); /* nobody reads the tile before */
            td_load_rows<T, D, STEP<D>>(s.visited[0], w.t[TD_Q], v.Q, b, h, i, low, w.Tq);
            td_load_rows<T, D, STEP<D>>(s.visited[1], w.t[TD_DO], v.dO, b, h, i, low, w.Tq);
            if (threadIdx.x < STEP<D>) {
                int64_t q = i + threadIdx.x;
                s.LSE[threadIdx.x] = q < w.Tq ? td_read<float>(w.t[TD_LSE], b, h, q, 0) : 0;
                s.rowsum[threadIdx.x] = q < w.Tq ? w.D[(b * w.Hq + h) * w.Tq + q] : 0;
            }
            __syncthreads();
            float S[STEP<D> / 8][4] = {}, dP[STEP<D> / 8][4] = {};
            own_by_visited<T, D>(S, dP, s, own);
#pragma unroll
            for (int n = 0; n < STEP<D> / 8; n++)
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    int c = 8 * n + td_fragment_column() + e % 2;
                    weigh(S[n][e], dP[n][e], w.scale, s.LSE[c], s.rowsum[c]);
                }
            const td_tile_mask m = td_tile_mask_at<STEP<D>, TD_MMA_ROWS>(w, i, j, keys);
            if (!m.whole)
#pragma unroll
                for (int n = 0; n < STEP<D> / 8; n++)
#pragma unroll
                    for (int e = 0; e < 4; e++)
                        if (!td_may_read(m, 8 * n + td_fragment_column() + e % 2, row + e / 2 * 8))
                            S[n][e] = dP[n][e] = 0;
            td_registers_by_columns<T, D, STEP<D>, PART<D>>(dV, S, s.visited[1] + column);
            td_registers_by_columns<T, D, STEP<D>, PART<D>>(dK, dP, s.visited[0] + column);
        }
    td_store_rows<PART<D>>(w.t[TD_DK], (float *)s.own, dK, w.scale, b, kv, j, column);
    td_store_rows<PART<D>>(w.t[TD_DV], (float *)s.own, dV, 1, b, kv, j, column);
}

/* dQ; the longest blocks, by a causal mask the last, start first. */
template <typename T, int D>
__global__ __launch_bounds__(TD_MMA_THREADS) void mma_queries(const td_backward w, const td_vectors v) {
    using tiles = mma_tiles<T, D>;
    TD_DYNAMIC_SHARED(tiles, shared);
    tiles &s = *shared;
    unsigned number = gridDim.x - 1 - blockIdx.x;
    int own = threadIdx.x / 32 * TD_WARP_ROWS, row = own + td_fragment_row();
    int64_t h = number % w.Hq, b = number / w.Hq % w.B, i = number / w.Hq / w.B * TD_MMA_ROWS;
    int64_t kv = h / (w.Hq / w.Hkv), keys = min(w.Tk, min(w.Tq, i + TD_MMA_ROWS) + w.diagonal);
    float dQ[D / 8][4] = {}, LSE[2] = {}, rowsum[2] = {};
    td_load_rows<T, D, TD_MMA_ROWS>(s.own[0], w.t[TD_Q], v.Q, b, h, i, 0, w.Tq);
    td_load_rows<T, D, TD_MMA_ROWS>(s.own[1], w.t[TD_DO], v.dO, b, h, i, 0, w.Tq);
#pragma unroll
    for (int e = 0; e < 2; e++) {
        int64_t q = i + row + 8 * e;
        if (q >= w.Tq) continue;
        LSE[e] = td_read<float>(w.t[TD_LSE], b, h, q, 0);
        rowsum[e] = w.D[(b * w.Hq + h) * w.Tq + q];
    }
    for (int64_t j = 0; j < keys; j += STEP<D>) {
        __syncthreads();
        td_load_rows<T, D, STEP<D>>(s.visited[0], w.t[TD_K], v.K, b, kv, j, 0, keys);
        td_load_rows<T, D, STEP<D>>(s.visited[1], w.t[TD_V], v.V, b, kv, j, 0, keys);
        __syncthreads();
        float S[STEP<D> / 8][4] = {}, dP[STEP<D> / 8][4] = {};
        own_by_visited<T, D>(S, dP, s, own);
#pragma unroll
        for (int n = 0; n < STEP<D> / 8; n++)
#pragma unroll
            for (int e = 0; e < 4; e++) weigh(S[n][e], dP[n][e], w.scale, LSE[e / 2], rowsum[e / 2]);
        const td_tile_mask m = td_tile_mask_at<TD_MMA_ROWS, STEP<D>>(w, i, j, keys);
        if (!m.whole)
#pragma unroll
            for (int n = 0; n < STEP<D> / 8; n++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    if (!td_may_read(m, row + e / 2 * 8, 8 * n + td_fragment_column() + e % 2)) dP[n][e] = 0;
        td_registers_by_columns<T, D, STEP<D>, D>(dQ, dP, s.visited[0]);
    }
    td_store_rows<D>(w.t[TD_DQ], (float *)s.own, dQ, w.scale, b, h, i, 0);
}

template <typename T, int D>
static td_status launch(const td_backward &w, const td_vectors &v, void *stream, td_error *err) {
    int64_t key_tiles = (w.Tk + TD_MMA_ROWS - 1) / TD_MMA_ROWS, query_tiles = (w.Tq + TD_MMA_ROWS - 1) / TD_MMA_ROWS;
    dim3 block(TD_MMA_THREADS), key((unsigned)(w.B * w.Hkv * key_tiles * PARTS<D>)),
        query((unsigned)(w.B * w.Hq * query_tiles));
    size_t shared = sizeof(mma_tiles<T, D>);
    td_status s = TD_OK;
    if (w.t[TD_DK].data || w.t[TD_DV].data) s = TD_LAUNCH(err, (mma_keys<T, D>), key, block, shared, stream, w, v);
    if (s == TD_OK && w.t[TD_DQ].data) s = TD_LAUNCH(err, (mma_queries<T, D>), query, block, shared, stream, w, v);
    return s;
}

template <typename T>
static td_status run(const td_problem *problem, const td_tensor *t, float *workspace, void *stream, td_error *err) {
    const td_backward w = td_backward_of(problem, t, workspace);
    const td_vectors v = td_vectors_of(t);
    td_status s = td_rowsum_16bit_launch<T>(w, stream, err);
    if (s) return s;
    return w.d <= 64    ? launch<T, 64>(w, v, stream, err)
           : w.d <= 128 ? launch<T, 128>(w, v, stream, err)
                        : launch<T, 256>(w, v, stream, err);
}

TD_BACKWARD_MATRIX_VARIANTS(backward_mma_two_pass,
                            "rung 3 on the tensor cores: P and dS never leave the registers they were computed in",
                            "S and dP are computed twice; " TD_LIMIT_MASKS_BY_PRODUCT, TD_MEM_WORKSPACE, td_mma_support,
                            td_backward_D_bytes);
