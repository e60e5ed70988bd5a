/* The oracle of backward: P and dS held whole, everything in double, from Q, K, V and dO alone. The O and LSE that it
 * is given are not looked at: it computes its own, so that a wrong O or LSE cannot make a wrong answer right.
 *
 * Nothing here is clever on purpose. The formulas and their source are in attention_backward.h. */
#include "../attention_forward/row_f64.h"
#include "attention_backward.h"

static size_t workspace_bytes(const td_problem *problem) {
    const td_attention_problem *a = &problem->attention;
    return 2 * (size_t)(a->B * a->Hq * a->Tq * a->Tk) * sizeof(double);
}

/* Where the row of query i begins in P and in dS. */
static int64_t row_at(const td_attention_problem *a, int64_t b, int64_t h, int64_t i) {
    return ((b * a->Hq + h) * a->Tq + i) * a->Tk;
}

/* One query: its rows of P and dS, and dQ. */
static void query_row(const td_attention_problem *a, const td_tensor *t, int64_t b, int64_t h, int64_t i, double *p,
                      double *dS) {
    const td_tensor *K = &t[TD_K], *V = &t[TD_V], *dO = &t[TD_DO];
    int64_t kv = h / (a->Hq / a->Hkv), n = td_allowed_keys(a->mask, i, a->Tq, a->Tk);
    double o[256], dq[256], D = 0; /* d ≤ 256 */

    td_softmax_row_f64(a, t, b, h, i, n, p);
    td_values_row_f64(a, V, b, kv, n, p, o);
    for (int64_t c = 0; c < a->d; c++) D += td_get(dO, b, h, i, c) * o[c];
    for (int64_t j = 0; j < n; j++) {
        double dP = 0;
        for (int64_t c = 0; c < a->d; c++) dP += td_get(dO, b, h, i, c) * td_get(V, b, kv, j, c);
        dS[j] = p[j] * (dP - D);
    }
    td_values_row_f64(a, K, b, kv, n, dS, dq);
    td_set_row_f64(&t[TD_DQ], b, h, i, a->scale, dq);
}

/* One key: its columns of P and dS, in every query head that reads it, give dK and dV. */
static void key_row(const td_attention_problem *a, const td_tensor *t, int64_t b, int64_t kv, int64_t j,
                    const double *P, const double *dS) {
    const td_tensor *Q = &t[TD_Q], *dO = &t[TD_DO];
    int64_t group = a->Hq / a->Hkv;
    double dk[256] = {0}, dv[256] = {0};
    for (int64_t h = kv * group; h < (kv + 1) * group; h++)
        for (int64_t i = 0; i < a->Tq; i++) {
            if (j >= td_allowed_keys(a->mask, i, a->Tq, a->Tk)) continue;
            int64_t at = row_at(a, b, h, i) + j;
            for (int64_t c = 0; c < a->d; c++) {
                dv[c] += P[at] * td_get(dO, b, h, i, c);
                dk[c] += dS[at] * td_get(Q, b, h, i, c);
            }
        }
    td_set_row_f64(&t[TD_DK], b, kv, j, a->scale, dk);
    td_set_row_f64(&t[TD_DV], b, kv, j, 1, dv);
}

static td_status run(const td_problem *problem, const td_tensor *tensors, void *workspace, void *stream,
                     td_error *err) {
    const td_attention_problem *a = &problem->attention;
    double *P = workspace, *dS = P + a->B * a->Hq * a->Tq * a->Tk;
    (void)stream, (void)err;
#pragma omp parallel for collapse(3)
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->Hq; h++)
            for (int64_t i = 0; i < a->Tq; i++) {
                int64_t at = row_at(a, b, h, i);
                query_row(a, tensors, b, h, i, P + at, dS + at);
            }
#pragma omp parallel for collapse(3)
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t kv = 0; kv < a->Hkv; kv++)
            for (int64_t j = 0; j < a->Tk; j++) key_row(a, tensors, b, kv, j, P, dS);
    return TD_OK;
}

const td_variant td_attention_backward_dense_f64 = {
    .name = "backward_dense_f64",
    .op = TD_OP_ATTENTION_BACKWARD,
    .backend = TD_CPU,
    .dtype = TD_F64,
    .rounding = {TD_F64, TD_F64, TD_F64, TD_EXPF_ULP},
    .idea = "the oracle: P and dS held whole, in double, from Q, K, V and dO alone",
    .limits = "",
    .workspace_tag = TD_MEM_SCORES,
    .workspace_bytes = workspace_bytes,
    .run = run,
    .flops = td_attention_backward_flops,
    .bytes = td_attention_backward_bytes,
};
