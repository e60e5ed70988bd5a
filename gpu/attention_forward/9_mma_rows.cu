/* Rung 9: FlashAttention-2's plan, a warp owns its rows alone (Dao 2023, sections 3.2 and 3.3).
 *
 * The idea: in rungs 6 to 8 two warps share each row, and so they meet three times a tile: with their tiles, for the
 * maximum, for P. Here the warps lie over the rows only. A row's maximum and sum are found by four lanes, with
 * shuffles, and P stays where it is: what the product leaves in a lane is what the next product takes from it. One
 * barrier a tile remains, for K and V. The price: each warp reads K and V whole, where rung 8's read half, and has
 * fewer rows for them. One ldmatrix of K or V serves four instructions with 32 rows a warp and two with 16 (d 256);
 * rung 8's serve 8, 6 and 4 at d 64, 128, 256. What is no product is made less: the scale goes into the exponent's
 * multiply-add, and the maximum is then one of unscaled scores. Under a causal mask the blocks with most keys start
 * first.
 *
 * Tensors whose rows 16-byte copies cannot take, and a scale of 0 or less, for which the largest score is not the one
 * of the largest q·k, go to rung 6.
 *
 * At d 64, 128, 256: 253, 255, 230 registers; 82, 98, 97 KiB of shared memory; two stages; two blocks of four warps on
 * a multiprocessor.
 * Measured (as rung 6, plots/recorded/gpu_peers_16bit.csv): d 64 310 / 348 / 358, causal 238 / 327 / 361; d 128 338 /
 * 391 / 409, causal 265 / 370 / 411. FlashAttention-2 in the same run: 285 / 305 / 311, 214 / 284 / 300; 330 / 356 /
 * 364, 245 / 308 / 327. Other tiles, T 4096, no mask, in a run where these gave 341 and 377: at d 64 128 × 64 323, 64 ×
 * 64 243; at d 128 128 × 32 338, 64 × 64 276, eight warps of 16 rows 277. The loop over d in the first product unrolled
 * by 1, 2, 4 instead of whole: 339, 328, 334 at d 128. Pairs from earlier runs, each pair of one run:
 * without longest first 318 instead of 351 at d 128, T 4096, causal; O multiplied also by ones 365 instead of 379 at d
 * 128; not asking at d 64 343 instead of 317.
 * What bounds it: latency. The matrix units are busy in 59 % of the cycles, shared memory in 51 %, and a scheduler
 * issues in 38 % (Nsight Compute, d 128): it has two warps, each of which mostly waits for its own last instruction,
 * and 255 registers leave no room for a third. Busy all the time they would give some 640 TFLOP/s, which is all that
 * mma.sync gets out of them; the next rungs' wgmma gets more.
 *
 * Rounding points           Q, K, V   q·k, m, l, a   P          O, LSE
 *   mma_rows_bf16/fp16      16 bits   float          16 bits    float, then their tensor's dtype */
#include "attention_forward.h"
#include "mma_block.h"
#include "mma_softmax.h"

/* Of shared memory: Q (ROWS,D), twice K and V (KEYS,D), and l of each lane's rows. */
template <typename tile> static constexpr size_t shared_bytes(void) {
    return (tile::ROWS + 4 * tile::KEYS) * tile::D * 2 + 2 * tile::DOWNWARD * tile::THREADS * 4;
}

/* From S to P in place; m, l (of this lane's keys) and O follow the new maximum. After the first tiles most maxima
 * stay, and the wider O is, the more it saves to ask. */
template <typename tile>
static __device__ __forceinline__ void softmax(float (&S)[tile::DOWNWARD][tile::S_WIDE][4],
                                               float (&O)[tile::DOWNWARD][tile::O_WIDE][4],
                                               float (&m)[tile::DOWNWARD][2], float (&l)[tile::DOWNWARD][2],
                                               const float (&most)[tile::DOWNWARD][2], float scale) {
#pragma unroll
    for (int i = 0; i < tile::DOWNWARD; i++)
#pragma unroll
        for (int r = 0; r < 2; r++) {
            float m_new = fmaxf(m[i][r], most[i][r]), base = td_shift(m_new), shift = base * scale;
            /* the same maximum: exactly 1, or what is off would grow with every tile */
            float alpha = td_exp2((m[i][r] - base) * scale);
            m[i][r] = m_new, l[i][r] *= alpha;
#pragma unroll
            for (int j = 0; j < tile::S_WIDE; j++)
#pragma unroll
                for (int e = 2 * r; e < 2 * r + 2; e++)
                    l[i][r] += S[i][j][e] = td_exp2(fmaf(S[i][j][e], scale, -shift));
            if (tile::D == 64 || __any_sync(0xffffffffu, alpha != 1))
#pragma unroll
                for (int j = 0; j < tile::O_WIDE; j++) O[i][j][2 * r] *= alpha, O[i][j][2 * r + 1] *= alpha;
        }
}

/* What all threads need alike, and l between two tiles, wait in shared memory: at d 128 O and S take 192 registers of a
 * thread's 255, and the rest must do for fragments on their way. */
