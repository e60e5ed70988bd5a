/* The oracle: attention exactly as written, S and P held whole, everything in double.
 *
 * Nothing here is clever on purpose. Source: Vaswani et al. 2017, eq. 1; empty rows and LSE as in tandem/attention.h.
 */
#include "attention_forward.h"
#include "row_f64.h"

static size_t workspace_bytes(const td_problem *problem) {
    const td_attention_problem *a = &problem->attention;
    return (size_t)(a->B * a->Hq * a->Tq * a->Tk) * sizeof(double);
}

/* One query row. p has Tk places; afterwards it holds the row of P. */
static void attend_row(const td_attention_problem *a, const td_tensor *t, int64_t b, int64_t h, int64_t i, double *p) {
    int64_t n = td_allowed_keys(a->mask, i, a->Tq, a->Tk);
    double o[256], lse = td_softmax_row_f64(a, t, b, h, i, n, p); /* d ≤ 256 */
    if (t[TD_O].data) td_values_row_f64(a, &t[TD_V], b, h / (a->Hq / a->Hkv), n, p, o);
    td_set_row_f64(&t[TD_O], b, h, i, 1, o);
    if (t[TD_LSE].data) td_set(&t[TD_LSE], b, h, i, 0, lse);
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
