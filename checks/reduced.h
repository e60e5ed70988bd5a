/* Are these the sums over ranks? */
#ifndef TANDEM_CHECKS_REDUCED_H
#define TANDEM_CHECKS_REDUCED_H

#include <stdint.h>

/* `each` holds `ranks` arrays of `count` floats, one after another; sum[i] should be the sum over them of element i.
 * Returns the largest error / bound, ∞ where one is beyond it, NaN included. N − 1 additions of float32, in any order,
 * are within (N−1)u / (1 − (N−1)u) · Σ|terms| (Higham 2002, §4.2); the sum of two is thus one rounding. Σ|terms| over
 * all elements is added to `size` (zeros are the sum of zeros: a caller refuses a comparison of size 0). */
double td_reduced_worst(const float *sum, const float *each, int64_t count, int ranks, double *size);

#endif
