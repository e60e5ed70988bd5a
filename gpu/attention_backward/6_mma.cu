/* Rung 6, mma: rung 5's pass over keys alone. It has dS of every pair, so it also has a part of dQ = dS K; the parts of
 * a head meet by atomic additions. Five products instead of seven.
 *
 * A block owns 128 keys. dS of its warps meets in shared memory, since dQ sums over keys; everything else is rung 5's.
 * Three more things are hidden behind the products:
 * - copies: the next tile of Q and dO is on its way while this one is used (two stages);
 * - barriers: one for a tile. dQ of a tile is computed after the next tile's barrier, from the other of two places for
 *   dS, so that between two barriers a warp has all five products to do, in its own time;
 * - the way to memory: additions of four floats, 512 bytes together.
 * A tile's rows are swizzled, not padded. For d ≤ 64 a warp owns 32 keys, so that a fragment of Q or dO that it loads
 * serves two products; at d 128 dK and dV of 16 keys fill half its registers. */
#include "mma_sums.h"

/* Queries of a tile; keys of a block. */
enum { STEP = 64, KEYS = 128 };
/* A warp's rows of keys, in 16s; warps of a block; queries whose S and dP a warp has in registers at a time. */
template <int D> static constexpr int SIXTEENS = D == 64 ? 2 : 1;
template <int D> static constexpr int WARPS = KEYS / 16 / SIXTEENS<D>;
template <int D> static constexpr int SLICE_OF = D == 64 ? 32 : 64;
/* dQ of a tile is divided among the warps: 32 rows and 32 columns for each. */
enum { PART = 32 };

/* A block's shared memory. */
template <typename T, int D> struct swizzled_tiles {
    T K[KEYS * D], V[KEYS * D];
    struct {
        T Q[STEP * D], dO[STEP * D];
    } stage[2];
    T dS[2][KEYS * STEP]; /* a row a key */
    struct {
        float LSE[STEP], rowsum[STEP];
    } query[2];
};

/* Where a tile of queries is. */
struct tile {
    int64_t h, i;
};

template <typename T, int D>
static __device__ __forceinline__ void copy_queries(swizzled_tiles<T, D> &s, const td_backward &w, int64_t b, tile t,
                                                    int stage) {
    constexpr int THREADS = 32 * WARPS<D>;
    int64_t low = max((int64_t)0, -w.diagonal); /* the first query that reads any key */
    td_copy_tile<T, D, STEP, THREADS>(s.stage[stage].Q, w.t[TD_Q], b, t.h, t.i, low, w.Tq);
    td_copy_tile<T, D, STEP, THREADS>(s.stage[stage].dO, w.t[TD_DO], b, t.h, t.i, low, w.Tq);
    int r = threadIdx.x;
    if (r < STEP) {
        bool inside = t.i + r < w.Tq;
        const td_tensor &LSE = w.t[TD_LSE];
        td_copy1_async(s.query[stage].LSE + r,
                       (const float *)LSE.data + (inside ? td_offset(&LSE, b, t.h, t.i + r, 0) : 0), inside);
        td_copy1_async(s.query[stage].rowsum + r, w.D + (inside ? (b * w.Hq + t.h) * w.Tq + t.i + r : 0), inside);
    }
}

