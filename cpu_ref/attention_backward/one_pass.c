/* Backward in one pass over blocks of keys, P and dS recomputed from LSE and D and held for one key at a time. The
 * float32, bf16 and fp16 twins are one body; compare two_pass.c.
 *
 * A block of keys owns its dK and dV, but dQ of a query is a sum over all blocks, which different threads compute at
 * the same time: the write conflict of backward. Here every block adds its part to one dQ in float, atomically. No
 * addition is lost, yet their order is whatever the threads make it, and float addition is not associative: with more
 * than one thread the last bits of dQ differ from run to run. In exchange P and dS are computed once, not twice.
 * Source: Dao et al. 2022, algorithm 4; in parallel over blocks of keys: Dao 2023, section 3.2.
 *
 * Order of sums: a block's part of dQ is summed by itself, key by key, then added; dK and dV query by query.
 * Rounding points in gradient_tile.h. */
#include "key_block.h"
#include <string.h>

/* dQ in float, before the scale. */
static size_t bytes_of_dQ(const td_attention_problem *a) {
    return (size_t)((a->B * a->Hq * a->Tq * a->d + 15) / 16 * 16) * sizeof(float);
}

static size_t workspace_bytes(const td_problem *problem) {
    const td_attention_problem *a = &problem->attention;
    int64_t slots = td_thread_slots(td_key_blocks(a));
    return td_row_sums_bytes(a) + bytes_of_dQ(a) + (size_t)(slots * td_key_block_floats(a)) * sizeof(float);
}

static td_status run(const td_problem *problem, const td_tensor *tensors, void *workspace, td_dtype dtype) {
    const td_attention_problem *a = &problem->attention;
    float *D = workspace, *dQ = D + td_row_sums_bytes(a) / sizeof(float), *work = dQ + bytes_of_dQ(a) / sizeof(float);
    int64_t blocks = td_key_blocks(a);
    td_row_sums(a, tensors, dtype, D);
    memset(dQ, 0, bytes_of_dQ(a));
#pragma omp parallel for schedule(dynamic) num_threads(td_threads(blocks))
    for (int64_t n = 0; n < blocks; n++)
        td_key_block(a, tensors, dtype, n, D, tensors[TD_DQ].data ? dQ : NULL,
                     work + omp_get_thread_num() * td_key_block_floats(a));
#pragma omp parallel for collapse(3)
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->Hq; h++)
            for (int64_t i = 0; i < a->Tq; i++)
                td_set_row(&tensors[TD_DQ], b, h, i, (float)a->scale, dQ + ((b * a->Hq + h) * a->Tq + i) * a->d);
    return TD_OK;
}

TD_BACKWARD_TWIN(one_pass, f32, TD_F32, td_attention_backward_bytes_f32, TD_MEM_WORKSPACE, workspace_bytes,
                 "P and dS recomputed once, by blocks of keys; all blocks add into dQ",
                 TD_LIMIT_BITS_VARY "; scores beyond 3.4e38 overflow");
TD_BACKWARD_TWIN(one_pass, bf16, TD_BF16, td_attention_backward_bytes_16bit, TD_MEM_WORKSPACE, workspace_bytes,
                 "one pass by blocks of keys; bf16 inputs, P and dS, sums in float32",
                 TD_LIMIT_BITS_VARY "; scores beyond 3.4e38 overflow");
TD_BACKWARD_TWIN(one_pass, fp16, TD_FP16, td_attention_backward_bytes_16bit, TD_MEM_WORKSPACE, workspace_bytes,
                 "one pass by blocks of keys; fp16 inputs, P and dS, sums in float32",
                 TD_LIMIT_BITS_VARY "; dS beyond 65504 overflows");
