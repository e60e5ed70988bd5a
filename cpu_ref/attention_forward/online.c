/* Attention that never holds a row of scores: the softmax is computed on line, block by block of keys. The float32,
 * bf16 and fp16 twins are one body; compare dense.c, and online_f64.c for the same without rounding or tiles.
 *
 * For one query with scores s₀ … s₍ₙ₋₁₎, after some of the keys, hold three things:
 *     m = max s_j,    l = Σ exp(s_j − m),    a = Σ exp(s_j − m) v_j.
 * A further block of keys has maximum m' = max(m, its scores). Since exp(s_j − m') = exp(s_j − m)·exp(m − m'), all that
 * was summed before is corrected by one factor, α = exp(m − m') ≤ 1:
 *     l' = α l + Σ_block exp(s_j − m'),    a' = α a + Σ_block exp(s_j − m') v_j.
 * At the end O = a / l and LSE = m + ln l: the dense result, with room for one block instead of a row.
 * Sources: Milakov & Gimelshein 2018 (algorithm 3, the recurrence of m and l); Rabe & Staats 2021 (with the values);
 * Dao et al. 2022 (algorithm 1, by blocks).
 *
 * Rounding points    Q, K, V   q·k, S, m, l, α, a        P before PV   O, LSE
 *   online_f32       float     float                     float         float, then their tensor's dtype
 *   online_bf16      bf16      float, l from unrounded P bf16          float, then their tensor's dtype
 *   online_fp16      fp16      float, l from unrounded P fp16          float, then their tensor's dtype */
#include "query_tile.h"
#include <omp.h>

/* Room of one thread, in floats: q, a, one row of K or V, and the block's scores. */
static size_t room(const td_attention_problem *a) {
    return (size_t)(2 * TD_TILE * a->d + a->d + TD_TILE * td_online_block(a) + 15) / 16 * 16;
}

static int64_t tiles(const td_attention_problem *a) {
    return (a->Tq + TD_TILE - 1) / TD_TILE;
}

/* Never more threads than run() has room for: run() asks for exactly this team. */
static int threads(const td_attention_problem *a) {
    int64_t work = a->B * a->Hq * tiles(a), most = omp_get_max_threads();
    return (int)(work < 1 ? 1 : work < most ? work : most);
}

static size_t workspace_bytes(const td_problem *problem) {
    return (size_t)threads(&problem->attention) * room(&problem->attention) * sizeof(float);
}

void td_online_blocks_visited(const td_attention_problem *a, int64_t *visited, int64_t *skipped) {
    *visited = *skipped = 0;
    for (int64_t tile = 0; tile < tiles(a); tile++) {
        td_query_tile t = td_tile_of(a, 0, 0, tile);
        *visited += td_online_blocks(a, t.allowed[TD_TILE - 1]);
        *skipped += td_online_blocks(a, a->Tk) - td_online_blocks(a, t.allowed[TD_TILE - 1]);
    }
    *visited *= a->B * a->Hq, *skipped *= a->B * a->Hq;
}

static void attend_tile(const td_attention_problem *a, const td_tensor *t, td_dtype dtype, td_query_tile tile,
                        float *work) {
    int64_t d = a->d, block = td_online_block(a), n = tile.allowed[TD_TILE - 1]; /* no query reads further */
    float *q = work, *o = q + d * TD_TILE, *row = o + d * TD_TILE, *s = row + d, scale = (float)a->scale;
    float m[TD_TILE], l[TD_TILE];
    for (int r = 0; r < TD_TILE; r++) m[r] = -INFINITY, l[r] = 0;
    for (int64_t x = 0; x < d * TD_TILE; x++) o[x] = 0;
    td_load_queries(&t[TD_Q], dtype, &tile, row, q);

    for (int64_t k = 0; k < td_online_blocks(a, n); k++) {
        int64_t begin = k * block, end = begin + block < n ? begin + block : n;
        float shift[TD_TILE], alpha[TD_TILE], p[TD_TILE];
        for (int r = 0; r < TD_TILE; r++) shift[r] = m[r];
        for (int64_t j = begin; j < end; j++) {
            float *s_j = s + (j - begin) * TD_TILE;
            td_load_row(&t[TD_K], dtype, tile.b, tile.kv, j, row);
            td_score_key(q, row, d, scale, td_tile_first(&tile, j), s_j);
            for (int r = 0; r < TD_TILE; r++) shift[r] = s_j[r] > shift[r] ? s_j[r] : shift[r]; /* NaN loses */
        }
        for (int r = 0; r < TD_TILE; r++) {
            float m_new = shift[r];
            if (m_new == -INFINITY) shift[r] = 0; /* nothing but −∞ so far: −∞ − (−∞) would be NaN, this gives p = 0 */
            alpha[r] = expf(m[r] - shift[r]);
            l[r] *= alpha[r];
            m[r] = m_new;
        }
        for (int64_t c = 0; c < d; c++)
#pragma omp simd
            for (int r = 0; r < TD_TILE; r++) o[c * TD_TILE + r] *= alpha[r];
        for (int64_t j = begin; j < end; j++) {
            for (int r = 0; r < TD_TILE; r++) {
                p[r] = expf(s[(j - begin) * TD_TILE + r] - shift[r]);
                l[r] += p[r];
                p[r] = td_round_float(p[r], dtype);
            }
            td_load_row(&t[TD_V], dtype, tile.b, tile.kv, j, row);
            td_add_value(p, row, d, td_tile_first(&tile, j), o);
        }
    }

    for (int r = 0; r < tile.rows; r++) {
        int empty = tile.allowed[r] == 0; /* from the mask; an allowed row of nothing but −∞ has l = 0: NaN */
        for (int64_t c = 0; t[TD_O].data && c < d; c++)
            td_set(&t[TD_O], tile.b, tile.h, tile.row + r, c, empty ? 0 : o[c * TD_TILE + r] / l[r]);
        if (t[TD_LSE].data)
            td_set(&t[TD_LSE], tile.b, tile.h, tile.row + r, 0,
                   empty       ? -INFINITY
                   : l[r] == 0 ? NAN
                               : m[r] + logf(l[r]));
    }
}

static td_status run(const td_problem *problem, const td_tensor *tensors, void *workspace, td_dtype dtype) {
    const td_attention_problem *a = &problem->attention;
    int64_t last = tiles(a);
#pragma omp parallel for collapse(3) schedule(dynamic) num_threads(threads(a))
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->Hq; h++)
            for (int64_t tile = 0; tile < last; tile++)
                attend_tile(a, tensors, dtype, td_tile_of(a, b, h, tile),
                            (float *)workspace + (size_t)omp_get_thread_num() * room(a));
    return TD_OK;
}

#define TWIN(type, DTYPE, BYTES, IDEA)                                                                                 \
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
        .limits = "",                                                                                                  \
        .workspace_tag = TD_MEM_WORKSPACE,                                                                             \
        .supports = td_scale_fits_float,                                                                               \
        .workspace_bytes = workspace_bytes,                                                                            \
        .run = run_##type,                                                                                             \
        .flops = td_attention_forward_flops,                                                                           \
        .bytes = BYTES,                                                                                                \
    }

TWIN(f32, TD_F32, td_attention_forward_bytes_f32, "the softmax on line, by blocks of keys, in float32");
TWIN(bf16, TD_BF16, td_attention_forward_bytes_16bit, "the softmax on line; bf16 inputs and P, sums in float32");
TWIN(fp16, TD_FP16, td_attention_forward_bytes_16bit, "the softmax on line; fp16 inputs and P, sums in float32");
