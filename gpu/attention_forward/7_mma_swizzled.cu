#include "attention_forward.h"
#include "mma_tile.h"

/* Of shared memory: Q (ROWS,D), K and V (KEYS,D), P (ROWS,KEYS) of 16 bits, and a float for each row of each warp. */
template <typename tile> static constexpr size_t shared_bytes(void) {
    return ((tile::ROWS + 2 * tile::KEYS) * tile::D + tile::ROWS * tile::KEYS) * 2 + tile::ACROSS * tile::ROWS * 4;
}

template <typename T, typename tile>
__global__ void __launch_bounds__(tile::THREADS, tile::BLOCKS)
    mma_swizzled(td_forward x, bool eights_in, bool eights_out, int64_t shift) {
    constexpr int ROWS = tile::ROWS, KEYS = tile::KEYS, D = tile::D, M = tile::DOWNWARD;
    TD_DYNAMIC_SHARED(T, Q);
    T *K = Q + ROWS * D, *V = K + KEYS * D, *P = V + KEYS * D;
    float *room = (float *)(P + ROWS * KEYS);
    td_lane at = td_lane_of<tile>();
    int tiles = (int)((x.a.Tq + ROWS - 1) / ROWS), head = blockIdx.x / tiles, first = blockIdx.x % tiles * ROWS;
    int b = head / (int)x.a.Hq, h = head % (int)x.a.Hq, kv = h / (int)(x.a.Hq / x.a.Hkv);
    int Tq = (int)x.a.Tq, last = min(first + ROWS, Tq) - 1, d = (int)x.a.d;
    /* the first and the last query may read so many keys, less than 0 being none; the last reads furthest */
    int reach = (int)min(x.a.Tk, first + 1 + shift), end = (int)min(x.a.Tk, last + 1 + shift);
    int row = head * Tq + first;
    const T *K_head = td_row<T>(x.K, b, kv, 0), *V_head = td_row<T>(x.V, b, kv, 0);
    td_load_tile<tile, ROWS>(Q, td_row<T>(x.Q, b, h, 0), x.Q, first, Tq, d, eights_in);
    float O[M][tile::O_WIDE][4] = {}, m[M][2], l[M][2];
#pragma unroll
    for (int i = 0; i < M; i++)
#pragma unroll
        for (int r = 0; r < 2; r++) m[i][r] = -INFINITY, l[i][r] = 0;

#pragma unroll 1
    for (int begin = 0; begin < end; begin += KEYS) {
        /* row r of the block may read the first `limit` + r of these keys */
        int keys = min(end - begin, KEYS), limit = min(reach - begin, KEYS);
        __syncthreads(); /* nobody reads the tiles before any more */
        td_load_tile<tile, KEYS>(K, K_head, x.K, begin, end, d, eights_in);
        td_load_tile<tile, KEYS>(V, V_head, x.V, begin, end, d, eights_in);
        __syncthreads();

        float S[M][tile::S_WIDE][4] = {}, most[M][2], alpha[M][2];
        td_add_qk<tile>(S, Q, K, at);
        td_scale<tile>(S, x.scale);
        if (keys < KEYS || limit + at.row < KEYS) td_mask_scores<tile>(S, at, keys, limit);
        td_row_max<tile>(most, S);
        td_meet<tile, false>(most, room, at);
        td_softmax<tile>(S, m, l, alpha, most);
        td_put_p<tile>(P, S, at);
        __syncthreads();
        td_rescale<tile>(O, alpha);
#pragma unroll
        for (int k = 0; k < KEYS; k += 16) {
            uint32_t a[M][4];
#pragma unroll
            for (int i = 0; i < M; i++) td_load_p<tile>(a[i], P, at.row + 16 * i, k);
            td_add_pv<tile>(O, a, V, k, at);
        }
    }

#pragma unroll
    for (int i = 0; i < M; i++)
#pragma unroll
        for (int r = 0; r < 2; r++) l[i][r] = td_sum_of_quad(l[i][r]);
    td_meet<tile, true>(l, room, at);
    td_write<tile, T>(x, row, O, m, l, at, (float *)Q, eights_out);
}

template <typename T, typename tile> static td_status launch(const td_forward *x, void *stream, td_error *err) {
    dim3 grid((unsigned)(x->a.B * x->a.Hq * ((x->a.Tq + tile::ROWS - 1) / tile::ROWS)));
    bool eights_in = td_fits_eights(&x->Q) && td_fits_eights(&x->K) && td_fits_eights(&x->V);
    bool eights_out = x->O.data && x->O.dtype == x->Q.dtype && td_fits_eights(&x->O);
    return TD_LAUNCH(err, (mma_swizzled<T, tile>), grid, tile::THREADS, shared_bytes<tile>(), stream, *x, eights_in,
                     eights_out, td_diagonal(&x->a));
}

template <typename T>
static td_status run(const td_problem *problem, const td_tensor *tensors, void *stream, td_error *err) {
    td_forward x = td_forward_of(&problem->attention, tensors);
    return x.a.d <= 64    ? launch<T, td_mma_tile<128, 64, 64, 2, 2, 2, true>>(&x, stream, err)
           : x.a.d <= 128 ? launch<T, td_mma_tile<96, 64, 128, 2, 2, 2, true>>(&x, stream, err)
                          : launch<T, td_mma_tile<64, 64, 256, 2, 2, 2, true>>(&x, stream, err);
}

TD_FORWARD_MATRIX_VARIANTS(mma_swizzled,
                           "both products on the matrix units; no two rows of a fragment in the same banks", "",
                           td_forward_no_block);
