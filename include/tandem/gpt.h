/* A small language model with hand-written forward and backward: a byte-level GPT.
 *
 * Token and position embedding, pre-norm blocks (LayerNorm, causal attention, projection; LayerNorm, MLP of 4C with
 * GELU), a final LayerNorm, an untied head, cross-entropy. Linear layers have biases. GPT-2: Radford et al. 2019. The
 * same interface computes in double (the reference) or float32; data parallelism stands on `ready` below.
 *
 * The bits of every result are the same for any number of threads. A model is used by one thread at a time; nothing is
 * allocated after td_gpt_new. */
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
    /* For data parallelism and Adam (ddp.h, adam.h); a model sets dtype, uses = 1, and 0. */
    td_dtype dtype; /* of the gradient */
    float *reduced; /* where the reduction of a 16-bit gradient goes; else NULL */
    int uses;       /* times that backward announces it: 2 for a matrix tied to another place */
    int frozen;     /* has no gradient, takes no part */
    int group;      /* of Adam's groups */
} td_parameter;

typedef struct td_gpt td_gpt;

/* dtype TD_F64 or TD_F32. All memory comes from the allocator, one block a tag: parameters, gradients (each block holds
 * the parameters' arrays one after another, without gaps), activations (with the gradients of activations), scores (P
 * of each layer), logits (with their gradient), data (the batch), workspace. Initial values depend on (seed, parameter,
 * index) only; a float32 model holds the double model's, rounded. B_max, T_max bound a batch. */
td_status td_gpt_new(td_gpt **out, const td_gpt_config *config, td_dtype dtype, int64_t B_max, uint64_t seed,
                     const td_allocator *allocator, td_error *err);
void td_gpt_delete(td_gpt *gpt);
const td_gpt_config *td_gpt_configuration(const td_gpt *gpt);
td_dtype td_gpt_dtype(const td_gpt *gpt);
int td_gpt_parameters(const td_gpt *gpt);
/* Parameter i, in the order of forward's first use; NULL outside 0 … td_gpt_parameters − 1. A linear layer's weight is
 * (ins,outs), row-major: y = x W + b. */
td_parameter *td_gpt_parameter(td_gpt *gpt, int i);

/* tokens, targets: (B,T) contiguous; a target < 0 is not counted. Writes the SUM of the counted tokens' cross-entropies
 * (nats) and their number: means are for the caller, who alone knows the global count. B = 0 or T = 0 is a batch
 * without tokens. TD_BAD_PARAM for a token or target that the vocabulary lacks. The arrays may be refilled after the
 * call. */
td_status td_gpt_forward(td_gpt *gpt, const int32_t *tokens, const int32_t *targets, int64_t B, int64_t T,
                         double *loss_sum, int64_t *counted, td_error *err);

/* Called when parameter i's gradient is final for this backward, by the thread that called backward: once each, from
 * the last parameter down to parameter 0. */
typedef void (*td_gradient_ready)(void *context, int parameter);
/* Adds d(loss_sum · scale)/d(parameter) to each gradient, for the batch of the last forward. scale = 1/counted gives
 * the gradient of the mean; it must be finite. `ready` may be NULL. */
td_status td_gpt_backward(td_gpt *gpt, double scale, td_gradient_ready ready, void *context, td_error *err);
void td_gpt_zero_gradients(td_gpt *gpt);

/* What a step is made of, for profiles: called at the start (phase 0) and end (phase 1) of each operation that the
 * model submits, with its kind: "embedding", "layernorm", "linear", "attention", "gelu", "residual", "head" (the last
 * linear layer, C to vocab) or "cross_entropy"; backward = 1 for those of backward, where "residual" has none: its
 * gradient passes to both inputs as it is. Forward submits 10·layers + 4, backward 8·layers + 4. NULL = no trace. */
typedef void (*td_gpt_trace)(void *context, const char *kind, int backward, int phase);
void td_gpt_set_trace(td_gpt *gpt, td_gpt_trace trace, void *context);
/* Kind number i, NULL past the last. */
const char *td_gpt_kind_name(int i);
/* Operations submitted since the model was made. */
int64_t td_gpt_submitted(const td_gpt *gpt);
/* Leave out every operation of a kind, forward and backward (skip = 1), or put it back (0): what the step would take
 * if that part were free. Later operations read what was left in memory, so losses and gradients mean nothing then
 * (they stay the same when the step is repeated), and gradients are announced as always. TD_BAD_PARAM for an unknown
 * kind. */
td_status td_gpt_skip(td_gpt *gpt, const char *kind, int skip, td_error *err);

#endif
