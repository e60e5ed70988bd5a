/* Backward in two passes: one over blocks of keys for dK and dV, one over tiles of queries for dQ. The float32, bf16
 * and fp16 twins are one body; compare one_pass.c.
 *
 * Every result is one thread's sum, in an order that the problem fixes: no two threads write to the same place, and the
 * bits are the same in every run, with any number of threads. The price is that P and dS are recomputed twice: seven
 * products a pair instead of five. Source: Dao 2023, section 3.2 (work partitioned over keys or over queries).
 *
 * Order of sums: dQ key after key, dK and dV query after query; the block changes no bit.
 * Rounding points in gradient_tile.h. */
#include "key_block.h"

static size_t workspace_bytes(const td_problem *problem) {
    const td_attention_problem *a = &problem->attention;
    int64_t slots = td_thread_slots(td_key_blocks(a));
    return td_row_sums_bytes(a) + (size_t)(slots * td_key_block_floats(a)) * sizeof(float);
}

/* Queries outer, keys inner: the tile's dQ. */
static void query_tile(const td_attention_problem *a, const td_tensor *t, td_dtype dtype, td_query_tile at,
                       const float *D) {
    td_gradient_tile g;
    float acc[TD_MAX_D * TD_TILE] = {0}, k[TD_MAX_D], v[TD_MAX_D], p[TD_TILE], dS[TD_TILE];
    td_gradient_tile_load(&g, a, t, dtype, at, D);
    for (int64_t j = 0; j < td_tile_keys(at); j++) {
        int first = td_tile_first(at, j);
        td_load_row(&t[TD_K], dtype, at.b, at.kv, j, k);
        td_load_row(&t[TD_V], dtype, at.b, at.kv, j, v);
        td_weigh_key(a, &g, dtype, k, v, first, p, dS);
        td_add_value(dS, k, a->d, first, acc);
    }
    td_set_queries(&t[TD_DQ], at, (float)a->scale, acc);
}

static td_status run(const td_problem *problem, const td_tensor *tensors, void *workspace, td_dtype dtype) {
    const td_attention_problem *a = &problem->attention;
    float *D = workspace, *work = D + td_row_sums_bytes(a) / sizeof(float);
    int64_t blocks = td_key_blocks(a);
    td_row_sums(a, tensors, dtype, D);
    if (tensors[TD_DK].data || tensors[TD_DV].data)
#pragma omp parallel for schedule(dynamic) num_threads(td_threads(blocks))
        for (int64_t n = 0; n < blocks; n++)
            td_key_block(a, tensors, dtype, n, D, NULL, work + omp_get_thread_num() * td_key_block_floats(a));
    if (tensors[TD_DQ].data)
#pragma omp parallel for collapse(3) schedule(dynamic)
        for (int64_t b = 0; b < a->B; b++)
            for (int64_t h = 0; h < a->Hq; h++)
                for (int64_t tile = 0; tile < td_tiles_of_head(a); tile++)
                    query_tile(a, tensors, dtype, td_tile_of(a, b, h, tile), D);
    return TD_OK;
}

TD_BACKWARD_TWIN(two_pass, f32, TD_F32, td_attention_backward_bytes_f32, TD_MEM_WORKSPACE, workspace_bytes,
                 "P and dS recomputed twice, by blocks of keys and by queries; bitwise repeatable",
                 "scores beyond 3.4e38 overflow");
TD_BACKWARD_TWIN(two_pass, bf16, TD_BF16, td_attention_backward_bytes_16bit, TD_MEM_WORKSPACE, workspace_bytes,
                 "two passes, bitwise repeatable; bf16 inputs, P and dS, sums in float32",
                 "scores beyond 3.4e38 overflow");
TD_BACKWARD_TWIN(two_pass, fp16, TD_FP16, td_attention_backward_bytes_16bit, TD_MEM_WORKSPACE, workspace_bytes,
                 "two passes, bitwise repeatable; fp16 inputs, P and dS, sums in float32", "dS beyond 65504 overflows");
