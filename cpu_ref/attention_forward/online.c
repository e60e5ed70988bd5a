/* Attention that never holds a row of scores: the softmax is computed on line, block by block of keys. The float32,
 * bf16 and fp16 twins are one body; compare dense.c, and online_f64.c for the same without rounding or tiles.
 *
 * For one query with scores s₀ … s₍ₙ₋₁₎ hold three things about the keys seen so far:
 *     m = max s_j,    l = Σ exp(s_j − m),    a = Σ exp(s_j − m) v_j.
 * One more block of keys gives the maximum m' = max(m, its scores). As exp(s_j − m') = exp(s_j − m)·exp(m − m'), one
 * factor, α = exp(m − m') ≤ 1, corrects all that was summed before:
 *     l' = α l + Σ_block exp(s_j − m'),    a' = α a + Σ_block exp(s_j − m') v_j.
 * After the last block O = a / l and LSE = m + ln l: the dense result, with room for one block instead of a row. A
 * block that the mask forbids to every query is never visited. Sources: Milakov & Gimelshein 2018 (algorithm 3, the
 * recurrence of m and l); Rabe & Staats 2021 (with the values); Dao et al. 2022 (algorithm 1, by blocks).
 *
 * Order of sums: a block's part of l is summed by itself, key by key, then added to α l; a takes key after key.
 * Rounding points    Q, K, V   q·k, S, m, l, α, a        P before PV   O, LSE
 *   online_f32       float     float                     float         float, then their tensor's dtype
 *   online_bf16      bf16      float, l from unrounded P bf16          float, then their tensor's dtype
 *   online_fp16      fp16      float, l from unrounded P fp16          float, then their tensor's dtype */
#include "query_tile.h"

/* Pieces of work that do not depend on each other. */
static int64_t pieces(const td_attention_problem *a) {
    return a->B * a->Hq * td_tiles_of_head(a);
}

/* Room of one thread, in floats: q, acc, a row of K or V, and the scores of one block; whole cache lines. */
static int64_t room(const td_attention_problem *a) {
    return (TD_TILE * (2 * a->d + td_online_block(a)) + a->d + 15) / 16 * 16;
}

static size_t workspace_bytes(const td_problem *problem) {
    const td_attention_problem *a = &problem->attention;
    return (size_t)(td_thread_slots(pieces(a)) * room(a)) * sizeof(float);
}

void td_online_blocks_visited(const td_attention_problem *a, int64_t *visited, int64_t *skipped) {
    *visited = *skipped = 0;
    for (int64_t tile = 0; tile < td_tiles_of_head(a) && a->B * a->Hq > 0; tile++) {
        int64_t blocks = td_online_blocks(a, td_tile_keys(td_tile_of(a, 0, 0, tile)));
        *visited += a->B * a->Hq * blocks;
        *skipped += a->B * a->Hq * (td_online_blocks(a, a->Tk) - blocks);
    }
}

