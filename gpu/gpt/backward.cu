/* Backward on a GPU: forward's operations in reverse, 19 launches a block. The bias of a layer that feeds the residual
 * stream gets its gradient from the LayerNorm that completed the stream's gradient there; the others from the pass that
 * makes dy a product's factor. Gradients are announced when the work that makes them final is submitted. */
#include "gpt.h"
#include <math.h>

/* Whom to tell that a gradient is final. */
struct listener {
    td_gradient_ready ready;
    void *context;
};

/* A weight and its bias; the later parameter is announced first. */
static void announce_pair(listener to, int parameter) {
    if (!to.ready) return;
    to.ready(to.context, parameter + 1);
    to.ready(to.context, parameter);
}

/* dx (N,ins) = scale · dy (N,outs) Wᵀ; dW += scale · xᵀ dy. The bias is another's. */
static td_status linear(const td_gpu_gpt *g, listener to, int parameter, float *dx, const void *dy, const void *x,
                        int64_t ins, int64_t outs, double scale, td_error *err) {
    int64_t N = g->B * g->T;
    td_product by_input = {N,  ins,    outs,         dy, td_weight_factor(g, parameter), 0, 1, g->factor,
                           dx, TD_F32, (float)scale, 0};
    td_product by_weight = {ins, outs, N, x, dy, 1, 0, g->factor, td_gradient(g, parameter), TD_F32, (float)scale, 1};
    td_status s = g->layers->product(g->products, &by_input, err);
    if (!s) s = g->layers->product(g->products, &by_weight, err);
    if (!s) announce_pair(to, parameter);
    return s;
}

/* Adds the branch's share, g->dnarrow, to the stream's gradient. `below`: the bias of the linear layer whose result was
 * added to the stream last before here, −1 if there is none. */
static td_status layernorm(const td_gpu_gpt *g, listener to, int parameter, int below, const float *x, float *mean,
                           float *rstd, td_error *err) {
    td_norm norm = td_norm_of(g, parameter, x, mean, rstd);
    void *rounded = below >= 0 && g->factor != TD_F32 ? g->dstream_factor : NULL;
    td_status s = g->layers->layernorm_backward(
        g->dstream, rounded, td_gradient(g, parameter), td_gradient(g, parameter + 1),
        below >= 0 ? td_gradient(g, below) : NULL, g->dnarrow, &norm, g->device->stream, err);
    if (!s) announce_pair(to, parameter);
    return s;
}

static td_status block_backward(const td_gpu_gpt *g, listener to, int64_t l, td_error *err) {
    const td_gpt_layers *y = g->layers;
    const td_gpu_block *b = &g->block[l];
    void *stream = g->device->stream, *rounded = g->factor == TD_F32 ? NULL : g->dwide_factor;
    const void *dqkv = rounded ? rounded : g->dwide;
    int64_t C = g->config.C, N = g->B * g->T, heads = g->config.heads;
    int first = td_gpt_block_parameter(l, 0), below = l == 0 ? -1 : td_gpt_block_parameter(l - 1, DOWN + 1);
    td_status s;
    if ((s = linear(g, to, first + DOWN, g->dwide, g->dstream_factor, b->gelu, 4 * C, C, 1, err)) ||
        (s = y->bias_gelu_backward(g->dwide_factor, g->factor, td_gradient(g, first + UP + 1), g->dwide, b->up,
                                   td_value(g, first + UP + 1), N, 4 * C, stream, err)) ||
        (s = linear(g, to, first + UP, g->dnarrow, g->dwide_factor, b->norm2, C, 4 * C, 1, err)) ||
        (s = layernorm(g, to, first + NORM2, first + PROJECTION + 1, b->middle, b->mean2, b->rstd2, err)) ||
        (s = linear(g, to, first + PROJECTION, g->dnarrow, g->dstream_factor, b->attended_factor, C, C, 1, err)) ||
        (s = y->attention_backward(g->dwide, g->dnarrow, b->attended, b->lse, b->qkv, g->attention_workspace, g->B,
                                   g->T, heads, C / heads, stream, err)) ||
        (s = y->bias_backward(td_gradient(g, first + QKV + 1), rounded, g->dwide, TD_F32, 1, N, 3 * C, stream, err)) ||
        (s = linear(g, to, first + QKV, g->dnarrow, dqkv, b->norm1, C, 3 * C, 1, err)))
        return s;
    return layernorm(g, to, first + NORM1, below, l == 0 ? g->embedded : g->block[l - 1].out, b->mean1, b->rstd1, err);
}

/* A batch without tokens adds nothing. */
static void announce_all(const td_gpu_gpt *g, listener to) {
    for (int i = g->parameters - 2; i >= 0; i -= 2) announce_pair(to, i);
}

td_status TD_GPU(gpt_backward)(void *self, double scale, td_gradient_ready ready, void *context, td_error *err) {
    td_gpu_gpt *g = (td_gpu_gpt *)self;
    if (g->B < 0) return td_fail(err, TD_BAD_PARAM, "backward: no forward has run");
    if (!isfinite(scale)) return td_fail(err, TD_BAD_PARAM, "scale = %g: must be finite", scale);
    const td_gpt_config *c = &g->config;
    const td_gpt_layers *y = g->layers;
    void *stream = g->device->stream;
    listener to = {ready, context};
    int64_t N = g->B * g->T, last = c->layers - 1;
    int head = td_end_parameter(g, HEAD);
    if (N == 0) return announce_all(g, to), TD_OK;
    td_status s;
    if ((s = y->bias_backward(td_gradient(g, head + 1), NULL, g->logits, g->factor, (float)scale, N, c->vocab, stream,
                              err)) ||
        (s = linear(g, to, head, g->dnarrow, g->logits, g->final, c->C, c->vocab, scale, err)) ||
        (s = td_zero(g->dstream, (size_t)(N * c->C) * sizeof *g->dstream, stream, err)) ||
        (s = layernorm(g, to, td_end_parameter(g, FINAL_NORM), td_gpt_block_parameter(last, DOWN + 1),
                       g->block[last].out, g->mean, g->rstd, err)))
        return s;
    for (int64_t l = last; l >= 0; l--)
        if ((s = block_backward(g, to, l, err))) return s;
    if ((s = y->embedding_backward(td_gradient(g, TOKEN), td_gradient(g, POSITION), g->dstream, g->tokens, g->B, g->T,
                                   c->C, stream, err)))
        return s;
    announce_pair(to, TOKEN);
    return TD_OK;
}
