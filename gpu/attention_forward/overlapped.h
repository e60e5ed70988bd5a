/* The kernel of rungs 12 and 13: a block stays on its multiprocessor and takes tile after tile (schedule.h), its
 * producer always ahead; the products of one tile of keys run while the softmax of another is computed. */
#ifndef TANDEM_GPU_OVERLAPPED_H
#define TANDEM_GPU_OVERLAPPED_H

#include "packed_softmax.h"
#include "schedule.h"

/* D is d rounded up; ROWS queries a tile, 64 a consumer; KEYS in a tile of K or V, of which each has STAGES places.
 * AHEAD: the next scores are computed before P V, so that they meet the softmax; else after it, so that P can be
 * written again at once, which needs half the registers for P. TURNS: consumers issue their products one after the
 * other. TRUSTS: packed_softmax.h. */
template <int D_, int ROWS_, int KEYS_, int STAGES_, bool AHEAD_, bool TURNS_, bool TRUSTS_> struct td_overlap {
    static constexpr int D = D_, ROWS = ROWS_, KEYS = KEYS_, STAGES = STAGES_;
    static constexpr bool AHEAD = AHEAD_, TURNS = TURNS_, TRUSTS = TRUSTS_;
    static constexpr int Q_STAGES = D == 256 ? 1 : 2; /* of Q, the next tile's beside this one's */
    static constexpr int CONSUMERS = ROWS / WARPGROUP_ROWS, THREADS = (CONSUMERS + 1) * WARPGROUP;
    static constexpr int PRODUCER_REGISTERS = CONSUMERS == 3 ? 32 : 24;
    static constexpr int CONSUMER_REGISTERS = CONSUMERS == 2 ? 240 : CONSUMERS == 3 ? 160 : 112;
    static constexpr int Q_BYTES = ROWS * D * 2, TILE_BYTES = KEYS * D * 2;
    static constexpr int OUT_COLUMNS = D == 128 ? 2 : 1, OUT_BYTES = OUT_COLUMNS * ROWS * BOX_ROW_BYTES;
    static constexpr int BYTES = Q_STAGES * Q_BYTES + 2 * STAGES * TILE_BYTES + OUT_BYTES + TILE_ALIGNMENT;
};

/* The places of Q's, K's or V's tiles, and where in them somebody is. */
template <int STAGES> struct td_places { uint64_t full[STAGES], empty[STAGES]; };
struct td_place {
    int stage, phase;
};
template <int STAGES> static __device__ __forceinline__ void td_advance(td_place &at) {
    if (++at.stage == STAGES) at.stage = 0, at.phase ^= 1;
}

/* The producer says with Q whose rows it is: to find a tile takes divisions, and there nothing waits for them. A tile's
 * rows are written when the first keys of the next one have been read, hence two more. */
template <typename plan> struct td_barriers {
    static constexpr int TILES = plan::Q_STAGES + 2;
    td_places<plan::Q_STAGES> q;
    td_places<plan::STAGES> k, v;
    td_block_rows tiles[TILES];
};
template <int STAGES> static __device__ __forceinline__ void init(td_places<STAGES> &places, int consumers) {
    for (int s = 0; s < STAGES; s++) {
        td_mbarrier_init(&places.full[s], 1);
        td_mbarrier_init(&places.empty[s], consumers * WARPGROUP / 32); /* every warp says so */
    }
}

/* One thread: brings a tile to the next place, once that is empty. */
template <int ROWS, int D, int STAGES>
static __device__ __forceinline__ void bring(unsigned char *tiles, td_place &to, td_places<STAGES> &places,
                                             const CUtensorMap *map, int b, int h, int i) {
    td_mbarrier_wait(&places.empty[to.stage], to.phase ^ 1);
    td_fetch<ROWS, D>(tiles + to.stage * ROWS * D * 2, map, &places.full[to.stage], b, h, i);
    td_advance<STAGES>(to);
}