static void attend_tile(const td_attention_problem *a, const td_tensor *t, td_dtype dtype, td_query_tile tile,
                        float *work) {
    const td_tensor *Q = &t[TD_Q], *K = &t[TD_K], *V = &t[TD_V], *O = &t[TD_O], *LSE = &t[TD_LSE];
    int64_t d = a->d, block = td_online_block(a), n = td_tile_keys(tile);
    float *q = work, *acc = q + TD_TILE * d, *s = acc + TD_TILE * d, *row = s + TD_TILE * block;
    float m[TD_TILE], l[TD_TILE] = {0};

    td_load_queries(Q, dtype, tile, row, q);
    for (int r = 0; r < TD_TILE; r++) m[r] = -INFINITY;
    for (int64_t e = 0; e < TD_TILE * d; e++) acc[e] = 0;

    for (int64_t k = 0; k < td_online_blocks(a, n); k++) {
        int64_t begin = k * block, end = begin + block < n ? begin + block : n;
        float m_new[TD_TILE], shift[TD_TILE], alpha[TD_TILE], sum[TD_TILE] = {0};
        memcpy(m_new, m, sizeof m);
        for (int64_t j = begin; j < end; j++) {
            float *s_j = s + (j - begin) * TD_TILE;
            td_load_row(K, dtype, tile.b, tile.kv, j, row);
            td_score_key(q, row, d, (float)a->scale, td_tile_first(tile, j), s_j);
            for (int r = 0; r < TD_TILE; r++) m_new[r] = s_j[r] > m_new[r] ? s_j[r] : m_new[r]; /* NaN loses */
        }
        for (int r = 0; r < TD_TILE; r++) {
            /* nothing but −∞ so far: −∞ − (−∞) would be NaN; shifting by 0 instead gives exp(−∞) = 0 */
            shift[r] = m_new[r] == -INFINITY ? 0 : m_new[r];
            alpha[r] = expf(m[r] - shift[r]);
        }
        for (int64_t c = 0; c < d; c++)
            for (int r = 0; r < TD_TILE; r++) acc[c * TD_TILE + r] *= alpha[r];
        for (int64_t j = begin; j < end; j++) {
            float p[TD_TILE];
            for (int r = 0; r < TD_TILE; r++) {
                p[r] = expf(s[(j - begin) * TD_TILE + r] - shift[r]);
                sum[r] += p[r];
                p[r] = td_round_float(p[r], dtype);
            }
            td_load_row(V, dtype, tile.b, tile.kv, j, row);
            td_add_value(p, row, d, td_tile_first(tile, j), acc);
        }
        for (int r = 0; r < TD_TILE; r++) l[r] = alpha[r] * l[r] + sum[r], m[r] = m_new[r];
    }

    for (int r = 0; r < tile.rows; r++) {
        int64_t i = tile.row + r;
        int empty = tile.allowed[r] == 0; /* by the mask; an allowed row with nothing but −∞ has l = 0, and is NaN */
        if (O->data)
            for (int64_t c = 0; c < d; c++) td_set(O, tile.b, tile.h, i, c, empty ? 0 : acc[c * TD_TILE + r] / l[r]);
        float lse = empty ? -INFINITY : l[r] == 0 ? NAN : m[r] + logf(l[r]);
        if (LSE->data) td_set(LSE, tile.b, tile.h, i, 0, lse);
    }
}

static td_status run(const td_problem *problem, const td_tensor *tensors, void *workspace, td_dtype dtype) {
    const td_attention_problem *a = &problem->attention;
#pragma omp parallel for collapse(3) schedule(dynamic) num_threads(td_threads(pieces(a)))
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->Hq; h++)
            for (int64_t tile = 0; tile < td_tiles_of_head(a); tile++)
                attend_tile(a, tensors, dtype, td_tile_of(a, b, h, tile),
                            (float *)workspace + omp_get_thread_num() * room(a));
    return TD_OK;
}

#define TWIN(type, DTYPE, BYTES, IDEA, LIMITS)                                                                         \
    static td_status run_##type(const td_problem *problem, const td_tensor *tensors, void *workspace, void *stream,    \
                                td_error *err) {                                                                       \
        (void)stream, (void)err;                                                                                       \
        return run(problem, tensors, workspace, DTYPE);                                                                \
    }                                                                                                                  \
    const td_variant td_attention_forward_online_##type = {                                                            \
        .name = "online_" #type,                                                                                       \
        .op = TD_OP_ATTENTION_FORWARD,                                                                                 \
        .backend = TD_CPU,                                                                                             \
        .dtype = DTYPE,                                                                                                \
        .rounding = {TD_F32, TD_F32, DTYPE, TD_EXPF_ULP},                                                              \
        .idea = IDEA,                                                                                                  \
        .limits = LIMITS,                                                                                              \
        .workspace_tag = TD_MEM_WORKSPACE,                                                                             \
        .supports = td_scale_fits_float,                                                                               \
        .workspace_bytes = workspace_bytes,                                                                            \
        .run = run_##type,                                                                                             \
        .flops = td_attention_forward_flops,                                                                           \
        .bytes = BYTES,                                                                                                \
    }

TWIN(f32, TD_F32, td_attention_forward_bytes_f32, "the softmax on line, by blocks of keys, in float32",
     "scores beyond 3.4e38 overflow");
TWIN(bf16, TD_BF16, td_attention_forward_bytes_16bit, "the softmax on line; bf16 inputs and P, sums in float32",
     "scores beyond 3.4e38 overflow");
TWIN(fp16, TD_FP16, td_attention_forward_bytes_16bit, "the softmax on line; fp16 inputs and P, sums in float32",
     "scores beyond 3.4e38 overflow");
