/* Rung 6, mma: rung 5's pass over keys alone. It has dS of every pair, so it also has a part of dQ = dS K; the parts of
 * a head meet by atomic additions. Five products instead of seven.
 *
 * A block owns 128 keys. dS of its warps meets in shared memory, since dQ sums over keys. Hidden behind the products
 * are
 * - copies: the next tile of Q and dO is on its way while this one is used (two stages);
 * - barriers, one a tile for d ≤ 64 and two for d = 128: dQ of a tile is computed after the next tile's barrier, from
 *   the other of two places for dS, so that between two barriers a warp has much to do, in its own time;
 * - the way to memory: additions of four floats, 512 bytes together.
 *
 * Rung 5 loads a fragment of B for one instruction: 256 bytes, two cycles of shared memory, for what the tensor cores
 * do in 1.6. Here every warp has 32 rows, and loads half of that. For d ≤ 64 it keeps dK and dV of its 32 keys. For d =
 * 128 they are more than its registers: two warps share 32 keys, one computes P and keeps dV, the other computes dP and
 * keeps dK, and P passes from the one to the other through shared memory, unrounded.
 *
 * Gain expected: 1.4 for the products, and once more what was not hidden: 2 or more. Registers 255, no more than a
 * thread may have; shared memory 97 KiB for d ≤ 64, two blocks of 128 threads on a multiprocessor; 193 KiB for d = 128,
 * one of 256; two stages.
 * Measured (H200, plots/recorded/gpu_peers_16bit.csv, bf16, B·T = 16384, H·d = 2048; T 1024 / 4096 / 16384), TFLOP/s:
 * d 64 289 / 331 / 340, causal 221 / 311 / 346; d 128 299 / 346 / 361, causal 223 / 324 / 362. FlashAttention-2 in the
 * same run: 216 / 271 / 286, 155 / 233 / 274; 231 / 291 / 307, 171 / 257 / 312; it has the same instructions.
 * What it took at d 128, T 4096: 16 rows a warp and all of P in its registers 256; 32 rows, two warps sharing them,
 * 304; copies, masks and places in shared memory in fewer instructions 337. What would cost: dQ at the same moment in
 * both of the two warps, which then also wait at the same moment, 303; one body for both, which chooses its tensors, 12
 * %; a dozen spilled registers, 5 %. A barrier of two warps, where P passes between them, would gain 1.5 %. Bound (ncu,
 * T 1024) by shared memory, busy in 67 % of all cycles at d 128, 72 % at d 64, while the tensor cores are in 52 %; and
 * by the two warps that a scheduler has: one of them can issue in 28 and 35 %. Registers allow no third. */
#include "mma_pairs.h"
#include "mma_sums.h"

/* Queries of a tile; keys of a block, and of a warp; dQ of a tile is divided among the warps, PART rows by PART
 * columns. */
enum { STEP = 64, KEYS = 128, OWN = 32, PART = 32, M = OWN / 16 };
/* Tq, and how far off a diagonal may be, in an int. */
enum { FAR = 1 << 29 };
/* Of dK and dV a warp keeps both, or one. */
template <int D> static constexpr int KEPT = D == 64 ? 2 : 1;
template <int D> static constexpr int THREADS = KEYS / OWN * 32 * 2 / KEPT<D>;

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
    float P[D == 64 ? 1 : KEYS * STEP]; /* in fragments */
};

/* What a block works at: a tile of queries, the place where it is in shared memory, and dQ of the tile before, which is
 * yet to come; NULL: none, or not wanted. */
struct tile {
    int h, i;
};
struct work {
    tile now;
    int stage;
    float *dQ;
};

/* Start to copy a tile of queries. */
template <typename T, int D>
static __device__ __forceinline__ void copy_queries(swizzled_tiles<T, D> &s, const td_backward &w, int b, tile t,
                                                    int stage) {
    int64_t low = max((int64_t)0, -w.diagonal); /* the first query that reads any key */
    td_copy_tile<T, D, STEP, THREADS<D>>(s.stage[stage].Q, w.t[TD_Q], b, t.h, t.i, low, w.Tq);
    td_copy_tile<T, D, STEP, THREADS<D>>(s.stage[stage].dO, w.t[TD_DO], b, t.h, t.i, low, w.Tq);
    int r = threadIdx.x;
    if (r < STEP) {
        bool inside = t.i + r < w.Tq;
        const td_tensor &LSE = w.t[TD_LSE];
        td_copy1_async(s.query[stage].LSE + r,
                       (const float *)LSE.data + (inside ? td_offset(&LSE, b, t.h, t.i + r, 0) : 0), inside);
        td_copy1_async(s.query[stage].rowsum + r, w.D + (inside ? (b * w.Hq + t.h) * w.Tq + t.i + r : 0), inside);
    }
}

/* d = 128: one half of the warps. */
static __device__ __forceinline__ bool keeps_dV(void) {
    return threadIdx.x < KEYS / OWN * 32;
}

