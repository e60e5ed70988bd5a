/* Adam on the GPU: what its rungs share. The formula, its source and its order of operations are those of
 * include/tandem/adam.h and cpu_ref/adam/real.h. These files are compiled without contraction of a·b + c, and division
 * and root are IEEE's, so that the GPU's results are the CPU's float32 results to the last bit.
 *
 * An update reads value, gradient, m and v and writes value, m and v: 28 bytes a parameter for some 15 operations.
 * Memory sets the pace, and the floor is 28 bytes over the bandwidth. */
#ifndef TANDEM_GPU_ADAM_H
#define TANDEM_GPU_ADAM_H

#include "../gpu.h"
#include "rungs.h"
#include "tandem/tandem.h"
#include <math.h>

/* What every kernel receives, by value: a call's numbers in float32. */
struct td_adam_numbers {
    float b1, c1, b2, c2; /* β₁, 1 − β₁, β₂, 1 − β₂ */
    float correct1, correct2, eps, factor;
    float lr[TD_ADAM_GROUPS], shrink[TD_ADAM_GROUPS]; /* shrink: lr · decay */
};

static inline td_adam_numbers td_adam_numbers_of(const td_adam_call *call) {
    td_adam_numbers a = {};
    a.b1 = (float)call->beta1, a.c1 = (float)(1 - call->beta1);
    a.b2 = (float)call->beta2, a.c2 = (float)(1 - call->beta2);
    /* powers in double: in float32, 1 − β₂ᵗ would lose most of its digits at the first steps */
    a.correct1 = (float)(1 - pow(call->beta1, (double)call->step));
    a.correct2 = (float)(1 - pow(call->beta2, (double)call->step));
    a.eps = (float)call->eps, a.factor = (float)call->factor;
    for (int k = 0; k < TD_ADAM_GROUPS; k++) {
        a.lr[k] = (float)call->group[k].lr;
        a.shrink[k] = (float)(call->group[k].lr * call->group[k].weight_decay);
    }
    return a;
}

/* One parameter. */
static __device__ __forceinline__ void td_adam_one(float &value, float gradient, float &m, float &v,
                                                   const td_adam_numbers &a, float lr, float shrink) {
    float g = a.factor * gradient;
    m = a.b1 * m + a.c1 * g;
    v = a.b2 * v + a.c2 * g * g;
    value -= shrink * value + lr * (m / a.correct1) / (sqrtf(v / a.correct2) + a.eps);
}

static inline td_status td_adam_check(const td_adam_slice *slices, int n, td_error *err) {
    if (n < 0 || (n && !slices)) return td_fail(err, TD_BAD_PARAM, "slices: %d of them at %p", n, (const void *)slices);
    for (int i = 0; i < n; i++) {
        const td_adam_slice *s = &slices[i];
        if (s->count < 0 || s->group < 0 || s->group >= TD_ADAM_GROUPS)
            return td_fail(err, TD_BAD_PARAM,
                           "slice %d: count = %lld, group = %d: must be at least 0, and one of %d groups", i,
                           (long long)s->count, s->group, TD_ADAM_GROUPS);
        if (s->count && !(s->value && s->gradient && s->m && s->v))
            return td_fail(err, TD_BAD_PARAM, "slice %d: value, gradient, m and v must not be NULL", i);
    }
    return TD_OK;
}

/* Rung 1. */
extern "C" td_status TD_GPU(adam_per_tensor)(const td_adam_slice *slices, int n, const td_adam_call *call, void *stream,
                                             td_error *err);

#endif
