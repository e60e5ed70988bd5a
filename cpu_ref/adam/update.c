/* Adam on arrays: the one place where the formula stands, for full and for sharded optimizers. */
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

void td_adam_update(td_dtype dtype, int64_t count, void *value, const void *gradient, void *m, void *v,
                    const td_adam_config *config, double decay, int64_t step) {
    if (dtype == TD_F64)
        update_f64(count, value, gradient, m, v, config, decay, step);
    else
        update_f32(count, value, gradient, m, v, config, decay, step);
}
