/* Adam and AdamW (Kingma & Ba 2015, algorithm 1; Loshchilov & Hutter 2019, algorithm 2), element by element, in the
 * parameters' dtype:
 *
 *   m ← β₁ m + (1 − β₁) g          v ← β₂ v + (1 − β₂) g²
 *   p ← p − lr·decay·p − lr · (m/(1 − β₁ᵗ)) / (√(v/(1 − β₂ᵗ)) + ε)
 *
 * Decay is decoupled: it takes its share of the old p and never enters m or v. The bias correction divides where m and
 * v are used and is not written back into them; ε stands outside the root. decay = 0 is Adam. */
#ifndef TANDEM_ADAM_H
#define TANDEM_ADAM_H

#include "gpt.h"

typedef struct td_adam_config {
    double lr, beta1, beta2, eps, weight_decay;
} td_adam_config;

/* One update of `count` elements of `dtype` (TD_F64 or TD_F32), which may be a shard of a parameter: value, m and v
 * change in place. `step` is t ≥ 1, counting this update; `decay` is 0 or config->weight_decay. */
void td_adam_update(td_dtype dtype, int64_t count, void *value, const void *gradient, void *m, void *v,
                    const td_adam_config *config, double decay, int64_t step);

/* Full Adam: m and v for every parameter of the model, zero at first. */
typedef struct td_adam td_adam;
/* TD_BAD_PARAM unless lr, weight_decay ≥ 0, 0 ≤ β < 1, ε > 0, all finite. m and v come with the optimizer tag. */
td_status td_adam_new(td_adam **out, td_gpt *gpt, const td_adam_config *config, const td_allocator *allocator,
                      td_error *err);
void td_adam_delete(td_adam *adam);
/* One update of every parameter from its gradient; weight decay on those with `decay` = 1. If a gradient is not finite:
 * TD_WRONG naming the parameter, and nothing changes, neither parameters nor states nor the count of steps. */
td_status td_adam_step(td_adam *adam, td_error *err);
/* Steps taken. */
int64_t td_adam_steps(const td_adam *adam);
/* Parameter i's m and v: `count` elements each. */
void td_adam_state(td_adam *adam, int i, void **m, void **v);

#endif
