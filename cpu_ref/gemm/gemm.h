/* The CPU variants of C (M,N) = A (M,K) B (K,N), and what they share. K = 0 makes C zero. */
#ifndef TANDEM_CPU_GEMM_H
#define TANDEM_CPU_GEMM_H

#include "tandem/variant.h"

extern const td_variant td_gemm_naive_f64, td_gemm_naive_f32, td_gemm_blocked_f32;

/* A product and a sum for each of M·N·K terms. */
static inline double td_gemm_flops(const td_problem *problem) {
    const td_matrix_problem *p = &problem->matrix;
    return 2.0 * (double)p->M * (double)p->N * (double)p->K;
}

static inline double td_gemm_elements(const td_problem *problem) {
    double M = (double)problem->matrix.M, N = (double)problem->matrix.N, K = (double)problem->matrix.K;
    return M * K + K * N + M * N;
}

static inline double td_gemm_bytes_f64(const td_problem *problem) {
    return 8 * td_gemm_elements(problem);
}

static inline double td_gemm_bytes_f32(const td_problem *problem) {
    return 4 * td_gemm_elements(problem);
}

#endif