/* Pairs of the warp's keys, the first of which is `key`, with queries `query` …: 0 where the mask forbids. */
template <int M, int QUERIES>
static __device__ __forceinline__ void drop_pairs(float (&pairs)[M][QUERIES / 8][4], td_tile_mask m, int query,
                                                  int key) {
    query += td_fragment_column(), key += td_fragment_row();
#pragma unroll
    for (int k = 0; k < M; k++)
#pragma unroll
        for (int n = 0; n < QUERIES / 8; n++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                if (!td_may_read(m, query + 8 * n + e % 2, key + 16 * k + e / 2 * 8)) pairs[k][n][e] = 0;
}

/* dQ += dS K of a tile that all warps have finished. */
template <typename T, int D>
static __device__ __forceinline__ void add_to_queries(float *sums, const swizzled_tiles<T, D> &s, const td_backward &w,
                                                      int64_t b, tile t, int place) {
    int warp = threadIdx.x / 32, row = warp % 2 * PART, column = warp / 2 * PART;
    float dQ[PART / 16][PART / 8][4] = {};
    td_columns_by_columns_mma<T, STEP, D, KEYS, PART / 16, PART>(dQ, s.dS[place], row, s.K, column);
    td_add_fragments<D, PART / 16, PART>(sums, w, b * w.Hq + t.h, t.i + row, column, dQ);
}

/* dK and dV, and each tile's part of dQ, unless `sums` is NULL. The longest blocks, by a causal mask the first, start
 * first. */
template <typename T, int D>
__global__ __launch_bounds__(32 * WARPS<D>, 8 / WARPS<D>) void mma_backward(const td_backward w, float *sums,
                                                                            bool vectors_dK, bool vectors_dV) {
    using tiles = swizzled_tiles<T, D>;
    TD_DYNAMIC_SHARED(tiles, shared);
    tiles &s = *shared;
    constexpr int M = SIXTEENS<D>, SLICE = SLICE_OF<D>, THREADS = 32 * WARPS<D>;
    int64_t kv = blockIdx.x % w.Hkv, b = blockIdx.x / w.Hkv % w.B, j = blockIdx.x / w.Hkv / w.B * KEYS;
    int64_t group = w.Hq / w.Hkv, first = j > w.diagonal ? (j - w.diagonal) / STEP * STEP : 0;
    int64_t tiles_left = first < w.Tq ? group * ((w.Tq - first + STEP - 1) / STEP) : 0;
    int64_t keys = min(w.Tk, w.Tq + w.diagonal);
    int own = threadIdx.x / 32 * 16 * M, stage = 0;
    float scale = w.scale * 0x1.715476p+0f; /* 2^(s log₂e) is e^s */
    float dK[M][D / 8][4] = {}, dV[M][D / 8][4] = {};
    tile now = {kv * group, first}, before = now;
    if (tiles_left) {
        td_copy_tile<T, D, KEYS, THREADS>(s.K, w.t[TD_K], b, kv, j, 0, keys);
        td_copy_tile<T, D, KEYS, THREADS>(s.V, w.t[TD_V], b, kv, j, 0, keys);
        copy_queries<T, D>(s, w, b, now, 0);
    }
    for (bool any = false; tiles_left > 0; tiles_left--, any = true) {
        tile next = now.i + STEP < w.Tq ? tile{now.h, now.i + STEP} : tile{now.h + 1, first};
        td_copies_wait();
        __syncthreads(); /* this tile is here; of the one before, dS is complete, and the rest no longer read */
        if (tiles_left > 1) copy_queries<T, D>(s, w, b, next, stage ^ 1);
        if (any && sums) add_to_queries<T, D>(sums, s, w, b, before, stage ^ 1);
        const td_tile_mask m = td_tile_mask_at<STEP, KEYS>(w, now.i, j, keys);
#pragma unroll 1
        for (int q = 0; q < STEP; q += SLICE) {
            const T *Q = s.stage[stage].Q + q * D, *dO = s.stage[stage].dO + q * D;
            const float *LSE = s.query[stage].LSE + q, *rowsum = s.query[stage].rowsum + q;
            float P[M][SLICE / 8][4] = {}, dS[M][SLICE / 8][4];
            uint32_t packed[M][SLICE / 16][4];
            td_swizzled_by_rows<T, D, M, SLICE>(P, s.K + own * D, Q);
#pragma unroll
            for (int n = 0; n < SLICE / 8; n++)
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    int c = 8 * n + td_fragment_column() + e % 2;
#pragma unroll
                    for (int k = 0; k < M; k++) {
                        P[k][n][e] = td_exp2(fmaf(P[k][n][e], scale, -0x1.715476p+0f * LSE[c]));
                        dS[k][n][e] = -rowsum[c];
                    }
                }
            if (!m.whole) drop_pairs<M, SLICE>(P, m, q, own);
#pragma unroll
            for (int k = 0; k < M; k++) td_pack_rows<T, SLICE>(packed[k], P[k]);
            td_packed_by_columns<T, D, M, SLICE>(dV, packed, dO);
            td_swizzled_by_rows<T, D, M, SLICE>(dS, s.V + own * D, dO); /* dP − D */
#pragma unroll
            for (int k = 0; k < M; k++)
#pragma unroll
                for (int n = 0; n < SLICE / 8; n++)
#pragma unroll
                    for (int e = 0; e < 4; e++) dS[k][n][e] *= P[k][n][e];
            if (!m.whole) drop_pairs<M, SLICE>(dS, m, q, own);
#pragma unroll
            for (int k = 0; k < M; k++) {
                td_pack_rows<T, SLICE>(packed[k], dS[k]);
                td_put_packed<T, STEP, SLICE>(s.dS[stage] + (own + 16 * k) * STEP, packed[k], q / 8);
            }
            td_packed_by_columns<T, D, M, SLICE>(dK, packed, Q);
        }
        before = now, now = next, stage ^= 1;
    }
    __syncthreads();
    if (first < w.Tq && sums) add_to_queries<T, D>(sums, s, w, b, before, stage ^ 1);
    float *room = (float *)s.stage + own * D;
    td_store_own_rows<T, D, M>(w.t[TD_DK], vectors_dK, room, dK, w.scale, b, kv, j + own);
    td_store_own_rows<T, D, M>(w.t[TD_DV], vectors_dV, room, dV, 1, b, kv, j + own);
}

