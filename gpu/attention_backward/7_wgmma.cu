/* Rung 7, wgmma: the plan of rung 6, keys that stay and dQ by additions, with Hopper's own instructions. A block has
 * two warpgroups that compute, 64 of its 128 keys each, and a third whose warps only move: one fetches tiles of Q and
 * dO ahead by TMA, two add finished pieces of dQ to memory by bulk copies. It gives its registers to those that
 * compute, 40 and 232 a thread, which hold dK and dV for the block's life.
 *
 * Where the operands stand decides the rate. For a tile of 64 queries at d = 128, the five products take the matrix
 * units 2560 cycles. With both operands in shared memory, of 128 bytes a cycle, and N = 64 a product is as long in
 * reading as in multiplying, 512 cycles; with its left side in registers it reads for half as long. So P and dS stay in
 * the registers they were computed in for dV and dK, and only dQ, which sums over keys of both warpgroups, reads dS
 * from shared memory: 2048 cycles of reading, 128 to write dS, 768 for dQ's sums and the tiles that come in, 2944 in
 * all. Were P and dS to go through it as well, it would be 3328.
 *
 * d = 64 has tiles of 128 queries: the same 2560, and 2816; but twice as many exponentials, 1024 cycles of their unit.
 *
 * Gain expected: from mma.sync, which reaches not much over half of the matrix units' rate, and from warps that need
 * not wait for loads: twice rung 6.
 *
 * LSE and D come in boxes like the tiles. Of the plain bulk copy racecheck (2025.3) reports every reader, though the
 * barrier that counts its bytes orders it; of boxes it says nothing, which need not mean that it follows them.
 *
 * Shared memory: 195 KiB at d = 64, 194 at d = 128, of which 1 KiB to align the rest. Stages: 2 of Q, dO and dS. No
 * spills.
 *
 * Measured (H200, plots/recorded/gpu_peers_16bit.csv, bf16, B·T = 16384, H·d = 2048; T 1024 / 4096 / 16384), TFLOP/s:
 * d 64 full 400 / 508 / 539, causal 287 / 457 / 537; d 128 full 478 / 609 / 653, causal 350 / 557 / 648. cuDNN 9.19 in
 * the same run: 369 / 462 / 487, 251 / 389 / 460; 452 / 571 / 609, 319 / 488 / 592. fp16 the same. The passes
 * before and after move 0.47 GB, at the rate of a copy a seventh of the time at T = 1024.
 *
 * What bounds it: no unit, but the latency from one step of a tile to the next. At d = 64, T 4096 the matrix units are
 * busy in 55 % of the cycles, an instruction is issued in 26 %, shared memory moves 65 % of what it can, DRAM 7 % (ncu,
 * of rung 8, which computes a tile with the same code).
 *
 * Tried, d 128 and 64 at T 4096, full, against 580 and 506 of the order below with 240 and 24 registers:
 * - dK before dQ, so that the wait for the other warpgroup's dS is hidden: 555 and 483: dQ's sums leave later.
 * - S of the next tile started before dQ's sums are written, d 64: 493; with dK before dQ as well: 574 and 503. The
 *   other warpgroup fills the gap already.
 * - dV before dS, d 128: 584; at d 64 the registers do not suffice (wgmma are then serialized).
 * - no addition of dQ at all (wrong, to see its cost): 605 and 497; at T 16384 649 and 527.
 * - blocks of a head that start at different tiles, so that additions do not meet: 587 and 509, in a run where the
 *   order below gave 584 and 503. Nor does it matter whether tiles are visited from the first or from the last; rung 8
 *   wants the last.
 * Against 598 and 519, with 232 and 40 registers:
 * - dQ one tile late, so that the warpgroups need not meet: 598 and 534; at T 1024 436 (of 464) and 412 (of 408).
 *   The same, with the second warpgroup half a tile behind: 589 and 532; d 64 at T 16384 576. Not worth a second plan.
 * - 80 queries to a tile at d 128, dQᵀ = Kᵀ dSᵀ: 598; at T 1024 463, causal 329 (of 343). Fewer bytes, but
 *   no register left.
 * - which blocks are neighbours: heads with 16 MiB of Q, dO and dQ together 614, causal 561; with 24 MiB 598, 535. */
#include "../hopper.h"
#include "wgmma_tiles.h"

