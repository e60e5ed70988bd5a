/* Element-by-element comparison with a tolerance per element. */
#ifndef TANDEM_CHECKS_COMPARE_H
#define TANDEM_CHECKS_COMPARE_H

#include "tandem/status.h"
#include "tandem/tensor.h"

typedef enum td_verdict { TD_PASS = 0, TD_MARGINAL, TD_FAIL, TD_SKIP } td_verdict; /* SKIP is never PASS */
const char *td_verdict_name(td_verdict verdict);

typedef struct td_comparison {
    td_verdict verdict; /* PASS ≤ 0.5 < MARGINAL ≤ 1 < FAIL, on err_over_tol; any non-finite mismatch is FAIL */
    int64_t elements, wrong; /* compared; with err > tol or non-finite mismatch */
    int64_t nonfinite; /* mismatches: NaN or ∞ where the reference has none, finite where it has, wrong sign of ∞ */
    double err_over_tol; /* worst; ∞ on a non-finite mismatch */
    double max_abs, rel_l2,
        max_ulp;           /* over elements finite in both; max_ulp in units in the last place of got's dtype */
    int64_t worst[4];      /* index of the worst element; a non-finite mismatch comes first */
    double got, want, tol; /* there */
} td_comparison;

/* `got` against `want` (same sizes, own strides, any dtypes); tol is contiguous row-major, one per element.
 * A tolerance that is NaN or ∞ admits nothing; different sizes are FAIL with elements = 0.
 * check_infinity_sign: NaN, +∞ and −∞ match only themselves (LSE); else any non-finite value matches any other. */
void td_compare(const td_tensor *got, const td_tensor *want, const double *tol, int check_infinity_sign,
                td_comparison *out);

#endif
