/* Backward: forward's operations in reverse, each leaving the gradient of its input and of its parameters.
 *
 * `dstream` is the gradient of the residual stream. A branch reads it as the gradient of its own output, and its
 * LayerNorm adds the branch's share back into it: what was a fork in forward is a sum here. No buffer's new content
 * depends on its old one, so that a step with a part left out is the same each time it is repeated. */
#include "model.h"
#include <math.h>
#include <string.h>

/* Whom to tell that a gradient is final. */
typedef struct listener {
    td_gradient_ready ready;
    void *context;
} listener;

/* A weight and its bias are final after the one operation that uses them; the later parameter is announced first. */
static void announce_pair(listener to, int parameter) {
    if (!to.ready) return;
    to.ready(to.context, parameter + 1);
    to.ready(to.context, parameter);
}

/* Adds to dx. */
static void layernorm(td_gpt *gpt, listener to, int parameter, void *dx, const void *dy, const void *x,
                      const void *mean, const void *rstd) {
    td_parameter *p = &gpt->parameter[parameter];
    if (td_gpt_begin(gpt, LAYERNORM, 1)) {
        gpt->operations->layernorm_backward(dx, p[0].gradient, p[1].gradient, dy, x, p[0].value, mean, rstd,
                                            gpt->B * gpt->T, gpt->config.C);
        td_gpt_end(gpt, LAYERNORM, 1);
    }
    announce_pair(to, parameter);
}

static void linear(td_gpt *gpt, listener to, td_gpt_kind kind, int parameter, void *dx, const void *dy, const void *x,
                   int64_t ins) {
    td_parameter *p = &gpt->parameter[parameter];
    if (td_gpt_begin(gpt, kind, 1)) {
        gpt->operations->linear_backward(dx, p[0].gradient, p[1].gradient, dy, x, p[0].value, gpt->B * gpt->T, ins,
                                         p[1].count);
        td_gpt_end(gpt, kind, 1);
    }
    announce_pair(to, parameter);
}

static void block_backward(td_gpt *gpt, listener to, int64_t l) {
    const td_gpt_config *c = &gpt->config;
    const td_gpt_block *b = &gpt->block[l];
    int64_t N = gpt->B * gpt->T;

    linear(gpt, to, LINEAR, td_gpt_block_parameter(l, DOWN), gpt->dwide, gpt->dstream, b->gelu, 4 * c->C);
    if (td_gpt_begin(gpt, GELU, 1)) {
        gpt->operations->gelu_backward(gpt->dup, gpt->dwide, b->up, N * 4 * c->C);
        td_gpt_end(gpt, GELU, 1);
    }
    linear(gpt, to, LINEAR, td_gpt_block_parameter(l, UP), gpt->dnarrow, gpt->dup, b->norm2, c->C);
    layernorm(gpt, to, td_gpt_block_parameter(l, NORM2), gpt->dstream, gpt->dnarrow, b->middle, b->mean2, b->rstd2);

    linear(gpt, to, LINEAR, td_gpt_block_parameter(l, PROJECTION), gpt->dnarrow, gpt->dstream, b->attended, c->C);
    if (td_gpt_begin(gpt, ATTENTION, 1)) {
        gpt->operations->attention_backward(gpt->dwide, gpt->row, gpt->dnarrow, b->P, b->qkv, gpt->B, gpt->T, c->heads,
                                            c->C / c->heads);
        td_gpt_end(gpt, ATTENTION, 1);
    }
    linear(gpt, to, LINEAR, td_gpt_block_parameter(l, QKV), gpt->dnarrow, gpt->dwide, b->norm1, c->C);
    layernorm(gpt, to, td_gpt_block_parameter(l, NORM1), gpt->dstream, gpt->dnarrow, td_gpt_block_input(gpt, l),
              b->mean1, b->rstd1);
}

td_status td_gpt_backward(td_gpt *gpt, double scale, td_gradient_ready ready, void *context, td_error *err) {
    if (gpt->B < 0) return td_fail(err, TD_BAD_PARAM, "backward: no forward has run");
    if (!isfinite(scale)) return td_fail(err, TD_BAD_PARAM, "scale = %g: must be finite", scale);
    const td_gpt_config *c = &gpt->config;
    const td_gpt_operations *op = gpt->operations;
    int64_t N = gpt->B * gpt->T;
    listener to = {ready, context};

    if (td_gpt_begin(gpt, CROSS_ENTROPY, 1)) {
        op->cross_entropy_backward(gpt->dlogits, gpt->logits, gpt->lse, gpt->targets, scale, N, c->vocab);
        td_gpt_end(gpt, CROSS_ENTROPY, 1);
    }
    linear(gpt, to, HEAD_LINEAR, td_gpt_end_parameter(gpt, HEAD), gpt->dfinal, gpt->dlogits, gpt->final, c->C);
    memset(gpt->dstream, 0, (size_t)(N * c->C) * td_dtype_size(op->dtype));
    layernorm(gpt, to, td_gpt_end_parameter(gpt, FINAL_NORM), gpt->dstream, gpt->dfinal,
              td_gpt_block_input(gpt, c->layers), gpt->mean, gpt->rstd);
    for (int64_t l = c->layers - 1; l >= 0; l--) block_backward(gpt, to, l);
    if (td_gpt_begin(gpt, EMBEDDING, 1)) {
        op->embedding_backward(gpt->parameter[TOKEN].gradient, gpt->parameter[POSITION].gradient, gpt->dstream,
                               gpt->tokens, gpt->B, gpt->T, c->C);
        td_gpt_end(gpt, EMBEDDING, 1);
    }
    announce_pair(to, TOKEN);
    return TD_OK;
}

void td_gpt_zero_gradients(td_gpt *gpt) {
    memset(gpt->memory[TD_MEM_GRADIENTS], 0, gpt->used[TD_MEM_GRADIENTS]);
}
