/* Matrix product as it is defined, a dot product for each element of C: the oracle in double, its twin in float32.
 *
 * The inner loop walks down a column of B: a new cache line, and 1/16 of it used, for each element. */
#include "gemm.h"

static td_status run_f64(const td_problem *problem, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    const td_matrix_problem *p = &problem->matrix;
    (void)workspace, (void)stream, (void)err;
#pragma omp parallel for
    for (int64_t i = 0; i < p->M; i++)
        for (int64_t j = 0; j < p->N; j++) {
            double sum = 0;
            for (int64_t k = 0; k < p->K; k++) sum += td_get(&t[TD_A], 0, 0, i, k) * td_get(&t[TD_B], 0, 0, k, j);
            td_set(&t[TD_C], 0, 0, i, j, sum);
        }
    return TD_OK;
}

static td_status run_f32(const td_problem *problem, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    const td_matrix_problem *p = &problem->matrix;
    const float *A = t[TD_A].data, *B = t[TD_B].data;
    (void)workspace, (void)stream, (void)err;
#pragma omp parallel for
    for (int64_t i = 0; i < p->M; i++)
        for (int64_t j = 0; j < p->N; j++) {
            float sum = 0;
            for (int64_t k = 0; k < p->K; k++)
                sum += A[td_offset(&t[TD_A], 0, 0, i, k)] * B[td_offset(&t[TD_B], 0, 0, k, j)];
            td_set(&t[TD_C], 0, 0, i, j, (double)sum);
        }
    return TD_OK;
}

const td_variant td_gemm_naive_f64 = {
    .name = "gemm_naive_f64",
    .op = TD_OP_GEMM,
    .backend = TD_CPU,
    .dtype = TD_F64,
    .rounding = {TD_F64, TD_F64, TD_F64, 0},
    .idea = "the oracle: a dot product for each element, in double",
    .limits = "",
    .workspace_tag = TD_MEM_WORKSPACE,
    .workspace_bytes = td_no_workspace,
    .run = run_f64,
    .flops = td_gemm_flops,
    .bytes = td_gemm_bytes_f64,
};

const td_variant td_gemm_naive_f32 = {
    .name = "gemm_naive_f32",
    .op = TD_OP_GEMM,
    .backend = TD_CPU,
    .dtype = TD_F32,
    .rounding = {TD_F32, TD_F32, TD_F32, 0},
    .idea = "a dot product for each element, in float32",
    .limits = "",
    .workspace_tag = TD_MEM_WORKSPACE,
    .workspace_bytes = td_no_workspace,
    .run = run_f32,
    .flops = td_gemm_flops,
    .bytes = td_gemm_bytes_f32,
};
