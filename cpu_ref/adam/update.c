/* Adam on arrays: the one place where the CPU's formula stands, for full and for sharded optimizers. */
#include "update.h"
#include "tandem/adam.h"
#include <tgmath.h>

#define REAL double
#define UPDATE update_f64
#include "real.h"
#undef REAL
#undef UPDATE
#define REAL float
#define UPDATE update_f32
#include "real.h"

void td_adam_update_slice(td_dtype dtype, const td_adam_slice *slice, const td_adam_call *call) {
    const td_adam_group *group = &call->group[slice->group];
    if (dtype == TD_F64)
        update_f64(slice->count, slice->value, slice->gradient, slice->m, slice->v, call, group);
    else
        update_f32(slice->count, slice->value, slice->gradient, slice->m, slice->v, call, group);
}

void td_adam_update(td_dtype dtype, int64_t count, void *value, const void *gradient, void *m, void *v,
                    const td_adam_config *config, double decay, int64_t step) {
    const td_adam_call call = {config->beta1, config->beta2, config->eps, 1, step, {{config->lr, decay}}};
    td_adam_update_slice(dtype, &(td_adam_slice){value, gradient, m, v, count, 0}, &call);
}
