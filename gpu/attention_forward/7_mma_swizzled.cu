/* Rung 7: no two rows of a fragment in the same banks.
 *
 * The idea: the pieces of 16 bytes of row r change places, piece k to k ^ (r mod 8) (td_at). The 8 rows that ldmatrix
 * reads at once then meet all 32 banks, an eighth of rung 6's turns, and the same for rows that are written. It costs
 * no memory, which rows padded by 16 bytes would, and a few instructions, as a lane's address is a XOR away from the
 * next piece's.
 *
 * At d 64, 128, 256: 230, 236, 255 registers; 49, 69, 105 KiB of shared memory; two blocks on a multiprocessor.
 * Measured (as rung 6, plots/recorded/gpu_peers_16bit.csv): d 64 178 / 207 / 223, causal 138 / 186 / 211; d 128 218 /
 * 251 / 261, causal 169 / 225 / 249. Of the tiles, at d 128, T 4096, 64 × 64 gave 226 where this one gave 249, 128 × 64
 * 254 but with registers spilled.
 * Conflicts of banks fell from 966 million turns to 7 million (Nsight Compute, d 128), and the matrix units are busy in
 * 40 % of the cycles. What bounds it: the wait for K and V, a fifth of a warp's time. Rung 8 takes that away, and
 * nothing else, and gains 30 % at d 128.
 *
 * Rounding points                 Q, K, V   q·k, m, l, a   P          O, LSE
 *   mma_swizzled_bf16/fp16        16 bits   float          16 bits    float, then their tensor's dtype */
#include "attention_forward.h"
#include "mma_block.h"
#include "mma_softmax.h"

/* Of shared memory: Q (ROWS,D), K and V (KEYS,D), P (ROWS,KEYS) of 16 bits, and a float for each row of each warp. */
template <typename tile> static constexpr size_t shared_bytes(void) {
    return ((tile::ROWS + 2 * tile::KEYS) * tile::D + tile::ROWS * tile::KEYS) * 2 + tile::ACROSS * tile::ROWS * 4;
}

template <typename T, typename tile>
__global__ void __launch_bounds__(tile::THREADS, tile::BLOCKS) mma_swizzled(td_forward x, td_mma_plan plan) {
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
    return TD_LAUNCH(err, (mma_swizzled<T, tile>), td_mma_grid<tile>(x), tile::THREADS, shared_bytes<tile>(), stream,
                     *x, td_mma_plan_of(x));
}

template <typename T>
static td_status run(const td_problem *problem, const td_tensor *tensors, void *stream, td_error *err) {
    td_forward x = td_forward_of(&problem->attention, tensors);
    return x.a.d <= 64    ? launch<T, td_mma_tile<128, 64, 64, 2, 2, 2, true>>(&x, stream, err)
           : x.a.d <= 128 ? launch<T, td_mma_tile<96, 64, 128, 2, 2, 2, true>>(&x, stream, err)
                          : launch<T, td_mma_tile<64, 64, 256, 2, 2, 2, true>>(&x, stream, err);
}

TD_FORWARD_MATRIX_VARIANTS(mma_swizzled,
                           "both products on the matrix units; no two rows of a fragment in the same banks",
                           TD_LIMIT_PADDED, td_mma_supports);
