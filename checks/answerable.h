/* Whether an attention problem's own inputs leave something to judge: a case that they do not is skipped, with the
 * reason. */
#ifndef TANDEM_CHECKS_ANSWERABLE_H
#define TANDEM_CHECKS_ANSWERABLE_H

#include "trial.h"

/* Does a right answer overflow, or say nothing, in the candidate's own types? Scores beyond the range of
 * rounding.scores, or moved so far by being rounded to it that nothing of the answer is the inputs'; in backward, dS
 * beyond the range of rounding.probs, or a gradient beyond that of its tensor in `tensors`. Writes the reason. */
int td_overflows_inside(const td_trial *truth, const td_rounding *rounding, const td_tensor *tensors, char *reason,
                        size_t size);

/* Backward is given the O and LSE of its forward pass. TD_OK if they are: LSE to 0.05 or 2⁻⁷ of itself, O to 1/16 of
 * the largest |V|, far more than a forward pass in bf16 is off by; TD_BAD_PARAM naming the element, where they are not.
 */
td_status td_forward_results_fit(const td_problem *problem, const td_tensor *tensors, const td_allocator *allocator,
                                 td_error *err);

#endif