/* A tile's keys from the last to the first: those that are masked come first, and the loop after them has no mask. V
 * comes behind the next K, in the order in which they are used, over the end of a tile too. */
template <typename plan>
static __device__ __forceinline__ void produce(const td_forward_boxes &boxes, const td_schedule &s, unsigned char *Q,
                                               unsigned char *K, unsigned char *V, td_barriers<plan> &barriers) {
    constexpr int KEYS = plan::KEYS, D = plan::D;
    td_place q = {0, 0}, k = {0, 0}, v = {0, 0};
    int round = 0, tiles = 0, v_begin = -1, v_b = 0, v_kv = 0;
    for (;;) {
        td_block_rows at = td_next_tile<plan::ROWS>(boxes.x.a, s, round);
        td_mbarrier_wait(&barriers.q.empty[q.stage], q.phase ^ 1);
        barriers.tiles[tiles++ % barriers.TILES] = at;
        if (at.end == 0) break;
        bring<plan::ROWS, D>(Q, q, barriers.q, &boxes.Q, at.b, at.h, at.first);
        for (int begin = (at.end - 1) / KEYS * KEYS; begin >= 0; begin -= KEYS) {
            bring<KEYS, D>(K, k, barriers.k, &boxes.K, at.b, at.kv, begin);
            if (v_begin >= 0) bring<KEYS, D>(V, v, barriers.v, &boxes.V, v_b, v_kv, v_begin);
            v_begin = begin, v_b = at.b, v_kv = at.kv;
        }
    }
    td_mbarrier_arrive(&barriers.q.full[q.stage]);
    if (v_begin >= 0) bring<KEYS, D>(V, v, barriers.v, &boxes.V, v_b, v_kv, v_begin);
}

/* What a consumer has at hand. Two P: one is read by a product that runs, the other one is written. */
template <typename plan> struct td_hand {
    float S[plan::KEYS / 2], O[plan::D / 2], m[2], l[2], bound[2], alpha[2];
    uint32_t P[plan::AHEAD ? 2 : 1][plan::KEYS / 16][4];
    td_place q, k, v;
    uint64_t q_tile, k_tile, v_tile; /* descriptors of the first place */
    unsigned char *out;
};

template <int STAGES> static __device__ __forceinline__ void wait_full(td_places<STAGES> &places, const td_place &at) {
    td_mbarrier_wait(&places.full[at.stage], at.phase);
}
template <int STAGES> static __device__ __forceinline__ void has_read(td_places<STAGES> &places, td_place &at) {
    if (threadIdx.x % 32 == 0) td_mbarrier_arrive(&places.empty[at.stage]);
    td_advance<STAGES>(at);
}

/* Named barrier 1 + consumer: it may issue its products. */
template <typename plan> static __device__ __forceinline__ void wait_turn(int consumer) {
    if (plan::TURNS) td_named_sync(1 + consumer, 2 * WARPGROUP);
}
template <typename plan> static __device__ __forceinline__ void pass_turn(int consumer) {
    if (plan::TURNS) td_named_arrive(1 + (consumer + 1) % plan::CONSUMERS, 2 * WARPGROUP);
}

/* Issues P V of the tile before and the scores of the next one, and waits for the scores; AHEAD, P V runs on. */
template <typename T, typename plan, int OF>
static __device__ __forceinline__ void issue(td_hand<plan> &hand, td_barriers<plan> &barriers, int consumer) {
    constexpr int D = plan::D, ROWS = plan::ROWS, KEYS = plan::KEYS;
    wait_full(barriers.k, hand.k);
    if (!plan::AHEAD) wait_full(barriers.v, hand.v);
    wait_turn<plan>(consumer);
    td_wgmma_begin();
    if (!plan::AHEAD)
        td_weighted_sum<T, KEYS, D>(hand.O, hand.P[OF], td_descriptor_at(hand.v_tile, hand.v.stage * plan::TILE_BYTES));
    td_scores<T, ROWS, KEYS, D>(hand.S, td_descriptor_at(hand.q_tile, hand.q.stage * plan::Q_BYTES),
                                td_descriptor_at(hand.k_tile, hand.k.stage * plan::TILE_BYTES));
    td_wgmma_commit();
    if (plan::AHEAD) {
        wait_full(barriers.v, hand.v);
        td_wgmma_begin();
        td_weighted_sum<T, KEYS, D>(hand.O, hand.P[OF], td_descriptor_at(hand.v_tile, hand.v.stage * plan::TILE_BYTES));
        td_wgmma_commit();
    }
    pass_turn<plan>(consumer);
    td_wgmma_wait<plan::AHEAD>();
    td_wgmma_hold(hand.S);
    has_read(barriers.k, hand.k);
}

