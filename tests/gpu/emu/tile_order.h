/* The order of tiles of the rungs whose blocks stay, called on the host. */
#ifndef TANDEM_TESTS_TILE_ORDER_H
#define TANDEM_TESTS_TILE_ORDER_H

/* How often each tile of (heads, tiles) is some block's, to times[]; returns the most rounds that a block has, −1 if a
 * tile lies outside. */
#ifdef __cplusplus
extern "C"
#endif
    int
    visit_tiles(int heads, int tiles, int blocks, int causal, int *times);

#endif
