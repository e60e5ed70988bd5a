/* Rung 6: both products on the matrix units.
 *
 * The idea: a warp multiplies (16,16) by (16,8) in one instruction, 2048 multiply-adds where an FFMA of all its lanes
 * does 32. Which lane holds which element is fixed (mma.h), and ldmatrix brings 16-bit elements from shared memory to
 * where they belong, 512 bytes an instruction. The plan is rung 5's: a block takes ROWS queries through the keys, its
 * warps lie over S and over O alike, a row's maximum and sum meet in shared memory, since two warps have parts of it,
 * and P goes there, rounded to 16 bits, to be the left operand of both.
 *
 * It takes everything: any strides and alignment, and every d up to 256, padded with zeros to 64, 128 or 256. Rungs 8
 * and 9 send here what does not suit them.
 *
 * At d 64, 128, 256: 230, 252, 255 registers; 49, 91, 105 KiB of shared memory; two blocks of four warps on a
 * multiprocessor.
 * Measured (H200, plots/recorded/gpu_peers_16bit.csv; B·T 16384, H·d 2048; T 1024 / 4096 / 16384; bf16, and fp16 the
 * same), in TFLOP/s: d 64 79 / 85 / 87, causal 67 / 79 / 83; d 128 85 / 91 / 92, causal 73 / 85 / 88. Rungs 4 and 5
 * reach 8 and 43 on float32.
 * What bounds it: shared memory, busy in 84 % of the cycles (Nsight Compute, d 128), while the matrix units are in 15
 * %. A row of a tile is 128 bytes or a multiple, so that the 8 rows of 16 bytes that ldmatrix reads at once lie in the
 * same 4 of 32 banks and come one after the other: with tiles of 96 × 96, the 288 ldmatrix of a tile take 9216 turns of
 * shared memory where 1152 would do.
 *
 * Rounding points       Q, K, V   q·k, m, l, a   P          O, LSE
 *   mma_bf16/fp16       16 bits   float          16 bits    float, then their tensor's dtype */
#include "attention_forward.h"
#include "mma_block.h"
#include "mma_softmax.h"

/* Of shared memory: Q (ROWS,D), K and V (KEYS,D), P (ROWS,KEYS) of 16 bits, and a float for each row of each warp. */
template <typename tile> static constexpr size_t shared_bytes(void) {
    return ((tile::ROWS + 2 * tile::KEYS) * tile::D + tile::ROWS * tile::KEYS) * 2 + tile::ACROSS * tile::ROWS * 4;
}

template <typename T, typename tile>
__global__ void __launch_bounds__(tile::THREADS, tile::BLOCKS) mma(td_forward x, td_mma_plan plan) {
    constexpr int ROWS = tile::ROWS, KEYS = tile::KEYS, D = tile::D;
    TD_DYNAMIC_SHARED(T, Q);
    T *K = Q + ROWS * D, *V = K + KEYS * D, *P = V + KEYS * D;
    float *room = (float *)(P + ROWS * KEYS);
    td_lane at = td_lane_of<tile>();
    int Tq = (int)x.a.Tq, tiles = (Tq + ROWS - 1) / ROWS, d = (int)x.a.d;
    td_queries q = td_queries_of<tile>(x, plan, blockIdx.x / tiles, blockIdx.x % tiles);
    const T *K_head = td_row<T>(x.K, q.b, q.kv, 0), *V_head = td_row<T>(x.V, q.b, q.kv, 0);

    td_load_tile<tile, ROWS>(Q, td_row<T>(x.Q, q.b, q.h, 0), x.Q, q.first, Tq, d, plan.eights_in);
    float O[tile::DOWNWARD][tile::O_WIDE][4], m[tile::DOWNWARD][2], l[tile::DOWNWARD][2];
    td_begin<tile>(O, m, l);
#pragma unroll 1
    for (int begin = 0; begin < q.end; begin += KEYS) {
        __syncthreads(); /* nobody reads the tiles before any more */
        td_load_tile<tile, KEYS>(K, K_head, x.K, begin, q.end, d, plan.eights_in);
        td_load_tile<tile, KEYS>(V, V_head, x.V, begin, q.end, d, plan.eights_in);
        __syncthreads();
        td_visit<tile>(O, m, l, Q, K, V, P, room, at, x.scale, min(q.end - begin, KEYS), min(q.reach - begin, KEYS));
    }
    td_sum_rows<tile>(l);
    td_meet<tile, true>(l, room, at);
    td_write<tile, T>(x, q.row, O, m, l, at, (float *)Q, plan.eights_out);
}

template <typename T, typename tile> static td_status launch(const td_forward *x, void *stream, td_error *err) {
    return TD_LAUNCH(err, (mma<T, tile>), td_mma_grid<tile>(x), tile::THREADS, shared_bytes<tile>(), stream, *x,
                     td_mma_plan_of(x));
}

template <typename T>
static td_status run(const td_problem *problem, const td_tensor *tensors, void *stream, td_error *err) {
    td_forward x = td_forward_of(&problem->attention, tensors);
    td_status s = td_mma_supports(problem, err); /* those that come from the rungs above */
    if (s) return s;
    return x.a.d <= 64    ? launch<T, td_mma_tile<128, 64, 64, 2, 2, 2, false>>(&x, stream, err)
           : x.a.d <= 128 ? launch<T, td_mma_tile<96, 96, 128, 2, 2, 2, false>>(&x, stream, err)
                          : launch<T, td_mma_tile<64, 64, 256, 2, 2, 2, false>>(&x, stream, err);
}

TD_FORWARD_MATRIX_VARIANTS(mma, "both products on the matrix units: fragments from shared memory by ldmatrix",
                           TD_LIMIT_PADDED, td_mma_supports);
