/* What a sum remembers: reductions with a chosen type for the terms and another for the accumulator.
 *
 * Mixed-precision training keeps tensors in 16 bits and adds them up in float32 (Micikevicius et al. 2018, §3.3). Here
 * both roundings are explicit, so that every pair of types can be tried on any machine. x and y have n elements, given
 * in double and rounded to `term` first; each product and each partial sum is then rounded to `accumulator`. */
#ifndef TANDEM_CPU_ACCUMULATE_H
#define TANDEM_CPU_ACCUMULATE_H

#include "tandem/dtype.h"

typedef struct td_precision {
    td_dtype term, accumulator;
} td_precision;

/* x₀ + x₁ + …, one after the other. */
double td_accumulate_sum(const double *x, int64_t n, td_precision p);
/* Σ x y: one element of a matrix product, n its inner dimension K. */
double td_accumulate_dot(const double *x, const double *y, int64_t n, td_precision p);
/* Σ exp(x − max x), each exponential rounded to `term`: what softmax divides by. */
double td_accumulate_softmax_denominator(const double *x, int64_t n, td_precision p);
/* √(Σ x²): what gradients are clipped by. */
double td_accumulate_norm(const double *x, int64_t n, td_precision p);

/* The same sum with less error from the same accumulator: by halves, whose error grows with log n instead of n (Higham
 * 2002, §4.2), and with the lost part of each addition carried along (Kahan 1965). */
double td_accumulate_sum_pairwise(const double *x, int64_t n, td_precision p);
double td_accumulate_sum_kahan(const double *x, int64_t n, td_precision p);

#endif
