/* Attention as an unfused framework computes it: three passes over matrices of T × T, each written to memory and read
 * back. The float32, bf16 and fp16 twins are one body; compare online.c.
 *
 *     S = scale · Q Kᵀ,    P = softmax(S) by rows (P takes the place of S),    O = P V.
 * Source: Vaswani et al. 2017, eq. 1; empty rows and LSE as in tandem/attention.h.
 *
 * Rounding points    Q, K, V   q·k     S       m, l    P       P V     O, LSE
 *   dense_f32        float     float   float   float   float   float   float, then their tensor's dtype
 *   dense_bf16       bf16      float   bf16    float   bf16    float   float, then their tensor's dtype
 *   dense_fp16       fp16      float   fp16    float   fp16    float   float, then their tensor's dtype */
#include "query_tile.h"

enum { MAX_D = 256 };

static void scores(const td_attention_problem *a, const td_tensor *t, td_query_tile tile, const td_tensor *S) {
    float q[MAX_D * TD_TILE], row[MAX_D], s[TD_TILE];
    td_load_queries(&t[TD_Q], S->dtype, tile, row, q);
    for (int64_t j = 0; j < td_tile_keys(tile); j++) {
        int first = td_tile_first(tile, j);
        td_load_row(&t[TD_K], S->dtype, tile.b, tile.kv, j, row);
        td_score_key(q, row, a->d, (float)a->scale, first, s);
        for (int r = first; r < tile.rows; r++) td_set(S, tile.b, tile.h, tile.row + r, j, s[r]);
    }
}

static void softmax(const td_attention_problem *a, const td_tensor *t, td_query_tile tile, const td_tensor *S) {
    (void)a;
    for (int r = 0; r < tile.rows; r++) {
        int64_t i = tile.row + r, n = tile.allowed[r];
        float m = -INFINITY, l = 0; /* NaN scores lose to any number in m, and come back through l */
        for (int64_t j = 0; j < n; j++) {
            float s = (float)td_get(S, tile.b, tile.h, i, j);
            m = s > m ? s : m;
        }
        for (int64_t j = 0; j < n; j++) l += expf((float)td_get(S, tile.b, tile.h, i, j) - m);
        for (int64_t j = 0; j < n; j++)
            td_set(S, tile.b, tile.h, i, j, expf((float)td_get(S, tile.b, tile.h, i, j) - m) / l);
        if (t[TD_LSE].data) td_set(&t[TD_LSE], tile.b, tile.h, i, 0, n == 0 ? -INFINITY : m + logf(l));
    }
}

static void values(const td_attention_problem *a, const td_tensor *t, td_query_tile tile, const td_tensor *P) {
    float acc[MAX_D * TD_TILE] = {0}, row[MAX_D], p[TD_TILE] = {0};
    for (int64_t j = 0; j < td_tile_keys(tile); j++) {
        int first = td_tile_first(tile, j);
        for (int r = first; r < tile.rows; r++) p[r] = (float)td_get(P, tile.b, tile.h, tile.row + r, j);
        td_load_row(&t[TD_V], P->dtype, tile.b, tile.kv, j, row);
        td_add_value(p, row, a->d, first, acc);
    }
    if (!t[TD_O].data) return;
    for (int r = 0; r < tile.rows; r++)
        for (int64_t c = 0; c < a->d; c++) td_set(&t[TD_O], tile.b, tile.h, tile.row + r, c, acc[c * TD_TILE + r]);
}

static size_t bytes_of_scores(const td_problem *problem, td_dtype dtype) {
    const td_attention_problem *a = &problem->attention;
    return (size_t)(a->B * a->Hq * a->Tq * a->Tk) * td_dtype_size(dtype);
}

static td_status run(const td_problem *problem, const td_tensor *tensors, void *workspace, td_dtype dtype) {
    const td_attention_problem *a = &problem->attention;
    td_tensor S = td_contiguous(workspace, dtype, a->B, a->Hq, a->Tq, a->Tk); /* only allowed elements are touched */
    void (*const pass[])(const td_attention_problem *, const td_tensor *, td_query_tile,
                         const td_tensor *) = {scores, softmax, values};
    for (int k = 0; k < 3; k++)
#pragma omp parallel for collapse(3) schedule(dynamic)
        for (int64_t b = 0; b < a->B; b++)
            for (int64_t h = 0; h < a->Hq; h++)
                for (int64_t tile = 0; tile < td_tiles_of_head(a); tile++)
                    pass[k](a, tensors, td_tile_of(a, b, h, tile), &S);
    return TD_OK;
}

#define TWIN(type, DTYPE, BYTES, IDEA, LIMITS)                                                                         \
    static td_status run_##type(const td_problem *problem, const td_tensor *tensors, void *workspace, void *stream,    \
                                td_error *err) {                                                                       \
        (void)stream, (void)err;                                                                                       \
        return run(problem, tensors, workspace, DTYPE);                                                                \
    }                                                                                                                  \
    static size_t workspace_bytes_##type(const td_problem *problem) {                                                  \
        return bytes_of_scores(problem, DTYPE);                                                                        \
    }                                                                                                                  \
    const td_variant td_attention_forward_dense_##type = {                                                             \
        .name = "dense_" #type,                                                                                        \
        .op = TD_OP_ATTENTION_FORWARD,                                                                                 \
        .backend = TD_CPU,                                                                                             \
        .dtype = DTYPE,                                                                                                \
        .rounding = {TD_F32, DTYPE, DTYPE, TD_EXPF_ULP},                                                               \
        .idea = IDEA,                                                                                                  \
        .limits = LIMITS,                                                                                              \
        .workspace_tag = TD_MEM_SCORES,                                                                                \
        .supports = td_scale_fits_float,                                                                               \
        .workspace_bytes = workspace_bytes_##type,                                                                     \
        .run = run_##type,                                                                                             \
        .flops = td_attention_forward_flops,                                                                           \
        .bytes = BYTES,                                                                                                \
    }

TWIN(f32, TD_F32, td_attention_forward_bytes_f32, "S and P held whole, in float32", "scores beyond 3.4e38 overflow");
TWIN(bf16, TD_BF16, td_attention_forward_bytes_16bit, "S and P held whole and rounded to bf16, sums in float32",
     "scores beyond 3.4e38 overflow");
TWIN(fp16, TD_FP16, td_attention_forward_bytes_16bit, "S and P held whole and rounded to fp16, sums in float32",
     "scores beyond 65504 overflow");
