/* Rung 8, wgmma, ordered: rung 7, in which the blocks of a head add to dQ in the order of their keys, so that the same
 * sums are rounded in the same order in every run. No matrix of T × T, no second computation of S and dP.
 *
 * A block goes through its queries from the last to the first. The block of keys n adds to a tile after that of keys
 * n − 1, which is one tile ahead of it: blocks that start together fall behind one another by as much as it takes to
 * pass a tile on, and then run at full speed. The wait is the adding warp's: who computes goes on until the next sums
 * are ready. By a causal mask too all start at the last queries, and none waits for one that starts at the first.
 *
 * Gain expected: rung 5 repeats its bits too, but for seven products, and with wgmma they would still be seven; here
 * they are five. So rung 7's rate, less what the order costs in waiting.
 *
 * Registers, shared memory and stages are rung 7's: 232 for those who compute, 40 for those who move; 195 KiB at d =
 * 64, 194 at d = 128; 2 of Q, dO and dS.
 *
 * Measured (H200, plots/recorded/gpu_peers_16bit.csv, as rung 7; T 1024 / 4096 / 16384), TFLOP/s: d 64 full 404 / 509 /
 * 534, causal 279 / 438 / 522; d 128 full 474 / 584 / 619, causal 337 / 525 / 592; rung 7's are 400 to 653. What bounds
 * it is what bounds rung 7, and the order: lost is the time in which blocks that
 * start together fall behind one another, some 3 µs each; gained, that nobody writes zeros before, which shows at T =
 * 1024.
 *
 * Tried, d 64 and 128 at T 4096, full and causal:
 * - blocks that start at different tiles, spread evenly, and go round (with a causal mask, that all start at the first
 *   query that reads them, the last keys first): 432, 336 and 582, 449. Where there are no more tiles than blocks each
 *   waits for its neighbour at every one.
 * - fewer blocks of a head at a time, since with a mask those that start together are many: causal 458 with 6 heads
 *   together, 513 with 8, 520 with 16; at T 16384, of 1, 4, 8 and 16 heads, 495, 590, 600, 583. With no mask the fewest
 *   are best: 592 of 4 heads, 555 of 16.
 * - no fences, and an ordinary store in place of the release: 483 (of 457), and wrong sums. That a bulk copy has ended
 *   is known to its own thread alone. */
#include "../hopper.h"
#include "wgmma_tiles.h"

/* How many blocks have taken a number; and of each piece of dQ's sums, how many have added to it. */
struct counters {
    int *blocks, *turn;
};

/* The warp that adds warpgroup w's pieces of dQ to memory, each when the keys before have added theirs. The first keys
 * need not add, so that nobody has to have written zeros. */
template <typename T, int D>
static __device__ __forceinline__ void add_pieces(td_wgmma_tiles<T, D> &s, const td_wgmma_backward &p, counters c,
                                                  td_walk at, int w) {
    int turn = at.j / TD_KEYS;
    bool adds = threadIdx.x % 32 == 0 && p.t[TD_DQ].data;
    for (int n = 0; n < at.steps; n++, td_walk_on(at)) {
        int64_t piece = td_piece_of(p, at, w);
        while (adds && td_load_acquire(c.turn + piece) != turn) continue;
        __syncwarp();
        td_named_sync(TD_DQ_WRITTEN + w, TD_DQ_THREADS);
        if (adds) {
            td_fence_async_global();
            if (turn)
                td_bulk_add(p.dQ + piece * TD_PIECE, s.dQ[w], sizeof s.dQ[w]);
            else
                td_bulk_store(p.dQ + piece * TD_PIECE, s.dQ[w], sizeof s.dQ[w]);
            td_bulk_commit();
            td_bulk_wait_read<0>();
        }
        __syncwarp();
        if (n + 1 < at.steps) td_named_arrive(TD_DQ_READ + w, TD_DQ_THREADS);
        if (adds) {
            td_bulk_wait<0>();
            td_fence_async_global();
            td_store_release(c.turn + piece, turn + 1);
        }
    }
}

/* The block's place. It is a number that the block takes, and not the grid's, of which nobody knows in what order they
 * start: a block waits for those before it, so they must have started. */
