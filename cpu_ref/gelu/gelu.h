/* The CPU variants of Y (M,N) = gelu(X), element by element, and what they share.
 *
 * GPT-2's form with tanh: y = x/2·(1 + tanh(√(2/π)·(x + 0.044715 x³))). Hendrycks & Gimpel 2016, §2. */
#ifndef TANDEM_CPU_GELU_H
#define TANDEM_CPU_GELU_H

#include "tandem/variant.h"

extern const td_variant td_gelu_f64, td_gelu_f32;

/* Nine for an element: six products, two sums, tanh (counted as one). */
static inline double td_gelu_flops(const td_problem *problem) {
    return 9.0 * (double)problem->matrix.M * (double)problem->matrix.N;
}

static inline double td_gelu_bytes_f64(const td_problem *problem) {
    return 2.0 * 8.0 * (double)problem->matrix.M * (double)problem->matrix.N;
}

static inline double td_gelu_bytes_f32(const td_problem *problem) {
    return 2.0 * 4.0 * (double)problem->matrix.M * (double)problem->matrix.N;
}

#endif
