/* Softmax in three passes over a row: maximum, sum, quotient. In double, the oracle; in float32, its twin.
 *
 * X is read three times: from memory, when a row does not fit in cache. */
#include "../libm.h"
#include "softmax.h"
#include <math.h>

static td_status run_f64(const td_problem *problem, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    const td_matrix_problem *p = &problem->matrix;
    const td_tensor *X = &t[TD_X], *Y = &t[TD_Y];
    (void)workspace, (void)stream, (void)err;
#pragma omp parallel for
    for (int64_t i = 0; i < p->M; i++) {
        double m = -INFINITY, l = 0; /* NaN loses to any number here, and comes back through the sum */
        for (int64_t j = 0; j < p->N; j++) m = fmax(m, td_get(X, 0, 0, i, j));
        for (int64_t j = 0; j < p->N; j++) l += exp(td_get(X, 0, 0, i, j) - m);
        for (int64_t j = 0; j < p->N; j++) td_set(Y, 0, 0, i, j, exp(td_get(X, 0, 0, i, j) - m) / l);
    }
    return TD_OK;
}

static td_status run_f32(const td_problem *problem, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    const td_matrix_problem *p = &problem->matrix;
    const td_tensor *X = &t[TD_X], *Y = &t[TD_Y];
    int64_t step = X->stride[3];
    (void)workspace, (void)stream, (void)err;
#pragma omp parallel for
    for (int64_t i = 0; i < p->M; i++) {
        const float *x = (const float *)X->data + td_offset(X, 0, 0, i, 0);
        float m = -INFINITY, l = 0;
        for (int64_t j = 0; j < p->N; j++) m = fmaxf(m, x[j * step]);
        for (int64_t j = 0; j < p->N; j++) l += expf(x[j * step] - m);
        for (int64_t j = 0; j < p->N; j++) td_set(Y, 0, 0, i, j, (double)(expf(x[j * step] - m) / l));
    }
    return TD_OK;
}

const td_variant td_softmax_f64 = {
    .name = "softmax_f64",
    .op = TD_OP_SOFTMAX,
    .backend = TD_CPU,
    .dtype = TD_F64,
    .rounding = {TD_F64, TD_F64, TD_F64, TD_EXPF_ULP},
    .idea = "the oracle: maximum, sum, quotient, in double",
    .limits = "",
    .workspace_tag = TD_MEM_WORKSPACE,
    .workspace_bytes = td_no_workspace,
    .run = run_f64,
    .flops = td_softmax_flops,
    .bytes = td_softmax_bytes_f64,
};

const td_variant td_softmax_f32 = {
    .name = "softmax_f32",
    .op = TD_OP_SOFTMAX,
    .backend = TD_CPU,
    .dtype = TD_F32,
    .rounding = {TD_F32, TD_F32, TD_F32, TD_EXPF_ULP},
    .idea = "three passes: maximum, sum, quotient",
    .limits = "",
    .workspace_tag = TD_MEM_WORKSPACE,
    .workspace_bytes = td_no_workspace,
    .run = run_f32,
    .flops = td_softmax_flops,
    .bytes = td_softmax_bytes_f32,
};
