/* Round after round of every block, as a kernel goes through them. */
#include "../../../gpu/attention_forward/tile_order.h"
#include "tile_order.h"

int visit_tiles(int heads, int tiles, int blocks, int causal, int *times) {
    enum { ROWS = 128 };
    td_attention_problem a = {
        1, heads, 1, (int64_t)tiles * ROWS - 1, 1, 64, 1, causal ? TD_MASK_CAUSAL_TOP_LEFT : TD_MASK_NONE, 0};
    td_schedule s = td_schedule_of(&a, ROWS, blocks);
    int most = 0;
    for (int block = 0; block < blocks; block++)
        for (int round = 0, tile; (tile = td_tile_of_block(s, round, blocks, block)) != NO_MORE_TILES; round++) {
            if (round >= most) most = round + 1;
            if (tile == NO_TILE) continue;
            if (tile < 0 || tile >= heads * tiles) return -1;
            times[tile]++;
        }
    return most;
}