/* dQ += dS K of the tile before, which all warps have finished. */
template <typename T, int D>
static __device__ __forceinline__ void add_to_queries(const swizzled_tiles<T, D> &s, const td_backward &w,
                                                      const work &x) {
    if (!x.dQ) return;
    int warp = threadIdx.x / 32, row = warp % (STEP / PART) * PART, column = warp / (STEP / PART) * PART;
    float dQ[PART / 16][PART / 8][4] = {};
    td_columns_by_columns_mma<T, STEP, D, KEYS, PART / 16, PART>(dQ, s.dS[x.stage ^ 1], row, s.K, column);
    td_add_fragments<PART / 16, PART>(x.dQ + td_fragment_place(w, row, column / 16), w, dQ);
}

/* A tile of queries and the block's keys, d ≤ 64; half the tile at a time, or S and dP would need too many registers.
 */
template <typename T>
static __device__ __forceinline__ void visit(swizzled_tiles<T, 64> &s, float (&kept)[2][M][8][4], const td_backward &w,
                                             const work &x, td_tile_mask mask) {
    constexpr int D = 64, HALF = STEP / 2;
    int own = threadIdx.x / 32 * OWN;
    add_to_queries(s, w, x);
#pragma unroll 1
    for (int q = 0; q < STEP; q += HALF) {
        const T *Q = s.stage[x.stage].Q + q * D, *dO = s.stage[x.stage].dO + q * D;
        uint32_t packed[M][HALF / 16][4];
        float P[M][HALF / 8][4] = {}, dS[M][HALF / 8][4];
        td_swizzled_by_rows<T, D, M, HALF>(P, s.K + own * D, Q);
        td_weigh<M, HALF>(P, s.query[x.stage].LSE + q, w.scale);
        td_drop_pairs<M, HALF>(P, mask, q, own);
        td_pack_fragments<T, M, HALF>(packed, P);
        td_packed_by_columns<T, D, M, HALF>(kept[0], packed, dO);
        td_begin_dP<M, HALF>(dS, s.query[x.stage].rowsum + q);
        td_swizzled_by_rows<T, D, M, HALF>(dS, s.V + own * D, dO);
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int n = 0; n < HALF / 8; n++)
#pragma unroll
                for (int e = 0; e < 4; e++) dS[m][n][e] *= P[m][n][e];
        td_drop_pairs<M, HALF>(dS, mask, q, own);
        td_pack_fragments<T, M, HALF>(packed, dS);
        td_put_packed<T, STEP, M, HALF>(s.dS[x.stage] + own * STEP, packed, q / 8);
        td_packed_by_columns<T, D, M, HALF>(kept[1], packed, Q);
    }
}

/* The same for d = 128. The two that share keys are a scheduler's two warps. They take turns with dQ. */
template <typename T>
static __device__ __forceinline__ void visit(swizzled_tiles<T, 128> &s, float (&kept)[1][M][16][4],
                                             const td_backward &w, const work &x, td_tile_mask mask) {
    constexpr int D = 128;
    int own = threadIdx.x / 32 % (KEYS / OWN) * OWN;
    const T *Q = s.stage[x.stage].Q, *dO = s.stage[x.stage].dO;
    uint32_t packed[M][STEP / 16][4];
    float S[M][STEP / 8][4] = {}; /* P or dP */
    if (keeps_dV()) {
        td_swizzled_by_rows<T, D, M, STEP>(S, s.K + own * D, Q);
        td_weigh<M, STEP>(S, s.query[x.stage].LSE, w.scale);
        td_drop_pairs<M, STEP>(S, mask, 0, own);
        td_leave_P<M, STEP>(s.P + own * STEP, S);
    } else {
        add_to_queries(s, w, x);
        td_begin_dP<M, STEP>(S, s.query[x.stage].rowsum);
        td_swizzled_by_rows<T, D, M, STEP>(S, s.V + own * D, dO);
    }
    __syncthreads(); /* P is there */
    if (keeps_dV()) {
        td_pack_fragments<T, M, STEP>(packed, S);
        td_packed_by_columns<T, D, M, STEP>(kept[0], packed, dO);
        add_to_queries(s, w, x);
    } else {
        td_multiply_by_P<M, STEP>(S, s.P + own * STEP);
        td_drop_pairs<M, STEP>(S, mask, 0, own);
        td_pack_fragments<T, M, STEP>(packed, S);
        td_put_packed<T, STEP, M, STEP>(s.dS[x.stage] + own * STEP, packed, 0);
        td_packed_by_columns<T, D, M, STEP>(kept[0], packed, Q);
    }
}

/* dK and dV, and each tile's part of dQ. The blocks of a head follow one another, so that what they read, and add to,
 * is in the cache; but with a causal mask it saves more that of all heads the longest blocks start first. */
