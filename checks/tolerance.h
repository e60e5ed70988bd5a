/* Derived componentwise tolerances. The derivation stands above each function in tolerance.c.
 *
 * HARD is the worst case (Higham 2002, γₙ, Σ|terms|); GATE the probabilistic one (λ√n·u, root-sum-square of the terms;
 * Higham & Mary 2019), with λ and its failure probability stated. The verdict uses GATE; HARD only for fixtures where
 * errors do not average. */
#ifndef TANDEM_CHECKS_TOLERANCE_H
#define TANDEM_CHECKS_TOLERANCE_H

#include "tandem/status.h"
#include "tandem/variant.h"

typedef struct td_bounds {
    double *gate, *hard; /* one per element of the output, contiguous, row-major; owned by the caller */
} td_bounds;

/* λ of GATE and the probability that a correct computation exceeds it in one element, as printed in reports. */
double td_gate_lambda(void);
double td_gate_failure_probability(void);

/* Bounds for output number `output` (TD_O, TD_LSE, TD_C, TD_Y …) of `problem` computed by a variant that rounds as
 * `rounding` says, the result then rounded to `output_dtype`. `tensors` hold the rounded inputs and, in the output's
 * place, the double reference. Where reference is not finite the bounds are 0. */
td_status td_tolerance(const td_problem *problem, const td_rounding *rounding, const td_tensor *tensors, int output,
                       td_dtype output_dtype, td_bounds *bounds, td_error *err);

#endif