/* The warp that adds warpgroup w's pieces of dQ to memory. */
template <typename T, int D>
static __device__ __forceinline__ void add_pieces(td_wgmma_tiles<T, D> &s, const td_wgmma_backward &p, td_walk at,
                                                  int w) {
    for (int n = 0; n < at.steps; n++, td_walk_on(at)) {
        td_named_sync(TD_DQ_WRITTEN + w, TD_DQ_THREADS);
        if (threadIdx.x % 32 == 0 && p.t[TD_DQ].data) {
            td_bulk_add(p.dQ + td_piece_of(p, at, w) * TD_PIECE, s.dQ[w], sizeof s.dQ[w]);
            td_bulk_commit();
            td_bulk_wait_read<0>();
        }
        __syncwarp();
        if (n + 1 < at.steps) td_named_arrive(TD_DQ_READ + w, TD_DQ_THREADS);
    }
}

/* The block's place: of `together` heads first the first keys of all, then the next. */
template <int D> static __device__ __forceinline__ td_walk place(const td_wgmma_backward &p) {
    int heads = p.B * p.Hkv, blocks = p.together * p.key_tiles, before = (int)blockIdx.x / blocks * p.together;
    int here = min(p.together, heads - before), number = blockIdx.x % blocks;
    return td_walk_of<D>(p, before + number % here, number / here);
}

template <typename T, int D>
__global__ __launch_bounds__(TD_WGMMA_THREADS, 1) void wgmma_keys(const __grid_constant__ td_wgmma_backward p) {
    td_wgmma_tiles<T, D> &s = td_wgmma_tiles_of_block<T, D>();
    const td_walk at = place<D>(p);
    td_wgmma_barriers(s);
    int w = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0); /* the same in all lanes, and the compiler knows */
    if (w == TD_CONSUMERS) {
        td_registers_give<TD_PRODUCER_REGISTERS>();
        int warp = threadIdx.x / 32 % 4;
        if (warp < TD_CONSUMERS)
            add_pieces(s, p, at, warp);
        else if (threadIdx.x == TD_WGMMA_THREADS - 32)
            td_fetch(s, p, at);
    } else {
        td_registers_take<TD_CONSUMER_REGISTERS>();
        td_compute(s, p, at, w);
    }
}

template <typename T, int D> static td_status launch(const td_wgmma_backward &p, void *stream, td_error *err) {
    td_status s = td_wgmma_before_launch<T, D, true>(p, stream, err);
    dim3 grid((unsigned)(p.B * p.Hkv * p.key_tiles));
    if (s == TD_OK)
        s = TD_LAUNCH(err, (wgmma_keys<T, D>), grid, dim3(TD_WGMMA_THREADS), (td_wgmma_shared<T, D>), stream, p);
    return s == TD_OK ? td_wgmma_after_launch<T, D>(p, stream, err) : s;
}

/* Who takes what this rung does not. */
template <typename T>
static constexpr const td_variant *lower = td_same<T, td_bf16> ? &TD_GPU(attention_backward_mma_bf16)
                                                               : &TD_GPU(attention_backward_mma_fp16);

template <typename T>
static td_status run(const td_problem *problem, const td_tensor *t, float *workspace, void *stream, td_error *err) {
    if (!td_wgmma_takes(problem, t)) return lower<T>->run(problem, t, workspace, stream, err);
    td_wgmma_backward p = {};
    td_status s = td_wgmma_plan<T>(&p, problem, t, workspace, err);
    if (s) return s;
    return p.d <= 64 ? launch<T, 64>(p, stream, err) : launch<T, 128>(p, stream, err);
}

static size_t workspace_bytes(const td_problem *problem) {
    size_t own = td_wgmma_bytes(problem), other = lower<td_bf16>->workspace_bytes(problem);
    return own > other ? own : other;
}

TD_BACKWARD_MATRIX_VARIANTS(
    backward_wgmma, "wgmma and TMA: P and dS from registers, dQ added by bulk copies from shared memory",
    "needs Hopper (sm_90a); d above 128, or rows not of whole aligned vectors: runs backward_mma; " TD_LIMIT_BITS_VARY
    "; " TD_LIMIT_MASKS_BY_PRODUCT,
    TD_MEM_WORKSPACE, td_mma_support, workspace_bytes);
