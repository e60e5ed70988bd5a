/* Rung 11: one warpgroup fetches, the others compute, and nobody waits for everybody.
 *
 * The idea: in rung 10 every 64 queries fetch K and V anew. Larger blocks fetch less, but in rung 10's plan they move
 * in step: two barriers a tile hold every warpgroup until the slowest has read K, or V, and then all do their softmax
 * at once. Here a tile of K or V has two places. A producer, one thread of a warpgroup of its own, waits until a place
 * is empty and asks for the next tile; a consumer waits until its place is full, and says when it has read it. So
 * consumers drift apart, and one's softmax meets another's products. The producer needs few registers: it gives the
 * rest back, and the consumers take them (setmaxnreg).
 *
 *   d     queries   keys a tile   consumers   registers: start, producer, consumers   shared memory
 *   64    256        96           4            96   24   112                           81 KiB
 *   128   192       128           3           128   32   160                          177 KiB
 *   256   128        64           2           168   24   240                          193 KiB
 *
 * Measured (H200, plots/recorded/gpu_peers_16bit.csv; B·T 16384, H·d 2048; T 1024 / 4096 / 16384), in TFLOP/s: d 64 399
 * / 504 / 538, causal 269 / 423 / 502; d 128 495 / 657 / 695, causal 322 / 544 / 656.
 *
 * It gains where a block's work is long: its first tiles and its last rows have nothing to overlap with, T 1024 is five
 * and a third tiles of 192 rows, and at d 64 four consumers have no registers for 128 keys. Other shapes, at T 4096: d
 * 128, 128 rows and 128 keys 588, 192 rows and 64 keys 537, 96 keys 599; d 64, 192 rows and 128 keys 468, two blocks of
 * 128 rows 454. What bounds it (Nsight Compute, d 128, T 4096): the matrix units work 71 % of the time (rung 10: 66 %),
 * the exponentials' unit 37 %; of the L2 cache's sectors 25 % are busy (rung 10: 54 %). A warpgroup still waits for its
 * own softmax before it multiplies again.
 *
 * Rounding points         Q, K, V   q·k, m, l, a   P        O, LSE
 *   specialised_bf16      bf16      float          bf16     float, then their tensor's dtype
 *   specialised_fp16      fp16      float          fp16     float, then their tensor's dtype */
#include "hopper.h"
#include "wgmma_rows.h"

/* D is d rounded up; ROWS queries a block, 64 a consumer; KEYS in a tile. Registers of a thread: a multiprocessor has
 * 65536, a block begins with the same number for all. */
template <int D_, int ROWS_, int KEYS_> struct td_plan {
    static constexpr int D = D_, ROWS = ROWS_, KEYS = KEYS_, STAGES = 2;
    static constexpr int CONSUMERS = ROWS / WARPGROUP_ROWS, THREADS = (CONSUMERS + 1) * WARPGROUP;
    static constexpr int PRODUCER_REGISTERS = CONSUMERS == 3 ? 32 : 24;
    static constexpr int CONSUMER_REGISTERS = CONSUMERS == 2 ? 240 : CONSUMERS == 3 ? 160 : 112;
    static constexpr int BYTES = (ROWS + 2 * STAGES * KEYS) * D * 2 + TILE_ALIGNMENT;
};

/* The places of K's tiles, or of V's. */
template <typename plan> struct td_ring { uint64_t full[plan::STAGES], empty[plan::STAGES]; };

template <typename plan> static __device__ __forceinline__ void init(td_ring<plan> &ring) {
    for (int s = 0; s < plan::STAGES; s++) {
        td_mbarrier_init(&ring.full[s], 1);
        td_mbarrier_init(&ring.empty[s], plan::CONSUMERS * WARPGROUP / 32); /* every warp says so */
    }
}

template <typename plan>
static __device__ __forceinline__ void produce(const td_forward_boxes &boxes, td_block_rows at, unsigned char *K,
                                               unsigned char *V, td_ring<plan> &k, td_ring<plan> &v) {
    constexpr int TILE = plan::KEYS * plan::D * 2;
    for (int begin = 0, stage = 0, phase = 0; begin < at.end; begin += plan::KEYS) {
        td_mbarrier_wait(&k.empty[stage], phase ^ 1);
        td_fetch<plan::KEYS, plan::D>(K + stage * TILE, &boxes.K, &k.full[stage], at.b, at.kv, begin);
        td_mbarrier_wait(&v.empty[stage], phase ^ 1);
        td_fetch<plan::KEYS, plan::D>(V + stage * TILE, &boxes.V, &v.full[stage], at.b, at.kv, begin);
        if (++stage == plan::STAGES) stage = 0, phase ^= 1;
    }
}

