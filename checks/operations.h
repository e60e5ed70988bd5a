/* What the engine must know of an operation: its tensors, their shapes, its reference. One row an operation. */
#ifndef TANDEM_CHECKS_OPERATIONS_H
#define TANDEM_CHECKS_OPERATIONS_H

#include "tandem/status.h"
#include "tandem/variant.h"

enum { TD_MAX_TENSORS = TD_ATTENTION_TENSORS };

/* Elements of all tensors and of the scores together stay below this: as doubles their bytes are a 62-bit number. */
#define TD_MAX_ELEMENTS (INT64_C(1) << 59)

typedef struct td_tensor_role {
    const char *name; /* "Q" */
    int index;        /* TD_Q */
    int is_output;
    int infinity_sign; /* compare the sign of ∞ */
} td_tensor_role;

typedef struct td_operation {
    const char *name; /* "attention_forward" */
    int tensors;
    td_tensor_role role[TD_MAX_TENSORS];
    const char *reference; /* the name of the oracle variant */
    const char *second;    /* another evaluation in double, which judges the oracle itself; NULL = there is none */
    void (*shape)(const td_problem *problem, int tensor, int64_t size[4]);
} td_operation;

/* NULL for an `op` that is none. */
const td_operation *td_operation_of(td_op op);

/* TD_BAD_PARAM naming the parameter, if the problem is not legal: sizes, heads, d in 1…256, finite scale, mask, block,
 * and total elements below TD_MAX_ELEMENTS. */
td_status td_problem_validate(const td_problem *problem, td_error *err);
/* Tensors against the problem: sizes, dtype, non-NULL data where elements exist, no zero stride in an output,
 * whose range of memory, from its lowest to its highest element, overlaps no other tensor's. */
td_status td_tensors_validate(const td_problem *problem, const td_tensor *tensors, td_error *err);

/* Registry over every backend that was built: number i (NULL past the end), or by name. Mistakes are included. */
const td_variant *td_variant_at(int i);
const td_variant *td_variant_find(const char *name);
/* The same with TD_BAD_PARAM listing near or legal names. */
td_status td_variant_get(const char *name, td_op op, const td_variant **out, td_error *err);

#endif
