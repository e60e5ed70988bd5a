/* Sixteen queries with all that backward needs of them: what the float32, bf16 and fp16 twins have in common.
 *
 * Backward multiplies in two directions. Scores and dP of one key are sums over c, and dQ is one over keys: queries
 * side by side, x[c][r], as in query_tile.h. dK and dV of one key are sums over queries: row after row, x[r][c]. So Q
 * and dO are held both ways. Every sum runs in its plain order, one addition at a time.
 *
 * Rounding points    Q, K, V, O, dO   LSE     S, P, dP, D, dS   P before PᵀdO   dS before dS K, dSᵀQ   sums, results
 *   backward_…_f32   float            float   float             float           float                  float
 *   backward_…_bf16  bf16             float   float             bf16            bf16                   float
 *   backward_…_fp16  fp16             float   float             fp16            fp16                   float
 * dS is made of P as it was before rounding; results are multiplied by the scale in float, once, after their last sum,
 * then rounded to their tensor's dtype. The 16-bit twins are tensor cores' arithmetic. */
#ifndef TANDEM_CPU_GRADIENT_TILE_H
#define TANDEM_CPU_GRADIENT_TILE_H

#include "../attention_forward/query_tile.h"
#include "attention_backward.h"

enum { TD_MAX_D = 256 };

typedef struct td_gradient_tile {
    td_query_tile at;
    float q[TD_MAX_D * TD_TILE], dO[TD_MAX_D * TD_TILE];           /* [c][r] */
    float q_rows[TD_TILE * TD_MAX_D], dO_rows[TD_TILE * TD_MAX_D]; /* [r][c], d floats a row */
    float lse[TD_TILE], D[TD_TILE];
} td_gradient_tile;

/* D (B,Hq,Tq) = rowsum(dO ∘ O): one number a query, needed by every key, so that it is computed once. */
static inline void td_row_sums(const td_attention_problem *a, const td_tensor *t, td_dtype dtype, float *D) {
#pragma omp parallel for collapse(3)
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->Hq; h++)
            for (int64_t i = 0; i < a->Tq; i++) {
                float o[TD_MAX_D], dO[TD_MAX_D], sum = 0;
                td_load_row(&t[TD_O], dtype, b, h, i, o);
                td_load_row(&t[TD_DO], dtype, b, h, i, dO);
                for (int64_t c = 0; c < a->d; c++) sum += dO[c] * o[c];
                D[(b * a->Hq + h) * a->Tq + i] = sum;
            }
}

static inline size_t td_row_sums_bytes(const td_attention_problem *a) {
    return (size_t)(a->B * a->Hq * a->Tq + 15) / 16 * 16 * sizeof(float); /* what follows it is aligned too */
}

static inline void td_gradient_tile_load(td_gradient_tile *g, const td_attention_problem *a, const td_tensor *t,
                                         td_dtype dtype, td_query_tile at, const float *D) {
    float row[TD_MAX_D];
    g->at = at;
    td_load_queries(&t[TD_Q], dtype, at, row, g->q);
    td_load_queries(&t[TD_DO], dtype, at, row, g->dO);
    for (int r = 0; r < TD_TILE; r++) {
        int64_t i = at.row + (r < at.rows ? r : at.rows - 1);
        g->lse[r] = (float)td_get(&t[TD_LSE], at.b, at.h, i, 0);
        g->D[r] = D[(at.b * a->Hq + at.h) * a->Tq + i];
        for (int64_t c = 0; c < a->d; c++) {
            g->q_rows[r * a->d + c] = g->q[c * TD_TILE + r];
            g->dO_rows[r * a->d + c] = g->dO[c * TD_TILE + r];
        }
    }
}

/* P and dS of queries first … 15 with one key, whose rows of K and V are k and v: each rounded once to `dtype`. The
 * queries before `first` may not read the key; what stands in their places means nothing. */
static inline void td_weigh_key(const td_attention_problem *a, const td_gradient_tile *g, td_dtype dtype,
                                const float *k, const float *v, int first, float *p, float *dS) {
    float s[TD_TILE], dP[TD_TILE];
    td_score_key(g->q, k, a->d, (float)a->scale, first, s);
    td_score_key(g->dO, v, a->d, 1, first, dP);
    for (int r = first; r < TD_TILE; r++) {
        float exact = expf(s[r] - g->lse[r]);
        p[r] = td_round_float(exact, dtype);
        dS[r] = td_round_float(exact * (dP[r] - g->D[r]), dtype);
    }
}

/* acc[c] += Σ w[r] · rows[r][c] over the tile's queries from `first` on: what a key gathers for dK or dV. */
static inline void td_gather(const td_gradient_tile *g, const float *w, const float *rows, int64_t d, int first,
                             float *acc) {
    for (int r = first; r < g->at.rows; r++)
#pragma omp simd
        for (int64_t c = 0; c < d; c++) acc[c] += w[r] * rows[r * d + c];
}

/* Row i of a result, `factor` times x, if that result is wanted. */
static inline void td_set_row(const td_tensor *t, int64_t b, int64_t h, int64_t i, float factor, const float *x) {
    for (int64_t c = 0; t->data && c < t->size[3]; c++) td_set(t, b, h, i, c, factor * x[c]);
}

/* The tile's rows of dQ, from sums that lie side by side. */
static inline void td_set_queries(const td_tensor *dQ, td_query_tile at, float factor, const float *acc) {
    for (int r = 0; dQ->data && r < at.rows; r++)
        for (int64_t c = 0; c < dQ->size[3]; c++) td_set(dQ, at.b, at.h, at.row + r, c, factor * acc[c * TD_TILE + r]);
}

/* One twin of the file's `run`, which takes the dtype as its last argument. */
#define TD_BACKWARD_TWIN(kind, type, DTYPE, BYTES, TAG, WORKSPACE, IDEA, LIMITS)                                       \
    static td_status run_##type(const td_problem *problem, const td_tensor *tensors, void *workspace, void *stream,    \
                                td_error *err) {                                                                       \
        (void)stream, (void)err;                                                                                       \
        return run(problem, tensors, workspace, DTYPE);                                                                \
    }                                                                                                                  \
    const td_variant td_attention_backward_##kind##_##type = {                                                         \
        .name = "backward_" #kind "_" #type,                                                                           \
        .op = TD_OP_ATTENTION_BACKWARD,                                                                                \
        .backend = TD_CPU,                                                                                             \
        .dtype = DTYPE,                                                                                                \
        .rounding = {TD_F32, TD_F32, DTYPE, TD_EXPF_ULP},                                                              \
        .idea = IDEA,                                                                                                  \
        .limits = LIMITS,                                                                                              \
        .workspace_tag = TAG,                                                                                          \
        .supports = td_scale_fits_float,                                                                               \
        .workspace_bytes = WORKSPACE,                                                                                  \
        .run = run_##type,                                                                                             \
        .flops = td_attention_backward_flops,                                                                          \
        .bytes = BYTES,                                                                                                \
    }

#endif