/* Waits for P V, which has read P until now: the compiler, which knows nothing of that, must not write to it before. */
template <typename plan, int OF> static __device__ __forceinline__ void settle(td_hand<plan> &hand) {
    td_wgmma_wait<0>();
    td_wgmma_hold(hand.O);
#pragma unroll
    for (int n = 0; n < plan::KEYS / 4; n++) asm volatile("" ::"r"(hand.P[OF][n / 4][n % 4]) : "memory");
}

/* P[0] becomes P[1]. A plain copy would be renamed away, and the next P written into what a product still reads: so a 0
 * is added of which the compiler does not know that it is one. */
template <typename plan> static __device__ __forceinline__ void take(td_hand<plan> &hand, unsigned zero) {
    if constexpr (plan::AHEAD) {
#pragma unroll
        for (int n = 0; n < plan::KEYS / 4; n++)
            asm volatile("xor.b32 %0, %1, %2;"
                         : "=r"(hand.P[0][n / 4][n % 4])
                         : "r"(hand.P[1][n / 4][n % 4]), "r"(zero)
                         : "memory");
    }
}

/* One tile of keys, from `begin` on: P V with P[OF], then the softmax of the next scores to P[TO]. */
template <typename T, typename plan, int OF, int TO, bool MASKED>
static __device__ __forceinline__ void step(td_hand<plan> &hand, const td_forward_boxes &boxes,
                                            td_barriers<plan> &barriers, int consumer, int row, int &begin) {
    issue<T, plan, OF>(hand, barriers, consumer);
    if (!plan::AHEAD) settle<plan, OF>(hand), has_read(barriers.v, hand.v);
    if (begin == 0) has_read(barriers.q, hand.q);
    bool rescale = true;
    td_turn(hand.S, boxes.turn);
    if (MASKED) td_mask_from(hand.S, boxes.x.a, row, begin);
    if (plan::TRUSTS && !MASKED)
        rescale = td_softmax_trusting<T>(hand.P[TO], hand.S, hand.m, hand.l, hand.bound, hand.alpha, boxes.x.scale);
    else {
        td_softmax_packed<T>(hand.P[TO], hand.S, hand.m, hand.l, hand.alpha, boxes.x.scale);
        if (plan::TRUSTS) td_trust(hand.bound, hand.m, hand.l);
    }
    if (plan::AHEAD) settle<plan, OF>(hand), has_read(barriers.v, hand.v);
    if (rescale) td_rescale(hand.O, hand.alpha);
    begin -= plan::KEYS;
}

/* Waits for the last P V of a tile, if there is one, and writes its rows. */
template <typename T, typename plan>
static __device__ __forceinline__ void finish(td_hand<plan> &hand, const td_forward_boxes &boxes,
                                              td_barriers<plan> &barriers, int done, int row) {
    settle<plan, 0>(hand);
    if (done < 0) return;
    has_read(barriers.v, hand.v);
    td_block_rows at = barriers.tiles[done % barriers.TILES];
    td_put_rows<T, plan::D, plan::ROWS, plan::OUT_COLUMNS>(boxes, at, at.first + row, hand.O, hand.m, hand.l, hand.out);
}

/* The keys that a consumer's rows read of a tile's: in tiles from `begin` down; from `least` on not all rows do. Tiles
 * that none of them may read come first: K's are passed by here, and V's after the last P V of the rows before; returns
 * how many. */
