/* The CPU variants of Y (M,N) = softmax of X's rows, and what they share.
 *
 * As in attention: NaN or +∞ in a row makes all of it NaN, −∞ gives 0, and a row of nothing but −∞ is NaN. */
#ifndef TANDEM_CPU_SOFTMAX_H
#define TANDEM_CPU_SOFTMAX_H

#include "tandem/variant.h"

extern const td_variant td_softmax_f64, td_softmax_f32, td_softmax_online_f32;

/* Five for an element: compare, subtract, exponential (counted as one), add, divide. */
static inline double td_softmax_flops(const td_problem *problem) {
    return 5.0 * (double)problem->matrix.M * (double)problem->matrix.N;
}

static inline double td_softmax_bytes_f64(const td_problem *problem) {
    return 2.0 * 8.0 * (double)problem->matrix.M * (double)problem->matrix.N;
}

static inline double td_softmax_bytes_f32(const td_problem *problem) {
    return 2.0 * 4.0 * (double)problem->matrix.M * (double)problem->matrix.N;
}

#endif
