/* GELU in double, the oracle, and in float32: read an element, write an element, with a few operations between. */
#include "gelu.h"
#include "../libm.h"
#include <math.h>

static td_status run_f64(const td_problem *problem, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    const double c = 0x1.9884533d43651p-1; /* √(2/π) */
    (void)workspace, (void)stream, (void)err;
#pragma omp parallel for
    for (int64_t i = 0; i < problem->matrix.M; i++)
        for (int64_t j = 0; j < problem->matrix.N; j++) {
            double x = td_get(&t[TD_X], 0, 0, i, j);
            td_set(&t[TD_Y], 0, 0, i, j, 0.5 * x * (1 + tanh(c * (x + 0.044715 * x * x * x))));
        }
    return TD_OK;
}

static td_status run_f32(const td_problem *problem, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    const float c = 0x1.988454p-1f, *X = t[TD_X].data;
    (void)workspace, (void)stream, (void)err;
#pragma omp parallel for
    for (int64_t i = 0; i < problem->matrix.M; i++)
        for (int64_t j = 0; j < problem->matrix.N; j++) {
            float x = X[td_offset(&t[TD_X], 0, 0, i, j)];
            td_set(&t[TD_Y], 0, 0, i, j, (double)(0.5f * x * (1 + tanhf(c * (x + 0.044715f * x * x * x)))));
        }
    return TD_OK;
}

const td_variant td_gelu_f64 = {
    .name = "gelu_f64",
    .op = TD_OP_GELU,
    .backend = TD_CPU,
    .dtype = TD_F64,
    .rounding = {TD_F64, TD_F64, TD_F64, TD_TANHF_ULP},
    .idea = "the oracle: the tanh form, in double",
    .limits = "",
    .workspace_tag = TD_MEM_WORKSPACE,
    .workspace_bytes = td_no_workspace,
    .run = run_f64,
    .flops = td_gelu_flops,
    .bytes = td_gelu_bytes_f64,
};

const td_variant td_gelu_f32 = {
    .name = "gelu_f32",
    .op = TD_OP_GELU,
    .backend = TD_CPU,
    .dtype = TD_F32,
    .rounding = {TD_F32, TD_F32, TD_F32, TD_TANHF_ULP},
    .idea = "the tanh form, in float32",
    .limits = "",
    .workspace_tag = TD_MEM_WORKSPACE,
    .workspace_bytes = td_no_workspace,
    .run = run_f32,
    .flops = td_gelu_flops,
    .bytes = td_gelu_bytes_f32,
};