template <int D> static __device__ __forceinline__ td_walk place(const td_wgmma_backward &p, counters c) {
    __shared__ int taken;
    if (threadIdx.x == 0) taken = atomicAdd(c.blocks, 1);
    __syncthreads();
    int heads = p.B * p.Hkv, blocks = p.together * p.key_tiles, before = taken / blocks * p.together;
    int here = min(p.together, heads - before), number = taken % blocks;
    return td_walk_of<D>(p, before + number % here, number / here);
}

template <typename T, int D>
__global__ __launch_bounds__(TD_WGMMA_THREADS, 1) void wgmma_keys(const __grid_constant__ td_wgmma_backward p,
                                                                  const counters c) {
    td_wgmma_tiles<T, D> &s = td_wgmma_tiles_of_block<T, D>();
    const td_walk at = place<D>(p, c);
    td_wgmma_barriers(s);
    int w = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0); /* the same in all lanes, and the compiler knows */
    if (w == TD_CONSUMERS) {
        td_registers_give<TD_PRODUCER_REGISTERS>();
        int warp = threadIdx.x / 32 % 4;
        if (warp < TD_CONSUMERS)
            add_pieces(s, p, c, at, warp);
        else if (threadIdx.x == TD_WGMMA_THREADS - 32)
            td_fetch(s, p, at);
    } else {
        td_registers_take<TD_CONSUMER_REGISTERS>();
        td_compute(s, p, at, w);
    }
}

/* The counters, behind the rest of the workspace. */
static size_t counter_bytes(const td_wgmma_backward *p) {
    return (size_t)(1 + (int64_t)p->B * p->Hq * p->tiles * TD_CONSUMERS) * sizeof(int);
}

template <typename T, int D>
static td_status launch(const td_wgmma_backward &p, int *first, void *stream, td_error *err) {
    counters c = {first, first + 1};
    td_status s = td_zero(first, counter_bytes(&p), stream, err);
    if (s == TD_OK) s = td_wgmma_before_launch<T, D, false>(p, stream, err);
    dim3 grid((unsigned)(p.B * p.Hkv * p.key_tiles));
    if (s == TD_OK)
        s = TD_LAUNCH(err, (wgmma_keys<T, D>), grid, dim3(TD_WGMMA_THREADS), (td_wgmma_shared<T, D>), stream, p, c);
    return s == TD_OK ? td_wgmma_after_launch<T, D>(p, stream, err) : s;
}

/* Who takes what this rung does not. */
template <typename T>
static constexpr const td_variant *lower = td_same<T, td_bf16> ? &TD_GPU(attention_backward_mma_two_pass_bf16)
                                                               : &TD_GPU(attention_backward_mma_two_pass_fp16);

template <typename T>
static td_status run(const td_problem *problem, const td_tensor *t, float *workspace, void *stream, td_error *err) {
    if (!td_wgmma_takes(problem, t)) return lower<T>->run(problem, t, workspace, stream, err);
    td_wgmma_backward p = {};
    int *counters = (int *)((char *)workspace + td_wgmma_bytes(problem));
    td_status s = td_wgmma_plan<T>(&p, problem, t, workspace, err);
    if (s) return s;
    if (problem->attention.mask != TD_MASK_NONE) /* fewer blocks of a head that start together */
        p.together = min(p.B * p.Hkv, max(p.together, 16));
    return p.d <= 64 ? launch<T, 64>(p, counters, stream, err) : launch<T, 128>(p, counters, stream, err);
}

static size_t workspace_bytes(const td_problem *problem) {
    td_wgmma_backward p;
    td_wgmma_shape(&p, &problem->attention);
    size_t own = p.tiles > 0 ? td_wgmma_bytes(problem) + counter_bytes(&p) : 0;
    size_t other = lower<td_bf16>->workspace_bytes(problem);
    return own > other ? own : other;
}

TD_BACKWARD_MATRIX_VARIANTS(backward_wgmma_ordered,
                            "rung 7, with the additions to dQ in a fixed order: the same bits in every run",
                            "needs Hopper (sm_90a); d above 128, or rows not of whole aligned vectors: runs "
                            "backward_mma_two_pass; " TD_LIMIT_MASKS_BY_PRODUCT,
                            TD_MEM_WORKSPACE, td_mma_support, workspace_bytes);