static bool fits(const td_tensor *t) {
    return td_in_vectors(&t[TD_Q]) && td_in_vectors(&t[TD_K]) && td_in_vectors(&t[TD_V]) && td_in_vectors(&t[TD_DO]);
}

static int width(const td_attention_problem *a) {
    return a->d <= 64 ? 64 : 128;
}

static size_t workspace_bytes(const td_problem *problem) {
    const td_attention_problem *a = &problem->attention;
    return td_backward_D_bytes(problem) + (size_t)td_fragment_floats(a, width(a)) * sizeof(float);
}

template <typename T, int D> static td_status launch(const td_backward &w, float *sums, void *stream, td_error *err) {
    const td_tensor *dK = &w.t[TD_DK], *dV = &w.t[TD_DV];
    td_dtype type = w.t[TD_Q].dtype;
    dim3 grid((unsigned)(w.B * w.Hkv * ((w.Tk + KEYS - 1) / KEYS)));
    td_status s = TD_LAUNCH(err, (mma_backward<T, D>), grid, dim3(32 * WARPS<D>), sizeof(swizzled_tiles<T, D>), stream,
                            w, sums, dK->dtype == type && td_in_vectors(dK), dV->dtype == type && td_in_vectors(dV));
    return s == TD_OK && sums ? td_store_fragments_launch<T, D>(w, sums, stream, err) : s;
}

template <typename T>
static td_status run(const td_problem *problem, const td_tensor *t, float *workspace, void *stream, td_error *err) {
    const td_attention_problem *a = &problem->attention;
    const td_variant *lower = t[TD_Q].dtype == TD_BF16 ? &TD_GPU(attention_backward_mma_two_pass_bf16)
                                                       : &TD_GPU(attention_backward_mma_two_pass_fp16);
    if (a->d > 128 || !fits(t)) return lower->run(problem, t, workspace, stream, err);
    const td_backward w = td_backward_of(problem, t, workspace);
    float *sums = t[TD_DQ].data ? workspace + td_backward_D_floats(a) : NULL;
    td_status s = td_rowsum_16bit_launch<T>(w, stream, err);
    if (s == TD_OK && sums) s = td_zero(sums, (size_t)td_fragment_floats(a, width(a)) * sizeof(float), stream, err);
    if (s) return s;
    return a->d <= 64 ? launch<T, 64>(w, sums, stream, err) : launch<T, 128>(w, sums, stream, err);
}

TD_BACKWARD_MATRIX_VARIANTS(backward_mma,
                            "rung 2 on the tensor cores: five products, one barrier a tile, dQ by atomic additions",
                            TD_LIMIT_BITS_VARY
                            "; " TD_LIMIT_MASKS_BY_PRODUCT
                            "; d above 128 or rows not in 16-byte pieces: runs backward_mma_two_pass",
                            TD_MEM_WORKSPACE, td_mma_support, workspace_bytes);
