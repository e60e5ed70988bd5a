/* Keys outer, queries inner: one block of keys and every query that reads it. */
#ifndef TANDEM_CPU_KEY_BLOCK_H
#define TANDEM_CPU_KEY_BLOCK_H

#include "gradient_tile.h"

/* Blocks of keys in all heads: they do not depend on each other but for dQ. */
int64_t td_key_blocks(const td_attention_problem *a);

/* dK and dV of block number `n`, 0 ≤ n < td_key_blocks: its K and V stay where they are while the tiles of queries go
 * by, so that dK and dV are sums of its own, finished when the last tile has passed. Tiles of which the mask lets no
 * query read a key of the block are never visited (as many as td_online_blocks_visited says). Where dQ is not NULL
 * (B,Hq,Tq,d) each visit adds its part of dS K to it: the other blocks add theirs to the same places, maybe at the same
 * moment, hence the atomic additions. D is that of td_row_sums; `work` has room for td_key_block_floats. */
void td_key_block(const td_attention_problem *a, const td_tensor *t, td_dtype dtype, int64_t n, const float *D,
                  float *dQ, float *work);

/* K, V, dK and dV of one block; whole cache lines. */
int64_t td_key_block_floats(const td_attention_problem *a);

#endif