template <typename T> struct whence {
    const T *K, *V;
    int64_t row;
};
template <typename tile> static __device__ __forceinline__ void park(float *room, const float (&l)[tile::DOWNWARD][2]) {
    if constexpr (tile::D > 64)
#pragma unroll
        for (int n = 0; n < 2 * tile::DOWNWARD; n++) room[n * tile::THREADS + threadIdx.x] = l[n / 2][n % 2];
}
template <typename tile>
static __device__ __forceinline__ void fetch(float (&l)[tile::DOWNWARD][2], const float *room) {
    if constexpr (tile::D > 64)
#pragma unroll
        for (int n = 0; n < 2 * tile::DOWNWARD; n++) l[n / 2][n % 2] = room[n * tile::THREADS + threadIdx.x];
}

template <typename T, typename tile>
__global__ void __launch_bounds__(tile::THREADS, tile::BLOCKS) mma_rows(td_forward x, td_mma_plan plan) {
    constexpr int ROWS = tile::ROWS, KEYS = tile::KEYS, D = tile::D, M = tile::DOWNWARD;
    TD_DYNAMIC_SHARED(T, Q);
    T *K = Q + ROWS * D, *V = K + KEYS * D;
    float *room = (float *)(V + 3 * KEYS * D);
    td_lane at = td_lane_of<tile>();
    /* a causal mask leaves the last rows most keys: they start first, of all heads */
    bool causal = x.a.mask != TD_MASK_NONE;
    int heads = (int)(x.a.B * x.a.Hq), tiles = gridDim.x / heads, d = (int)x.a.d;
    int head = causal ? blockIdx.x % heads : blockIdx.x / tiles;
    td_queries q = td_queries_of<tile>(x, plan, head, causal ? tiles - 1 - blockIdx.x / heads : blockIdx.x % tiles);
    __shared__ whence<T> from;
    if (threadIdx.x == 0) from = {td_row<T>(x.K, q.b, q.kv, 0), td_row<T>(x.V, q.b, q.kv, 0), q.row};
    __syncthreads();
    int other = 2 * KEYS * D;

    if (q.end > 0) {
        td_copy_tile<tile, ROWS>(Q, td_row<T>(x.Q, q.b, q.h, 0), x.Q, q.first, (int)x.a.Tq, d);
        td_copy_tile<tile, KEYS>(K, from.K, x.K, 0, q.end, d);
        td_copy_tile<tile, KEYS>(V, from.V, x.V, 0, q.end, d);
        td_copies_commit();
    }
    float O[M][tile::O_WIDE][4], m[M][2], l[M][2];
    td_begin<tile>(O, m, l);
    park<tile>(room, l);

#pragma unroll 1
    for (int begin = 0; begin < q.end; begin += KEYS) {
        /* row r of the block may read the first `limit` + r of these keys */
        int keys = min(q.end - begin, KEYS), limit = min(q.reach - begin, KEYS);
        td_copies_wait_but<0>();
        __syncthreads(); /* all have these tiles, and nobody reads the ones before any more */
        if (begin + KEYS < q.end) {
            td_copy_tile<tile, KEYS>(K + other, from.K, x.K, begin + KEYS, q.end, d);
            td_copy_tile<tile, KEYS>(V + other, from.V, x.V, begin + KEYS, q.end, d);
            td_copies_commit();
        }

        float S[M][tile::S_WIDE][4] = {}, most[M][2];
        td_add_qk<tile>(S, Q, K, at);
        if (keys < KEYS || limit + at.row < KEYS) td_mask_scores<tile>(S, at, keys, limit);
        td_row_max<tile>(most, S);
        fetch<tile>(l, room);
        softmax<tile>(S, O, m, l, most, x.scale);
        park<tile>(room, l);
#pragma unroll
        for (int k = 0; k < KEYS; k += 16) {
            uint32_t a[M][4];
#pragma unroll
            for (int i = 0; i < M; i++) td_pack_a<T>(a[i], S[i][k / 8], S[i][k / 8 + 1]);
            td_add_pv<tile>(O, a, V, k, at);
        }
        K += other, V += other, other = -other;
    }

    fetch<tile>(l, room);
    td_sum_rows<tile>(l);
#pragma unroll
    for (int n = 0; n < 2 * M; n++) m[n / 2][n % 2] *= x.scale;
    td_write<tile, T>(x, from.row, O, m, l, at, (float *)Q, plan.eights_out);
}

template <typename T, typename tile> static td_status launch(const td_forward *x, void *stream, td_error *err) {
    return TD_LAUNCH(err, (mma_rows<T, tile>), td_mma_grid<tile>(x), tile::THREADS, shared_bytes<tile>(), stream, *x,
                     td_mma_plan_of(x));
}

template <typename T>
static td_status run(const td_problem *problem, const td_tensor *tensors, void *stream, td_error *err) {
    td_forward x = td_forward_of(&problem->attention, tensors);
    if (x.scale <= 0 || !td_mma_plan_of(&x).eights_in) return td_run_mma(problem, tensors, stream, err);
    return x.a.d <= 64    ? launch<T, td_mma_tile<128, 128, 64, 4, 1, 2, true>>(&x, stream, err)
           : x.a.d <= 128 ? launch<T, td_mma_tile<128, 64, 128, 4, 1, 2, true>>(&x, stream, err)
                          : launch<T, td_mma_tile<64, 32, 256, 4, 1, 2, true>>(&x, stream, err);
}

TD_FORWARD_MATRIX_VARIANTS(mma_rows,
                           "FlashAttention-2's plan: a warp owns its rows alone, and P stays in its registers",
                           TD_LIMIT_EIGHTS "; so does a scale of 0 or less", td_mma_supports);
