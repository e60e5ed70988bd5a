/* Attention's part of td_tolerance. */
#ifndef TANDEM_CHECKS_TOLERANCE_ATTENTION_H
#define TANDEM_CHECKS_TOLERANCE_ATTENTION_H

#include "tolerance.h"

/* As td_tolerance, for `output` TD_O or TD_LSE of attention forward. */
td_status td_tolerance_attention(const td_attention_problem *a, const td_rounding *rounding, double lambda,
                                 const td_tensor *tensors, int output, td_dtype output_dtype, td_bounds *bounds,
                                 td_error *err);

#endif