template <typename T, int D>
__global__ __launch_bounds__(THREADS<D>, D == 64 ? 2 : 1) void mma_backward(const td_backward w, float *dQ,
                                                                            bool vectors_dK, bool vectors_dV) {
    using tiles = swizzled_tiles<T, D>;
    TD_DYNAMIC_SHARED(tiles, shared);
    tiles &s = *shared;
    unsigned blocks = (unsigned)((w.Tk + KEYS - 1) / KEYS), heads = gridDim.x / blocks, number = blockIdx.x;
    bool all = w.diagonal >= w.Tk; /* every query reads every key */
    unsigned head = all ? number / blocks : number % heads, kv = head % (unsigned)w.Hkv;
    int b = (int)(head / (unsigned)w.Hkv);
    int64_t j = (int64_t)(all ? number % blocks : number / heads) * KEYS;
    int64_t keys = min(w.Tk, w.Tq + w.diagonal);
    int diagonal = (int)max(min(w.diagonal - j, (int64_t)FAR), -(int64_t)FAR),
        block_keys = (int)min(keys - j, (int64_t)KEYS);
    int group = (int)(w.Hq / w.Hkv), first = j > w.diagonal ? (int)min((j - w.diagonal) / STEP * STEP, w.Tq) : 0;
    int left = group * (int)((w.Tq - first + STEP - 1) / STEP);
    float kept[KEPT<D>][M][D / 8][4] = {};
    work x = {{(int)kv * group, first}, 0, NULL};
    if (left) {
        td_copy_tile<T, D, KEYS, THREADS<D>>(s.K, w.t[TD_K], b, kv, j, 0, keys);
        td_copy_tile<T, D, KEYS, THREADS<D>>(s.V, w.t[TD_V], b, kv, j, 0, keys);
        copy_queries<T, D>(s, w, b, x.now, 0);
    }
    for (; left > 0; left--) {
        tile next = x.now.i + STEP < w.Tq ? tile{x.now.h, x.now.i + STEP} : tile{x.now.h + 1, first};
        td_copies_wait();
        __syncthreads(); /* this tile is here; of the one before, dS is complete, and the rest is no longer read */
        if (left > 1) copy_queries<T, D>(s, w, b, next, x.stage ^ 1);
        visit(s, kept, w, x, td_tile_mask_of<STEP, KEYS>(x.now.i + diagonal, (int)w.Tq - x.now.i, block_keys));
        if (dQ) x.dQ = td_fragments_of<D>(dQ, w, b * w.Hq + x.now.h) + td_fragment_place(w, x.now.i, 0);
        x.now = next, x.stage ^= 1;
    }
    __syncthreads();
    add_to_queries(s, w, x);
    __syncthreads(); /* nobody reads shared memory any more */
    int warp = threadIdx.x / 32, own = warp % (KEYS / OWN) * OWN;
    float *room = (float *)s.K + warp * OWN * D;
    if (KEPT<D> == 2 || keeps_dV())
        td_store_own_rows<T, D, M>(w.t[TD_DV], vectors_dV, room, kept[0], 1, b, kv, j + own);
    if (KEPT<D> == 2 || !keeps_dV())
        td_store_own_rows<T, D, M>(w.t[TD_DK], vectors_dK, room, kept[KEPT<D> - 1], w.scale, b, kv, j + own);
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
    td_status s = TD_LAUNCH(err, (mma_backward<T, D>), grid, dim3(THREADS<D>), sizeof(swizzled_tiles<T, D>), stream, w,
                            sums, dK->dtype == type && td_in_vectors(dK), dV->dtype == type && td_in_vectors(dV));
    return s == TD_OK && sums ? td_store_fragments_launch<T, D>(w, sums, stream, err) : s;
}

template <typename T>
static td_status run(const td_problem *problem, const td_tensor *t, float *workspace, void *stream, td_error *err) {
    const td_attention_problem *a = &problem->attention;
    const td_variant *lower = t[TD_Q].dtype == TD_BF16 ? &TD_GPU(attention_backward_mma_two_pass_bf16)
                                                       : &TD_GPU(attention_backward_mma_two_pass_fp16);
    if (a->d > 128 || a->Tq > FAR || !fits(t)) return lower->run(problem, t, workspace, stream, err);
    const td_backward w = td_backward_of(problem, t, workspace);
    float *sums = t[TD_DQ].data ? workspace + td_backward_D_floats(a) : NULL;
    td_status s = td_rowsum_16bit_launch<T>(w, stream, err);
    if (s == TD_OK && sums) s = td_zero(sums, (size_t)td_fragment_floats(a, width(a)) * sizeof(float), stream, err);
    if (s) return s;
    return a->d <= 64 ? launch<T, 64>(w, sums, stream, err) : launch<T, 128>(w, sums, stream, err);
}

TD_BACKWARD_MATRIX_VARIANTS(
    backward_mma, "rung 2 on the tensor cores: five products, one or two barriers a tile, dQ by atomic additions",
    TD_LIMIT_BITS_VARY "; " TD_LIMIT_MASKS_BY_PRODUCT
                       "; d above 128 or rows not in 16-byte pieces: runs backward_mma_two_pass",
    TD_MEM_WORKSPACE, td_mma_support, workspace_bytes);
