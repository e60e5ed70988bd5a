/* A language model as data parallelism sees it: forward, backward that announces gradients, and parameters. The CPU's
 * GPT (gpt.h) and the GPU's are both one. */
#ifndef TANDEM_MODEL_H
#define TANDEM_MODEL_H

#include "engine.h"
#include "gpt.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct td_model {
    void *self;
    td_dtype dtype; /* of values and gradients */
    td_gpt_config config;
    int parameters;
    td_parameter
        *parameter; /* in gpt.h's order; values and gradients each in one block without gaps, in the engine's memory */
    /* As td_gpt_forward, with tokens and targets on the host; the loss is for loss() to tell. `counted` is known on
     * return. */
    td_status (*forward)(void *self, const int32_t *tokens, const int32_t *targets, int64_t B, int64_t T,
                         int64_t *counted, td_error *err);
    /* The sum of the counted tokens' losses of the last forward; waits for it. */
    td_status (*loss)(void *self, double *loss_sum, td_error *err);
    /* As td_gpt_backward. A gradient is final in the engine's order when it is announced. */
    td_status (*backward)(void *self, double scale, td_gradient_ready ready, void *context, td_error *err);
    td_status (*zero_gradients)(void *self, td_error *err);
    void (*destroy)(void *self);
} td_model;

/* The CPU's GPT; destroy() deletes it. Memory from `allocator`. */
td_status td_cpu_model(td_model *out, const td_gpt_config *config, td_dtype dtype, int64_t B_max, uint64_t seed,
                       const td_allocator *allocator, td_error *err);
/* The same GPT on the process's GPU, or under the emulator. Values and gradients are float32; `products` is the dtype
 * in which matrix products take their factors: TD_F32 (no TF32), or TD_BF16, accumulated in float32. Values at first as
 * the CPU's, bit for bit. allocator NULL = the device's own. */
td_status td_cuda_model(td_model *out, const td_gpt_config *config, td_dtype products, int64_t B_max, uint64_t seed,
                        const td_allocator *allocator, td_error *err);
td_status td_emulated_model(td_model *out, const td_gpt_config *config, td_dtype products, int64_t B_max, uint64_t seed,
                            const td_allocator *allocator, td_error *err);

#ifdef __cplusplus
}
#endif
#endif
