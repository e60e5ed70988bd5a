/* Adam in double beside a bound on what float32 may make of it, one parameter, step by step. */
#ifndef TANDEM_CHECKS_TOLERANCE_ADAM_H
#define TANDEM_CHECKS_TOLERANCE_ADAM_H

#include "tandem/engine.h"

/* The exact values, and how far at most a float32 evaluation that began with the same numbers is from them. */
typedef struct td_adam_bounded {
    double value, m, v;
    double value_error, m_error, v_error;
} td_adam_bounded;

/* One update by the formula of adam.h from `gradient`, which is the same number for both. */
void td_adam_bounded_step(td_adam_bounded *x, double gradient, const td_adam_call *call, const td_adam_group *group);
/* The same for an evaluation in `dtype`, TD_F32 or TD_F64. In TD_F64 the exact values here are no better than what they
 * are compared with: twice the bound is what lies between the two. */
void td_adam_bounded_step_in(td_dtype dtype, td_adam_bounded *x, double gradient, const td_adam_call *call,
                             const td_adam_group *group);

#endif
