/* A wrong answer held against the answers of formulas known to be wrong in one way each. */
#ifndef TANDEM_CHECKS_DIAGNOSE_H
#define TANDEM_CHECKS_DIAGNOSE_H

#include "tolerance.h"
#include "trial.h"

/* The right answer of one problem on one set of inputs, with the bounds of each output: made once, for the verdict and
 * for all mistakes. */
typedef struct td_right {
    td_trial truth;
    td_rounding rounding;
    td_bounds bounds[TD_MAX_TENSORS]; /* by tensor; gate is NULL for an input */
    int generous; /* 1: "reproduces" is far wider, for code in any style; 0 unless its user sets it */
    double *wide; /* room for the widened bounds of one output */
} td_right;

/* `tensors`: inputs of any dtype; of an output the dtype in which it is stored. */
td_status td_right_new(td_right *out, const td_problem *problem, const td_tensor *tensors, const td_rounding *rounding,
                       const td_allocator *allocator, td_error *err);
void td_right_free(td_right *right);

/* How one wrong formula looks at an answer. fits: it reproduces the answer in every output that is wanted, within
 * bounds. differs: its own answer is another than the right one in some output. A mistake that fits and does not differ
 * says nothing: the case does not show it. A formula that cannot be run fits nothing. */
typedef struct td_view {
    int fits, differs;
} td_view;

/* The mistake's answer is there already: `wrong`, indexed as tensors are. */
td_view td_right_view(const td_right *right, const td_tensor *tensors, const td_tensor *wrong);
/* The mistake is run, on `problem`: the answer's own, or the same with another block. */
td_view td_right_try(const td_right *right, const td_tensor *tensors, const td_variant *mistake,
                     const td_problem *problem);

#endif
