/* What can be said of a GPT too large for a double model to go beside it. */
#ifndef TANDEM_CHECKS_GPT_LARGE_H
#define TANDEM_CHECKS_GPT_LARGE_H

#include "tandem/model.h"

typedef struct td_gpt_large {
    double loss[2];            /* the mean at the first values: with float32 products, and with bf16 */
    double expected;           /* ln vocab + C·0.02²/2: what logits N(0, C·0.02²) give */
    double loss_tolerance;     /* four deviations of the mean of the counted targets' logits */
    double distance;           /* worst relative L2 distance of a parameter's gradient, bf16 from float32 */
    double distance_tolerance; /* 4·√(8·layers/3)·u of bf16: a path through the model has some 8 roundings a layer */
    char where[48];            /* the parameter with the worst distance */
} td_gpt_large;

/* Two models of these sizes, one after another, through `make` (td_cuda_model, say) on `engine`. */
td_status td_gpt_large_run(td_gpt_large *out, const td_gpt_config *config, int64_t B, int64_t T,
                           td_status (*make)(td_model *, const td_gpt_config *, td_dtype, int64_t, uint64_t,
                                             const td_allocator *, td_error *),
                           const td_engine *engine, td_error *err);

#endif
