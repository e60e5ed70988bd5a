/* Rung 10: Hopper's matrix instructions, and tiles that one thread fetches.
 *
 * The idea: mma.sync's operands are registers. Each of rung 9's warps loads all of K and V into its own by ldmatrix,
 * for 32 rows of S (16 at d 256). wgmma multiplies 64 × N × 16 for four warps at once and reads K and V from shared
 * memory itself, once for 64 rows: half of the traffic (a quarter at d 256), no instruction and no register for it. P
 * alone is in registers, where softmax left it. And a tile no longer comes by 16-byte copies of all threads, each with
 * an address to compute: one thread asks the tensor memory accelerator for a box of 64 columns, which arrives swizzled
 * (wgmma_rows.h).
 *
 * A block is one warpgroup with 64 queries, a tile of K and one of V. The next K is asked for when S is there, and
 * flies during softmax and P V; the next V when O is, and flies during Q Kᵀ and softmax. Within a block nothing else
 * overlaps: the matrix units stand still during its softmax. So blocks are small, and a multiprocessor holds as many as
 * its registers allow: one's softmax meets another's products.
 *
 *   d     keys a tile   blocks   registers   shared memory a block
 *   64    128           4        128          41 KiB
 *   128    96           3        163          65 KiB
 *   256    64           2        202          97 KiB
 *
 * O leaves as tiles came, where Q was: a warp lays its 16 rows there, and boxes take them. Here other blocks fill the
 * time that this saves; rung 13 tells what it is worth where nobody does.
 *
 * Measured (H200, plots/recorded/gpu_peers_16bit.csv; B·T 16384, H·d 2048; T 1024 / 4096 / 16384), in TFLOP/s: d 64 453
 * / 510 / 524, causal 340 / 459 / 498; d 128 518 / 600 / 620, causal 401 / 537 / 586. Warpgroups that share
 * a block's tiles wait for each other at two barriers a tile and then all do their softmax at once: at d 128, T 4096,
 * no mask, blocks of 128 rows gave 563 (two blocks, 64 keys) and 453 (one, 128 keys), of 192 rows 463 (one, 128 keys).
 * What bounds it (Nsight Compute, d 128, T 4096): the matrix units work 66 % of the time and an instruction issues in
 * 40 % of the cycles, so it is waiting; and every 64 queries fetch all of K and V, which takes the L2 cache to 77 % of
 * its throughput (of its sectors 54 % are busy).
 *
 * Rounding points      Q, K, V   q·k, m, l, a   P        O, LSE
 *   wgmma_bf16         bf16      float          bf16     float, then their tensor's dtype
 *   wgmma_fp16         fp16      float          fp16     float, then their tensor's dtype */
#include "hopper.h"
#include "wgmma_rows.h"

/* D is d rounded up; ROWS queries a block; KEYS in a tile; BLOCKS a multiprocessor is to hold. */
template <int D_, int ROWS_, int KEYS_, int BLOCKS_> struct td_plan {
    static constexpr int D = D_, ROWS = ROWS_, KEYS = KEYS_, BLOCKS = BLOCKS_;
    static constexpr int THREADS = ROWS / WARPGROUP_ROWS * WARPGROUP;
    static constexpr int BYTES = (ROWS + 2 * KEYS) * D * 2 + TILE_ALIGNMENT;
};

template <typename T, typename plan>
__global__ void __launch_bounds__(plan::THREADS, plan::BLOCKS) wgmma(const __grid_constant__ td_forward_boxes boxes) {
    constexpr int D = plan::D, ROWS = plan::ROWS, KEYS = plan::KEYS;
    const td_forward &x = boxes.x;
    __shared__ uint64_t q_full, k_full, v_full;
    TD_DYNAMIC_SHARED(unsigned char, shared);
    unsigned char *Q = td_tiles(shared), *K = Q + ROWS * D * 2, *V = K + KEYS * D * 2;
    td_block_rows at = td_block_rows_of<ROWS>(x.a);
    bool fetches = threadIdx.x == 0;
    if (fetches) {
        td_mbarrier_init(&q_full, 1), td_mbarrier_init(&k_full, 1), td_mbarrier_init(&v_full, 1);
        td_mbarrier_init_done();
    }
    __syncthreads();
    if (fetches && at.end > 0) {
        td_fetch<ROWS, D>(Q, &boxes.Q, &q_full, at.b, at.h, at.first);
        td_fetch<KEYS, D>(K, &boxes.K, &k_full, at.b, at.kv, 0);
        td_fetch<KEYS, D>(V, &boxes.V, &v_full, at.b, at.kv, 0);
    }

    int group = threadIdx.x / WARPGROUP;
    const unsigned char *q = Q + group * WARPGROUP_ROWS * BOX_ROW_BYTES;
    td_thread_rows mine = td_thread_rows_of(x.a, at.first + group * WARPGROUP_ROWS);
    float O[D / 2] = {}, m[2] = {-INFINITY, -INFINITY}, l[2] = {};
    if (at.end > 0) td_mbarrier_wait(&q_full, 0);

#pragma unroll 1
    for (int begin = 0, phase = 0; begin < at.end; begin += KEYS, phase ^= 1) {
        bool more = begin + KEYS < at.end;
        float S[KEYS / 2], alpha[2];
        td_mbarrier_wait(&k_full, phase);
        td_wgmma_begin();
        td_scores<T, ROWS, KEYS, D>(S, q, K);
        td_wgmma_commit();
        td_wgmma_wait<0>();
        td_wgmma_hold(S);
        __syncthreads(); /* all have read K */
        if (fetches && more) td_fetch<KEYS, D>(K, &boxes.K, &k_full, at.b, at.kv, begin + KEYS);

        td_turn(S, boxes.turn);
        td_mask_tile(S, mine, begin);
        td_softmax(S, m, l, alpha, x.scale);
        uint32_t P[KEYS / 16][4];
        td_round<T>(P, S);
        td_rescale(O, alpha);

        td_mbarrier_wait(&v_full, phase);
        td_wgmma_begin();
        td_weighted_sum<T, KEYS, D>(O, P, V);
        td_wgmma_commit();
        td_wgmma_wait<0>();
        td_wgmma_hold(O);
        __syncthreads(); /* all have read V */
        if (fetches && more) td_fetch<KEYS, D>(V, &boxes.V, &v_full, at.b, at.kv, begin + KEYS);
    }
    td_put_rows<T, D, ROWS, D / BOX_COLUMNS>(boxes, at, mine.row, O, m, l, Q);
    td_bulk_wait_read<0>();
}

template <typename T, typename plan> static td_status launch(const td_forward *x, void *stream, td_error *err) {
    return td_launch_boxes<plan>("wgmma", wgmma<T, plan>, x, stream, err);
}

template <typename T>
static td_status run(const td_problem *problem, const td_tensor *tensors, void *stream, td_error *err) {
    td_forward x = td_forward_of(&problem->attention, tensors);
    if (!td_boxes_fit(&x)) return td_lower_rung<T>()->run(problem, tensors, NULL, stream, err);
    return x.a.d <= 64    ? launch<T, td_plan<64, 64, 128, 4>>(&x, stream, err)
           : x.a.d <= 128 ? launch<T, td_plan<128, 64, 96, 3>>(&x, stream, err)
                          : launch<T, td_plan<256, 64, 64, 2>>(&x, stream, err);
}

TD_FORWARD_MATRIX_VARIANTS(wgmma,
                           "wgmma, 64 rows a warpgroup; tiles fetched whole by one thread, one of K and one of V",
                           TD_LIMIT_BOXES, td_forward_no_block);
