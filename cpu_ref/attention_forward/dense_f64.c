/* The oracle: attention exactly as written, S and P held whole, everything in double.
 *
 * Nothing here is clever on purpose. Source: Vaswani et al. 2017, eq. 1; empty rows and LSE as in tandem/attention.h.
 */
#include "attention_forward.h"
#include <math.h>

static size_t workspace_bytes(const td_problem *problem) {
    const td_attention_problem *a = &problem->attention;
    return (size_t)(a->B * a->Hq * a->Tq * a->Tk) * sizeof(double);
}

/* One query row. s has Tk places; afterwards it holds the row of P. */
static void attend_row(const td_attention_problem *a, const td_tensor *t, int64_t b, int64_t h, int64_t i, double *s) {
    const td_tensor *Q = &t[TD_Q], *K = &t[TD_K], *V = &t[TD_V], *O = &t[TD_O], *LSE = &t[TD_LSE];
    int64_t kv = h / (a->Hq / a->Hkv), n = td_allowed_keys(a->mask, i, a->Tq, a->Tk);

    double m = -INFINITY; /* NaN scores lose to any number here, and come back through the sum */
    for (int64_t j = 0; j < n; j++) {
        double dot = 0;
        for (int64_t c = 0; c < a->d; c++) dot += td_get(Q, b, h, i, c) * td_get(K, b, kv, j, c);
        s[j] = a->scale * dot;
        m = fmax(m, s[j]);
    }
    double l = 0;
    for (int64_t j = 0; j < n; j++) {
        s[j] = exp(s[j] - m);
        l += s[j];
    }
    for (int64_t j = 0; j < n; j++) s[j] /= l;

    if (O->data) {
        for (int64_t c = 0; c < a->d; c++) {
            double o = 0;
            for (int64_t j = 0; j < n; j++) o += s[j] * td_get(V, b, kv, j, c);
            td_set(O, b, h, i, c, o);
        }
    }
    if (LSE->data) td_set(LSE, b, h, i, 0, n == 0 ? -INFINITY : m + log(l));
}

static td_status run(const td_problem *problem, const td_tensor *tensors, void *workspace, void *stream,
                     td_error *err) {
    const td_attention_problem *a = &problem->attention;
    double *scores = workspace;
    (void)stream, (void)err;
#pragma omp parallel for collapse(3)
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->Hq; h++)
            for (int64_t i = 0; i < a->Tq; i++)
                attend_row(a, tensors, b, h, i, scores + ((b * a->Hq + h) * a->Tq + i) * a->Tk);
    return TD_OK;
}

const td_variant td_attention_forward_dense_f64 = {
    .name = "dense_f64",
    .op = TD_OP_ATTENTION_FORWARD,
    .backend = TD_CPU,
    .dtype = TD_F64,
    .rounding = {TD_F64, TD_F64, TD_F64, 1.0},
    .idea = "the oracle: S and P held whole, in double",
    .limits = "",
    .workspace_tag = TD_MEM_SCORES,
    .workspace_bytes = workspace_bytes,
    .run = run,
    .flops = td_attention_forward_flops,
    .bytes = td_attention_forward_bytes,
};
