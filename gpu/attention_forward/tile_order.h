/* Who computes which tile, where a block stays on its multiprocessor and computes many: what a launch of one block a
 * tile leaves to the hardware.
 *
 * Without a mask all tiles cost the same: block c takes tiles c, c + blocks, …, head by head, so that the few heads
 * whose K and V are being read stay in the L2 cache.
 * Under a causal mask a head's last tile reads all keys and its first next to none. Longest first, over all heads,
 * balances the blocks, but then all heads are read at once, and none stays in the cache. So most heads go in pairs, the
 * longest tile with the shortest, all of a cost; what is left of the last rounds of pairs goes longest first, back and
 * forth over the blocks: 0 … G − 1, G − 1 … 0. In the cells of the benchmark, the busiest block then has 1 % more to do
 * than the mean; pairs alone 3 %, back and forth by groups of heads that fit the cache 27 %. */
#ifndef TANDEM_GPU_TILE_ORDER_H
#define TANDEM_GPU_TILE_ORDER_H

#include "attention_forward.h"

/* Tiles are numbered head by head. The first `rounds` rounds are of pairs; the rest begins with pair `pair` of head
 * `head`. */
struct td_schedule {
    int tiles, heads, rounds, head, pair;
    bool causal;
};

enum { NO_TILE = -1, NO_MORE_TILES = -2 };

static inline td_schedule td_schedule_of(const td_attention_problem *a, int rows, int blocks) {
    int tiles = (int)((a->Tq + rows - 1) / rows), pairs = (tiles + 1) / 2, heads = (int)(a->B * a->Hq);
    int rounds = (int)((int64_t)heads * pairs / blocks) - 1;
    if (rounds < 0) rounds = 0;
    int64_t paired = (int64_t)rounds * blocks;
    return {tiles, heads, rounds, (int)(paired / pairs), (int)(paired % pairs), a->mask != TD_MASK_NONE};
}

/* Tile n of those that remain after the pairs, the longest first. Pair i holds tiles i and tiles − 1 − i: of the head
 * that is broken off, the tiles in the middle remain. */
static __device__ __forceinline__ int td_tile_of_rest(const td_schedule &s, int n) {
    int whole = s.heads - s.head - 1, outer = s.pair * whole, middle = (s.tiles - 2 * s.pair) * (whole + 1);
    if (whole < 0 || n >= 2 * outer + middle) return NO_MORE_TILES;
    if (n < outer) return (s.head + 1 + n % whole) * s.tiles + s.tiles - 1 - n / whole;
    n -= outer;
    if (n < middle) return (s.head + n % (whole + 1)) * s.tiles + s.tiles - 1 - s.pair - n / (whole + 1);
    n -= middle;
    return (s.head + 1 + n % whole) * s.tiles + s.pair - 1 - n / whole;
}

/* The tile of a round, of one of so many blocks. */
static __device__ __forceinline__ int td_tile_of_block(const td_schedule &s, int round, int blocks, int block) {
    if (!s.causal) {
        int n = round * blocks + block;
        return n < s.heads * s.tiles ? n : NO_MORE_TILES;
    }
    if (round < 2 * s.rounds) {
        int pairs = (s.tiles + 1) / 2, n = round / 2 * blocks + block, i = n % pairs, first = n / pairs * s.tiles;
        if (round % 2 == 0) return first + s.tiles - 1 - i;
        return 2 * i == s.tiles - 1 ? NO_TILE : first + i;
    }
    round -= 2 * s.rounds;
    return td_tile_of_rest(s, round * blocks + (round % 2 ? blocks - 1 - block : block));
}

#endif
