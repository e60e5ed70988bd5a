/* Backward that holds no matrix of T × T, in double and one row at a time: compare dense_f64.c line by line.
 *
 * Forward left O and one number a query, LSE = ln Σ exp(S). That is enough to have any element of P again, by itself:
 *     P_ij = exp(S_ij − LSE_i),    and D_i = Σ_c dO_ic O_ic needs no row of P either,
 * so each element of dS is recomputed where it is used: once for dQ of its query, once for dK and dV of its key. It
 * costs two more products a pair, and saves the memory of P and dS. Source: Dao et al. 2022, algorithm 4. */
#include "../attention_forward/row_f64.h"
#include "attention_backward.h"

/* One number a query: D. */
static size_t workspace_bytes(const td_problem *problem) {
    const td_attention_problem *a = &problem->attention;
    return (size_t)(a->B * a->Hq * a->Tq) * sizeof(double);
}

/* P and dS of one allowed pair. */
static double pair(const td_attention_problem *a, const td_tensor *t, int64_t b, int64_t h, int64_t i, int64_t j,
                   double D, double *dS) {
    int64_t kv = h / (a->Hq / a->Hkv);
    double p = exp(td_score_f64(a, t, b, h, i, j) - td_get(&t[TD_LSE], b, h, i, 0)), dP = 0;
    for (int64_t c = 0; c < a->d; c++) dP += td_get(&t[TD_DO], b, h, i, c) * td_get(&t[TD_V], b, kv, j, c);
    *dS = p * (dP - D);
    return p;
}

/* One query: D, which is returned, and dQ. */
static double query_row(const td_attention_problem *a, const td_tensor *t, int64_t b, int64_t h, int64_t i) {
    int64_t kv = h / (a->Hq / a->Hkv), n = td_allowed_keys(a->mask, i, a->Tq, a->Tk);
    double dq[256] = {0}, D = 0; /* d ≤ 256 */
    for (int64_t c = 0; c < a->d; c++) D += td_get(&t[TD_DO], b, h, i, c) * td_get(&t[TD_O], b, h, i, c);
    if (!t[TD_DQ].data) return D;
    for (int64_t j = 0; j < n; j++) {
        double dS;
        pair(a, t, b, h, i, j, D, &dS);
        for (int64_t c = 0; c < a->d; c++) dq[c] += dS * td_get(&t[TD_K], b, kv, j, c);
    }
    td_set_row_f64(&t[TD_DQ], b, h, i, a->scale, dq);
    return D;
}

/* One key: dK and dV, over the queries of every head that read it. */
static void key_row(const td_attention_problem *a, const td_tensor *t, int64_t b, int64_t kv, int64_t j,
                    const double *D) {
    int64_t group = a->Hq / a->Hkv;
    double dk[256] = {0}, dv[256] = {0};
    for (int64_t h = kv * group; h < (kv + 1) * group; h++)
        for (int64_t i = 0; i < a->Tq; i++) {
            if (j >= td_allowed_keys(a->mask, i, a->Tq, a->Tk)) continue;
            double dS, p = pair(a, t, b, h, i, j, D[(b * a->Hq + h) * a->Tq + i], &dS);
            for (int64_t c = 0; c < a->d; c++) {
                dv[c] += p * td_get(&t[TD_DO], b, h, i, c);
                dk[c] += dS * td_get(&t[TD_Q], b, h, i, c);
            }
        }
    td_set_row_f64(&t[TD_DK], b, kv, j, a->scale, dk);
    td_set_row_f64(&t[TD_DV], b, kv, j, 1, dv);
}

static td_status run(const td_problem *problem, const td_tensor *tensors, void *workspace, void *stream,
                     td_error *err) {
    const td_attention_problem *a = &problem->attention;
    double *D = workspace;
    (void)stream, (void)err;
#pragma omp parallel for collapse(3)
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->Hq; h++)
            for (int64_t i = 0; i < a->Tq; i++) D[(b * a->Hq + h) * a->Tq + i] = query_row(a, tensors, b, h, i);
    if (!tensors[TD_DK].data && !tensors[TD_DV].data) return TD_OK;
#pragma omp parallel for collapse(3)
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t kv = 0; kv < a->Hkv; kv++)
            for (int64_t j = 0; j < a->Tk; j++) key_row(a, tensors, b, kv, j, D);
    return TD_OK;
}

const td_variant td_attention_backward_recompute_f64 = {
    .name = "backward_recompute_f64",
    .op = TD_OP_ATTENTION_BACKWARD,
    .backend = TD_CPU,
    .dtype = TD_F64,
    .rounding = {TD_F64, TD_F64, TD_F64, TD_EXPF_ULP},
    .idea = "no matrix of T x T: P and dS again from LSE and D, once for the queries and once for the keys",
    .limits = "",
    .workspace_tag = TD_MEM_WORKSPACE,
    .workspace_bytes = workspace_bytes,
    .run = run,
    .flops = td_attention_backward_flops,
    .bytes = td_attention_backward_bytes,
};
