/* Backward as an unfused framework computes it: P and dS written to memory, T × T each, and read back by the products
 * that need them. The float32, bf16 and fp16 twins are one body; compare one_pass.c and two_pass.c.
 *
 *     weights: P and dS, a tile of queries at a time;    queries: dQ = scale · dS K;
 *     keys: dV = Pᵀ dO and dK = scale · dSᵀ Q, over every query head that reads the key.
 * Formulas and source in attention_backward.h, rounding points in gradient_tile.h. */
#include "gradient_tile.h"

typedef struct matrices {
    td_tensor P, dS; /* (B,Hq,Tq,Tk), of which only allowed elements are touched */
    const float *D;
} matrices;

static void weights(const td_attention_problem *a, const td_tensor *t, td_query_tile at, const matrices *m) {
    td_gradient_tile g;
    float k[TD_MAX_D], v[TD_MAX_D], p[TD_TILE], dS[TD_TILE];
    td_dtype dtype = m->P.dtype;
    td_gradient_tile_load(&g, a, t, dtype, at, m->D);
    for (int64_t j = 0; j < td_tile_keys(at); j++) {
        int first = td_tile_first(at, j);
        td_load_row(&t[TD_K], dtype, at.b, at.kv, j, k);
        td_load_row(&t[TD_V], dtype, at.b, at.kv, j, v);
        td_weigh_key(a, &g, dtype, k, v, first, p, dS);
        for (int r = first; r < at.rows; r++) {
            td_set(&m->P, at.b, at.h, at.row + r, j, p[r]);
            td_set(&m->dS, at.b, at.h, at.row + r, j, dS[r]);
        }
    }
}

static void queries(const td_attention_problem *a, const td_tensor *t, td_query_tile at, const matrices *m) {
    float acc[TD_MAX_D * TD_TILE] = {0}, k[TD_MAX_D], dS[TD_TILE] = {0};
    for (int64_t j = 0; j < td_tile_keys(at); j++) {
        int first = td_tile_first(at, j);
        for (int r = first; r < at.rows; r++) dS[r] = (float)td_get(&m->dS, at.b, at.h, at.row + r, j);
        td_load_row(&t[TD_K], m->dS.dtype, at.b, at.kv, j, k);
        td_add_value(dS, k, a->d, first, acc);
    }
    td_set_queries(&t[TD_DQ], at, (float)a->scale, acc);
}

static void key(const td_attention_problem *a, const td_tensor *t, int64_t b, int64_t kv, int64_t j,
                const matrices *m) {
    float dk[TD_MAX_D] = {0}, dv[TD_MAX_D] = {0}, q[TD_MAX_D], dO[TD_MAX_D];
    int64_t group = a->Hq / a->Hkv;
    for (int64_t h = kv * group; h < (kv + 1) * group; h++)
        for (int64_t i = 0; i < a->Tq; i++) {
            if (j >= td_allowed_keys(a->mask, i, a->Tq, a->Tk)) continue;
            float p = (float)td_get(&m->P, b, h, i, j), dS = (float)td_get(&m->dS, b, h, i, j);
            td_load_row(&t[TD_Q], m->P.dtype, b, h, i, q);
            td_load_row(&t[TD_DO], m->P.dtype, b, h, i, dO);
            for (int64_t c = 0; c < a->d; c++) dv[c] += p * dO[c], dk[c] += dS * q[c];
        }
    td_set_row(&t[TD_DK], b, kv, j, (float)a->scale, dk);
    td_set_row(&t[TD_DV], b, kv, j, 1, dv);
}

static td_status run(const td_problem *problem, const td_tensor *tensors, void *workspace, td_dtype dtype) {
    const td_attention_problem *a = &problem->attention;
    float *D = workspace;
    char *P = (char *)workspace + td_row_sums_bytes(a),
         *dS = P + a->B * a->Hq * a->Tq * a->Tk * (int64_t)td_dtype_size(dtype);
    matrices m = {td_contiguous(P, dtype, a->B, a->Hq, a->Tq, a->Tk),
                  td_contiguous(dS, dtype, a->B, a->Hq, a->Tq, a->Tk), D};
    void (*const pass[])(const td_attention_problem *, const td_tensor *, td_query_tile, const matrices *) = {weights,
                                                                                                              queries};
    td_row_sums(a, tensors, dtype, D);
    for (int k = 0; k < 2; k++)
#pragma omp parallel for collapse(3) schedule(dynamic)
        for (int64_t b = 0; b < a->B; b++)
            for (int64_t h = 0; h < a->Hq; h++)
                for (int64_t tile = 0; tile < td_tiles_of_head(a); tile++)
                    pass[k](a, tensors, td_tile_of(a, b, h, tile), &m);
#pragma omp parallel for collapse(3) schedule(dynamic)
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t kv = 0; kv < a->Hkv; kv++)
            for (int64_t j = 0; j < a->Tk; j++) key(a, tensors, b, kv, j, &m);
    return TD_OK;
}

static size_t workspace_bytes(const td_problem *problem, td_dtype dtype) {
    const td_attention_problem *a = &problem->attention;
    return td_row_sums_bytes(a) + 2 * (size_t)(a->B * a->Hq * a->Tq * a->Tk) * td_dtype_size(dtype);
}

static size_t workspace_bytes_f32(const td_problem *problem) {
    return workspace_bytes(problem, TD_F32);
}

static size_t workspace_bytes_16bit(const td_problem *problem) {
    return workspace_bytes(problem, TD_BF16);
}

TD_BACKWARD_TWIN(dense, f32, TD_F32, td_attention_backward_bytes_f32, TD_MEM_SCORES, workspace_bytes_f32,
                 "P and dS held whole, in float32", "scores beyond 3.4e38 overflow");
TD_BACKWARD_TWIN(dense, bf16, TD_BF16, td_attention_backward_bytes_16bit, TD_MEM_SCORES, workspace_bytes_16bit,
                 "P and dS held whole and rounded to bf16, sums in float32", "scores beyond 3.4e38 overflow");
TD_BACKWARD_TWIN(dense, fp16, TD_FP16, td_attention_backward_bytes_16bit, TD_MEM_SCORES, workspace_bytes_16bit,
                 "P and dS held whole and rounded to fp16, sums in float32", "dS beyond 65504 overflows");