template <typename plan>
static __device__ __forceinline__ int leave_out(td_hand<plan> &hand, td_barriers<plan> &barriers,
                                                const td_attention_problem &a, const td_block_rows &at, int consumer,
                                                int &begin, int &least) {
    int n = 0, first = at.first + consumer * WARPGROUP_ROWS;
    int most = (int)td_allowed_keys(a.mask, first + WARPGROUP_ROWS - 1, a.Tq, a.Tk);
    least = (int)td_allowed_keys(a.mask, first, a.Tq, a.Tk);
    for (begin = (at.end - 1) / plan::KEYS * plan::KEYS; begin > 0 && begin >= most; begin -= plan::KEYS, n++) {
        wait_full(barriers.k, hand.k);
        wait_turn<plan>(consumer), pass_turn<plan>(consumer);
        has_read(barriers.k, hand.k);
    }
    return n;
}

template <typename T, typename plan>
static __device__ __forceinline__ void consume(const td_forward_boxes &boxes, const unsigned char *Q,
                                               const unsigned char *K, const unsigned char *V, unsigned char *out,
                                               td_barriers<plan> &barriers, int consumer) {
    constexpr int D = plan::D, ROWS = plan::ROWS, KEYS = plan::KEYS;
    const td_attention_problem &a = boxes.x.a;
    int thread = threadIdx.x % WARPGROUP, row = consumer * WARPGROUP_ROWS + thread / 32 * 16 + thread % 32 / 4;
    td_hand<plan> hand = {};
    hand.q_tile = td_descriptor_by_rows(Q + consumer * WARPGROUP_ROWS * BOX_ROW_BYTES);
    hand.k_tile = td_descriptor_by_rows(K), hand.v_tile = td_descriptor_by_columns(V, KEYS * BOX_ROW_BYTES);
    hand.out = out;
    int tile = 0;
    wait_full(barriers.q, hand.q);
    td_block_rows at = barriers.tiles[0];
    if (at.end == 0) return;
    if (consumer == plan::CONSUMERS - 1) pass_turn<plan>(consumer);

    /* the first scores, with no P V before them */
    int begin, least, left_out = leave_out(hand, barriers, a, at, consumer, begin, least);
    wait_full(barriers.k, hand.k);
    wait_turn<plan>(consumer);
    td_wgmma_begin();
    td_scores<T, ROWS, KEYS, D>(hand.S, hand.q_tile, td_descriptor_at(hand.k_tile, hand.k.stage * plan::TILE_BYTES));
    td_wgmma_commit();
    pass_turn<plan>(consumer);
    td_wgmma_wait<0>();
    td_wgmma_hold(hand.S);
    has_read(barriers.k, hand.k);

    for (;;) {
        /* here are the first scores of `at`, and P V of the last keys of the tile before, if there are such tiles */
        if (!plan::AHEAD) finish<T>(hand, boxes, barriers, tile - 1, row);
        float m[2] = {-INFINITY, -INFINITY}, l[2] = {};
        if (at.end > 0) {
            if (begin == 0) has_read(barriers.q, hand.q);
            td_turn(hand.S, boxes.turn);
            if (begin + KEYS > least) td_mask_from(hand.S, a, at.first + row, begin);
            td_softmax_packed<T>(hand.P[plan::AHEAD], hand.S, m, l, hand.alpha, boxes.x.scale);
        }
        if (plan::AHEAD) finish<T>(hand, boxes, barriers, tile - 1, row);
        if (at.end == 0) break;
        for (; left_out > 0; left_out--) wait_full(barriers.v, hand.v), has_read(barriers.v, hand.v);
        take(hand, (unsigned)a.mask >> 2);
#pragma unroll
        for (int i = 0; i < 2; i++) hand.m[i] = m[i], hand.l[i] = l[i];
#pragma unroll
        for (int e = 0; e < D / 2; e++) hand.O[e] = 0;
        if (plan::TRUSTS) td_trust(hand.bound, hand.m, hand.l);
        if (plan::TRUSTS && begin + KEYS > least) least -= KEYS; /* rows with few keys yet have no sum to trust */
        begin -= KEYS;

#pragma unroll 1
        while (begin >= 0 && begin + KEYS > least) {
            step<T, plan, 0, plan::AHEAD, true>(hand, boxes, barriers, consumer, at.first + row, begin);
            take(hand, (unsigned)a.mask >> 2);
        }
#pragma unroll 1
        while (begin >= 0) {
            step<T, plan, 0, plan::AHEAD, false>(hand, boxes, barriers, consumer, 0, begin);
            if (plan::AHEAD && begin < 0) take(hand, (unsigned)a.mask >> 2);
            if (plan::AHEAD && begin >= 0)
                step<T, plan, plan::AHEAD, 0, false>(hand, boxes, barriers, consumer, 0, begin);
        }

        wait_full(barriers.q, hand.q);
        at = barriers.tiles[++tile % barriers.TILES];
        if (at.end > 0) {
            left_out = leave_out(hand, barriers, a, at, consumer, begin, least);
            issue<T, plan, 0>(hand, barriers, consumer);
        } else {
            wait_full(barriers.v, hand.v);
            td_wgmma_begin();
            td_weighted_sum<T, KEYS, D>(hand.O, hand.P[0],
                                        td_descriptor_at(hand.v_tile, hand.v.stage * plan::TILE_BYTES));
            td_wgmma_commit();
        }
    }
}

