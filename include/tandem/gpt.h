/* A small language model with hand-written forward and backward: a byte-level GPT.
 *
 * Token and position embedding, pre-norm blocks (LayerNorm, causal attention, projection; LayerNorm, MLP of 4C with
 * GELU), a final LayerNorm, an untied head, cross-entropy. Linear layers have biases. GPT-2: Radford et al. 2019. The
 * same interface computes in double (the reference) or float32; data parallelism stands on `ready` below. */
#ifndef TANDEM_GPT_H
#define TANDEM_GPT_H

#include "alloc.h"
#include "status.h"
#include "tensor.h"

typedef struct td_gpt_config {
    int64_t layers, heads, C, vocab, T_max; /* C a multiple of heads; head dim C/heads ≤ 256 */
} td_gpt_config;

typedef struct td_parameter {
    char name[48];          /* "block3.mlp.up.weight" */
    int64_t count;          /* elements */
    void *value, *gradient; /* `count` elements of the model's dtype */
    int decay;              /* 1 for matrices: weight decay applies */
} td_parameter;

typedef struct td_gpt td_gpt;

/* dtype TD_F64 or TD_F32. Parameters, gradients, activations and logits each come from the allocator with their tag.
 * Initial values depend on (seed, parameter, index) only. B_max, T_max bound a batch. */
td_status td_gpt_new(td_gpt **out, const td_gpt_config *config, td_dtype dtype, int64_t B_max, uint64_t seed,
                     const td_allocator *allocator, td_error *err);
void td_gpt_delete(td_gpt *gpt);
const td_gpt_config *td_gpt_configuration(const td_gpt *gpt);
td_dtype td_gpt_dtype(const td_gpt *gpt);
int td_gpt_parameters(const td_gpt *gpt);
/* Parameter i, in the order of forward's first use. */
td_parameter *td_gpt_parameter(td_gpt *gpt, int i);

/* tokens, targets: (B,T) contiguous; a target < 0 is not counted. Writes the SUM of the counted tokens' cross-entropies
 * (nats) and their number: means are for the caller, who alone knows the global count. */
td_status td_gpt_forward(td_gpt *gpt, const int32_t *tokens, const int32_t *targets, int64_t B, int64_t T,
                         double *loss_sum, int64_t *counted, td_error *err);

/* Called when parameter i's gradient is final for this backward: in an order fixed by the model, last layer first. */
typedef void (*td_gradient_ready)(void *context, int parameter);
/* Adds d(loss_sum · scale)/d(parameter) to each gradient, for the batch of the last forward. scale = 1/counted gives
 * the gradient of the mean. `ready` may be NULL. */
td_status td_gpt_backward(td_gpt *gpt, double scale, td_gradient_ready ready, void *context, td_error *err);
void td_gpt_zero_gradients(td_gpt *gpt);

/* What a step is made of, for profiles: called at the start (phase 0) and end (phase 1) of each operation that the
 * model submits, with its kind ("embedding", "layernorm", "linear", "attention", "gelu", "residual", "head",
 * "cross_entropy"; backward ones the same with backward = 1). NULL = none. */
typedef void (*td_gpt_trace)(void *context, const char *kind, int backward, int phase);
void td_gpt_set_trace(td_gpt *gpt, td_gpt_trace trace, void *context);

/* Adam and AdamW (Kingma & Ba 2015, algorithm 1; Loshchilov & Hutter 2019, algorithm 2): decay decoupled, bias
 * correction at the point of use, ε outside the root. State in the parameters' dtype. */
typedef struct td_adam_config {
    double lr, beta1, beta2, eps, weight_decay;
} td_adam_config;
typedef struct td_adam td_adam;
td_status td_adam_new(td_adam **out, td_gpt *gpt, const td_adam_config *config, const td_allocator *allocator,
                      td_error *err);
void td_adam_delete(td_adam *adam);
td_status td_adam_step(td_adam *adam, td_error *err);

#endif
