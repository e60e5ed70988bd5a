/* The tiles of one block that stays on its multiprocessor (tile_order.h): which rows and keys they have, and what is
 * done for those without a key. */
#ifndef TANDEM_GPU_SCHEDULE_H
#define TANDEM_GPU_SCHEDULE_H

#include "tile_order.h"
#include "wgmma_rows.h"

/* This block's tile of a round. */
static __device__ __forceinline__ int td_tile_of_round(const td_schedule &s, int round) {
    return td_tile_of_block(s, round, gridDim.x, blockIdx.x);
}

template <int ROWS>
static __device__ __forceinline__ td_block_rows td_tile_rows(const td_schedule &s, const td_attention_problem &a,
                                                             int tile) {
    int head = tile / s.tiles, h = head % (int)a.Hq, first = tile % s.tiles * ROWS;
    int last = min(first + ROWS, (int)a.Tq) - 1;
    return {head / (int)a.Hq, h, h / ((int)a.Hq / (int)a.Hkv), first, (int)td_allowed_keys(a.mask, last, a.Tq, a.Tk)};
}

/* The rows of this block's next tile that has keys; no keys if there is none. */
template <int ROWS>
static __device__ __forceinline__ td_block_rows td_next_tile(const td_attention_problem &a, const td_schedule &s,
                                                             int &round) {
    for (int tile; (tile = td_tile_of_round(s, round++)) != NO_MORE_TILES;) {
        if (tile == NO_TILE) continue;
        td_block_rows at = td_tile_rows<ROWS>(s, a, tile);
        if (at.end > 0) return at;
    }
    return {};
}

/* All consumers, apart from the rest, whose paths the compiler then sees to be the same for a whole warp: the rows of
 * this block's tiles without keys. */
template <int ROWS>
static __device__ __forceinline__ void td_put_empty_tiles(const td_forward &x, const td_schedule &s) {
    if (td_allowed_keys(x.a.mask, ROWS - 1, x.a.Tq, x.a.Tk) > 0) return; /* not even a head's first tile is empty */
    int tile, thread = threadIdx.x - WARPGROUP, d = (int)x.a.d;
    for (int round = 0; (tile = td_tile_of_round(s, round)) != NO_MORE_TILES; round++) {
        if (tile == NO_TILE) continue;
        td_block_rows at = td_tile_rows<ROWS>(s, x.a, tile);
        int64_t q = at.first + thread / 2;
        if (at.end > 0 || q >= x.a.Tq) continue;
        if (x.LSE.data && thread % 2 == 0) td_set(&x.LSE, at.b, at.h, q, 0, -INFINITY);
        for (int c = thread % 2; x.O.data && c < d; c += 2) td_set(&x.O, at.b, at.h, q, c, 0);
    }
}

#endif
