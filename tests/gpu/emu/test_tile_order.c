/* Blocks that stay on their multiprocessors leave no tile out and compute none twice. */
#include "tile_order.h"
#include <criterion/criterion.h>
#include <string.h>

enum { HEADS = 40, TILES = 23 };

Test(tile_order, every_tile_is_one_block_s) {
    static const int blocks[] = {1, 2, 7, 16, 114, 132};
    static int times[HEADS * TILES];
    for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++)
        for (int causal = 0; causal < 2; causal++)
            for (int heads = 1; heads <= HEADS; heads++)
                for (int tiles = 1; tiles <= TILES; tiles++) {
                    memset(times, 0, sizeof times);
                    int rounds = visit_tiles(heads, tiles, blocks[k], causal, times);
                    int fair = heads * (tiles + causal) / blocks[k]; /* an odd number's middle tile is a pair of one */
                    cr_assert(rounds > 0 && rounds <= fair + 3, "%d heads, %d tiles, %d blocks: %d rounds", heads,
                              tiles, blocks[k], rounds);
                    for (int t = 0; t < heads * tiles; t++)
                        cr_assert_eq(times[t], 1, "%d heads, %d tiles, %d blocks, causal %d: tile %d taken %d times",
                                     heads, tiles, blocks[k], causal, t, times[t]);
                }
}
