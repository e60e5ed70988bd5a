/* Attention backward's part of td_tolerance. */
#ifndef TANDEM_CHECKS_TOLERANCE_ATTENTION_BACKWARD_H
#define TANDEM_CHECKS_TOLERANCE_ATTENTION_BACKWARD_H

#include "tolerance.h"

/* As td_tolerance, for `output` TD_DQ, TD_DK or TD_DV. The tensors' O and LSE are those that the variant was given:
 * how far they are from the true ones is measured and allowed for. */
td_status td_tolerance_attention_backward(const td_attention_problem *a, const td_rounding *rounding, double lambda,
                                          const td_tensor *tensors, int output, td_dtype output_dtype,
                                          td_bounds *bounds, td_error *err);

/* Key j of key/value head (b, kv) alone, in O(Tq·d) for each query head: its row of dK or dV (`output`) into want[d],
 * and GATE of it into gate[d]. P and D come from the given LSE and O, which must be the true ones rounded once to their
 * dtypes: each may be off by half an ulp, which the bound allows for. */
td_status td_backward_key(const td_attention_problem *a, const td_rounding *rounding, double lambda,
                          const td_tensor *tensors, int output, td_dtype output_dtype, int64_t b, int64_t kv, int64_t j,
                          double *want, double *gate, td_error *err);

#endif