template <typename T, typename plan>
__global__ void __launch_bounds__(plan::THREADS, 1)
    overlapped(const __grid_constant__ td_forward_boxes boxes, const __grid_constant__ td_schedule s) {
    __shared__ td_barriers<plan> barriers;
    TD_DYNAMIC_SHARED(unsigned char, shared);
    unsigned char *Q = td_tiles(shared), *K = Q + plan::Q_STAGES * plan::Q_BYTES;
    unsigned char *V = K + plan::STAGES * plan::TILE_BYTES, *out = V + plan::STAGES * plan::TILE_BYTES;
    if (threadIdx.x == 0) {
        init(barriers.q, plan::CONSUMERS), init(barriers.k, plan::CONSUMERS), init(barriers.v, plan::CONSUMERS);
        td_mbarrier_init_done();
    }
    __syncthreads();
    /* the compiler sees that all of a warp take the same way */
    int group = __shfl_sync(0xffffffffu, threadIdx.x / WARPGROUP, 0);
    if (group == 0) {
        td_registers_give<plan::PRODUCER_REGISTERS>();
        if (threadIdx.x == 0) produce(boxes, s, Q, K, V, barriers);
    } else {
        td_registers_take<plan::CONSUMER_REGISTERS>();
        consume<T>(boxes, Q, K, V, out, barriers, group - 1);
        td_put_empty_tiles<plan::ROWS>(boxes.x, s);
        td_bulk_wait_read<0>();
    }
}

/* Host. One block a multiprocessor. */
template <typename T, typename plan> static td_status launch(const td_forward *x, void *stream, td_error *err) {
    int device = 0, blocks = 0;
    cudaError_t e = cudaGetDevice(&device);
    if (e == cudaSuccess) e = cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, device);
    if (e != cudaSuccess) return td_cuda_status(e, "multiprocessors", err);
    int64_t tiles = x->a.B * x->a.Hq * ((x->a.Tq + plan::ROWS - 1) / plan::ROWS);
    if (tiles < blocks) blocks = (int)tiles;
    td_forward_boxes boxes;
    td_status s = td_forward_boxes_of(&boxes, x, plan::ROWS, plan::KEYS, err);
    td_schedule schedule = td_schedule_of(&x->a, plan::ROWS, blocks);
    return s ? s
             : TD_LAUNCH(err, (overlapped<T, plan>), dim3((unsigned)blocks), plan::THREADS, plan::BYTES, stream, boxes,
                         schedule);
}

#endif
