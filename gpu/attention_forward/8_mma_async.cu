/* Rung 8: the next K and V are on their way while these are multiplied.
 *
 * The idea: cp.async brings 16 bytes from global to shared memory with no register between, and nobody waits for it
 * until the next tile is due. With two buffers each for K and V the way from global memory passes during the products
 * instead of before them, and one of four barriers a tile falls away.
 *
 * A copy is of 16 bytes at addresses that 16 divides: tensors that have other rows go to rung 6.
 *
 * At d 64, 128, 256: 242, 246, 255 registers; 65, 101, 101 KiB of shared memory; two stages; two blocks on a
 * multiprocessor.
 * Measured (as rung 6, plots/recorded/gpu_peers_16bit.csv): d 64 230 / 257 / 264, causal 177 / 233 / 250; d 128 281 /
 * 325 / 335, causal 214 / 281 / 305. The matrix units are busy in 51 % of the cycles, shared memory in 58 % (Nsight
 * Compute, d 128). What bounds it: that warps which share rows wait for each other, and P's way through shared memory:
 * without either rung 9 gains 20 % at d 128 and a third at d 64 (T 4096, no mask).
 *
 * Rounding points            Q, K, V   q·k, m, l, a   P          O, LSE
 *   mma_async_bf16/fp16      16 bits   float          16 bits    float, then their tensor's dtype */
#include "attention_forward.h"
#include "mma_block.h"
#include "mma_softmax.h"

/* Of shared memory: Q (ROWS,D), twice K and V (KEYS,D), P (ROWS,KEYS) of 16 bits, and a float for each row of each
 * warp. */
template <typename tile> static constexpr size_t shared_bytes(void) {
    return ((tile::ROWS + 4 * tile::KEYS) * tile::D + tile::ROWS * tile::KEYS) * 2 + tile::ACROSS * tile::ROWS * 4;
}

template <typename T, typename tile>
__global__ void __launch_bounds__(tile::THREADS, tile::BLOCKS) mma_async(td_forward x, td_mma_plan plan) {
    constexpr int ROWS = tile::ROWS, KEYS = tile::KEYS, D = tile::D;
    TD_DYNAMIC_SHARED(T, Q);
    T *K = Q + ROWS * D, *V = K + KEYS * D, *P = V + 3 * KEYS * D;
    float *room = (float *)(P + ROWS * KEYS);
    td_lane at = td_lane_of<tile>();
    int Tq = (int)x.a.Tq, tiles = (Tq + ROWS - 1) / ROWS, d = (int)x.a.d;
    td_queries q = td_queries_of<tile>(x, plan, blockIdx.x / tiles, blockIdx.x % tiles);
    const T *K_head = td_row<T>(x.K, q.b, q.kv, 0), *V_head = td_row<T>(x.V, q.b, q.kv, 0);
    int other = 2 * KEYS * D;

    if (q.end > 0) {
        td_copy_tile<tile, ROWS>(Q, td_row<T>(x.Q, q.b, q.h, 0), x.Q, q.first, Tq, d);
        td_copy_tile<tile, KEYS>(K, K_head, x.K, 0, q.end, d);
        td_copy_tile<tile, KEYS>(V, V_head, x.V, 0, q.end, d);
        td_copies_commit();
    }
    float O[tile::DOWNWARD][tile::O_WIDE][4], m[tile::DOWNWARD][2], l[tile::DOWNWARD][2];
    td_begin<tile>(O, m, l);
#pragma unroll 1
    for (int begin = 0; begin < q.end; begin += KEYS) {
        td_copies_wait_but<0>();
        __syncthreads(); /* all have these tiles, and nobody reads the ones before any more */
        if (begin + KEYS < q.end) {
            td_copy_tile<tile, KEYS>(K + other, K_head, x.K, begin + KEYS, q.end, d);
            td_copy_tile<tile, KEYS>(V + other, V_head, x.V, begin + KEYS, q.end, d);
            td_copies_commit();
        }
        td_visit<tile>(O, m, l, Q, K, V, P, room, at, x.scale, min(q.end - begin, KEYS), min(q.reach - begin, KEYS));
        K += other, V += other, other = -other;
    }
    td_sum_rows<tile>(l);
    td_meet<tile, true>(l, room, at);
    td_write<tile, T>(x, q.row, O, m, l, at, (float *)Q, plan.eights_out);
}

template <typename T, typename tile> static td_status launch(const td_forward *x, void *stream, td_error *err) {
    return TD_LAUNCH(err, (mma_async<T, tile>), td_mma_grid<tile>(x), tile::THREADS, shared_bytes<tile>(), stream, *x,
                     td_mma_plan_of(x));
}

template <typename T>
static td_status run(const td_problem *problem, const td_tensor *tensors, void *stream, td_error *err) {
    td_forward x = td_forward_of(&problem->attention, tensors);
    if (!td_mma_plan_of(&x).eights_in) return td_run_mma(problem, tensors, stream, err);
    return x.a.d <= 64    ? launch<T, td_mma_tile<128, 64, 64, 2, 2, 2, true>>(&x, stream, err)
           : x.a.d <= 128 ? launch<T, td_mma_tile<96, 64, 128, 2, 2, 2, true>>(&x, stream, err)
                          : launch<T, td_mma_tile<64, 32, 256, 2, 2, 2, true>>(&x, stream, err);
}

TD_FORWARD_MATRIX_VARIANTS(mma_async, "both products on the matrix units; the next K and V on their way meanwhile",
                           TD_LIMIT_EIGHTS, td_mma_supports);