template <typename T, typename plan>
static __device__ __forceinline__ void consume(const td_forward_boxes &boxes, td_block_rows at, unsigned char *Q,
                                               const unsigned char *K, const unsigned char *V, uint64_t *q_full,
                                               td_ring<plan> &k, td_ring<plan> &v) {
    constexpr int D = plan::D, ROWS = plan::ROWS, KEYS = plan::KEYS, TILE = KEYS * D * 2;
    const td_forward &x = boxes.x;
    int group = threadIdx.x / WARPGROUP - 1;
    const unsigned char *q = Q + group * WARPGROUP_ROWS * BOX_ROW_BYTES;
    td_thread_rows mine = td_thread_rows_of(x.a, at.first + group * WARPGROUP_ROWS);
    float O[D / 2] = {}, m[2] = {-INFINITY, -INFINITY}, l[2] = {};
    bool says = threadIdx.x % 32 == 0;
    if (at.end > 0) td_mbarrier_wait(q_full, 0);

#pragma unroll 1
    for (int begin = 0, stage = 0, phase = 0; begin < at.end; begin += KEYS) {
        float S[KEYS / 2], alpha[2];
        td_mbarrier_wait(&k.full[stage], phase);
        td_wgmma_begin();
        td_scores<T, ROWS, KEYS, D>(S, q, K + stage * TILE);
        td_wgmma_commit();
        td_wgmma_wait<0>();
        td_wgmma_hold(S);
        if (says) td_mbarrier_arrive(&k.empty[stage]);

        td_turn(S, boxes.turn);
        td_mask_tile(S, mine, begin);
        td_softmax(S, m, l, alpha, x.scale);
        uint32_t P[KEYS / 16][4];
        td_round<T>(P, S);
        td_rescale(O, alpha);

        td_mbarrier_wait(&v.full[stage], phase);
        td_wgmma_begin();
        td_weighted_sum<T, KEYS, D>(O, P, V + stage * TILE);
        td_wgmma_commit();
        td_wgmma_wait<0>();
        td_wgmma_hold(O);
        if (says) td_mbarrier_arrive(&v.empty[stage]);
        if (++stage == plan::STAGES) stage = 0, phase ^= 1;
    }
    td_named_sync(1 + group, WARPGROUP); /* all of its warps have read Q */
    td_put_rows<T, D, ROWS, D / BOX_COLUMNS>(boxes, at, mine.row, O, m, l, Q);
    td_bulk_wait_read<0>();
}

template <typename T, typename plan>
__global__ void __launch_bounds__(plan::THREADS, 1) specialised(const __grid_constant__ td_forward_boxes boxes) {
    constexpr int D = plan::D, ROWS = plan::ROWS, TILE = plan::KEYS * D * 2;
    __shared__ uint64_t q_full;
    __shared__ td_ring<plan> k, v;
    TD_DYNAMIC_SHARED(unsigned char, shared);
    unsigned char *Q = td_tiles(shared), *K = Q + ROWS * D * 2, *V = K + plan::STAGES * TILE;
    td_block_rows at = td_block_rows_of<ROWS>(boxes.x.a);
    if (threadIdx.x == 0) {
        td_mbarrier_init(&q_full, 1), init(k), init(v);
        td_mbarrier_init_done();
    }
    __syncthreads();
    if (threadIdx.x < WARPGROUP) {
        td_registers_give<plan::PRODUCER_REGISTERS>();
        if (threadIdx.x == 0 && at.end > 0) {
            td_fetch<ROWS, D>(Q, &boxes.Q, &q_full, at.b, at.h, at.first);
            produce(boxes, at, K, V, k, v);
        }
    } else {
        td_registers_take<plan::CONSUMER_REGISTERS>();
        consume<T>(boxes, at, Q, K, V, &q_full, k, v);
    }
}

template <typename T, typename plan> static td_status launch(const td_forward *x, void *stream, td_error *err) {
    return td_launch_boxes<plan>("specialised", specialised<T, plan>, x, stream, err);
}

template <typename T>
static td_status run(const td_problem *problem, const td_tensor *tensors, void *stream, td_error *err) {
    td_forward x = td_forward_of(&problem->attention, tensors);
    if (!td_boxes_fit(&x)) return td_lower_rung<T>()->run(problem, tensors, NULL, stream, err);
    return x.a.d <= 64    ? launch<T, td_plan<64, 256, 96>>(&x, stream, err)
           : x.a.d <= 128 ? launch<T, td_plan<128, 192, 128>>(&x, stream, err)
                          : launch<T, td_plan<256, 128, 64>>(&x, stream, err);
}

TD_FORWARD_MATRIX_VARIANTS(specialised,
                           "a warpgroup that fetches into rings of two places, and consumers that wait for it alone",
                           TD_LIMIT_BOXES, td_forward_no_block);
