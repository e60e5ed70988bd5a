/* The parts of online_f32_fast: one body compiled for several instruction sets, a careful path, a dispatcher. */
#ifndef TANDEM_ONLINE_FAST_H
#define TANDEM_ONLINE_FAST_H

#include "attention_forward.h"

/* A tile is what one thread works on at a time: TILE_PANELS panels of queries of one head. Larger tiles share a packed
 * block of K and V among more queries; smaller ones balance better. */
enum { TD_FAST_TILE_PANELS = 4, TD_FAST_BLOCK = 128, TD_FAST_MAX_BLOCK = 1024 };

/* One instruction-set level: AVX-512, AVX2 with FMA, or what every machine of the kind has. */
typedef struct td_fast_level {
    const char *name;
    int (*supported)(void);
    int64_t panel; /* queries side by side in vector lanes */
    size_t (*tile_bytes)(const td_attention_problem *a);
    /* Attention of queries [first, first + panel · TILE_PANELS) of head (b, h); workspace of tile_bytes(). */
    void (*tile)(const td_attention_problem *a, const td_tensor *tensors, int64_t b, int64_t h, int64_t first,
                 void *workspace);
    void (*exp2)(float *x, int64_t n); /* the level's own exponential, for the test of its error; n ≤ panel */
} td_fast_level;

/* NULL-terminated, fastest first; a level that this build has not is absent, one that this machine lacks says so. */
extern const td_fast_level *const td_fast_levels[];
extern const td_fast_level td_fast_avx512, td_fast_avx2, td_fast_base;

/* Keys in a block: the problem's own choice or TD_FAST_BLOCK. */
static inline int64_t td_fast_block(const td_attention_problem *a) {
    return a->block ? a->block : TD_FAST_BLOCK;
}

/* online_f32_fast at a given level: tests compare levels. */
size_t td_fast_workspace_bytes(const td_fast_level *level, const td_problem *problem);
td_status td_fast_run(const td_fast_level *level, const td_problem *problem, const td_tensor *tensors, void *workspace);

/* Query row i of head (b, h) again, one score at a time in double, written to O and LSE: for rows whose fast result is
 * not finite. The lanes compute a masked pair and multiply it by P = 0, which is not nothing when V holds NaN or ∞. */
void td_fast_careful_row(const td_attention_problem *a, const td_tensor *tensors, int64_t b, int64_t h, int64_t i);

#endif
