/* Forward on a GPU: 9 launches a block, 10 with bf16 products. A linear layer's bias is added by whoever reads its
 * result next: the residual connection, GELU, or the loss; qkv's alone has a kernel of its own. */
#include "gpt.h"
#include <string.h>

/* y (N,outs) = x (N,ins) · weight, without the bias. */
static td_status linear(const td_gpu_gpt *g, int parameter, void *y, td_dtype dtype, const void *x, int64_t ins,
                        int64_t outs, td_error *err) {
    td_product p = {g->B * g->T, outs, ins, x, td_weight_factor(g, parameter), 0, 0, g->factor, y, dtype, 1, 0};
    return g->layers->product(g->products, &p, err);
}

/* sum = stream + branch + its bias, and the LayerNorm of it. */
static td_status residual(const td_gpu_gpt *g, void *y, float *sum, const float *from, const float *branch,
                          int branch_bias, int norm, float *mean, float *rstd, td_error *err) {
    td_norm n = td_norm_of(g, norm, sum, mean, rstd);
    return g->layers->residual_layernorm_forward(y, g->factor, sum, from, branch, td_value(g, branch_bias), &n,
                                                 g->device->stream, err);
}

/* x + attention(norm(x)), then x + mlp(norm(x)). The last sum is taken with the LayerNorm that follows it: block l's
 * stream is complete when `l + 1` begins. */
static td_status block_forward(const td_gpu_gpt *g, int64_t l, td_error *err) {
    const td_gpt_layers *y = g->layers;
    const td_gpu_block *b = &g->block[l];
    const float *x = l == 0 ? g->embedded : g->block[l - 1].out;
    void *stream = g->device->stream;
    int64_t C = g->config.C, N = g->B * g->T, heads = g->config.heads;
    int first = td_gpt_block_parameter(l, 0), before = td_gpt_block_parameter(l - 1, 0);
    td_norm norm = td_norm_of(g, first + NORM1, x, b->mean1, b->rstd1);
    td_status s;
    if ((s = l == 0 ? y->layernorm_forward(b->norm1, g->factor, &norm, stream, err)
                    : residual(g, b->norm1, g->block[l - 1].out, g->block[l - 1].middle, g->branch, before + DOWN + 1,
                               first + NORM1, b->mean1, b->rstd1, err)) ||
        (s = linear(g, first + QKV, b->qkv, TD_F32, b->norm1, C, 3 * C, err)) ||
        (s = y->bias_add(b->qkv, td_value(g, first + QKV + 1), N, 3 * C, stream, err)) ||
        (s = y->attention_forward(b->attended, b->lse, b->qkv, g->B, g->T, heads, C / heads, stream, err)))
        return s;
    if (g->factor != TD_F32 && (s = y->round(b->attended_factor, b->attended, N * C, stream, err))) return s;
    if ((s = linear(g, first + PROJECTION, g->branch, TD_F32, b->attended_factor, C, C, err)) ||
        (s = residual(g, b->norm2, b->middle, x, g->branch, first + PROJECTION + 1, first + NORM2, b->mean2, b->rstd2,
                      err)) ||
        (s = linear(g, first + UP, b->up, TD_F32, b->norm2, C, 4 * C, err)) ||
        (s = y->bias_gelu_forward(b->gelu, g->factor, b->up, td_value(g, first + UP + 1), N, 4 * C, stream, err)))
        return s;
    return linear(g, first + DOWN, g->branch, TD_F32, b->gelu, 4 * C, C, err);
}

/* Tokens and targets, and, where products take other than float32, the weights as they are now. */
static td_status take_batch(td_gpu_gpt *g, const int32_t *tokens, const int32_t *targets, td_error *err) {
    size_t N = (size_t)(g->B * g->T), bytes = N * sizeof *tokens;
    void *place;
    td_status s = td_staging_next(&g->staging, &place, err);
    if (s) return s;
    memcpy(place, tokens, bytes);
    memcpy((char *)place + bytes, targets, bytes);
    g->targets = g->tokens + N;
    if ((s = td_staging_send(&g->staging, g->tokens, 2 * bytes, g->device->stream, err))) return s;
    if (g->factor == TD_F32) return TD_OK;
    return g->layers->round(g->weights, td_value(g, 0) + g->weights_first, g->elements - g->weights_first,
                            g->device->stream, err);
}

td_status TD_GPU(gpt_forward)(void *self, const int32_t *tokens, const int32_t *targets, int64_t B, int64_t T,
                              int64_t *counted, td_error *err) {
    td_gpu_gpt *g = (td_gpu_gpt *)self;
    const td_gpt_config *c = &g->config;
    const td_gpt_layers *y = g->layers;
    void *stream = g->device->stream;
    td_status s = td_gpt_check_batch(c, g->B_max, tokens, targets, B, T, counted, err);
    if (s) return s;
    g->B = B, g->T = T;
    if (B * T == 0) return TD_OK;
    if ((s = take_batch(g, tokens, targets, err)) ||
        (s = y->embedding_forward(g->embedded, g->tokens, td_value(g, TOKEN), td_value(g, POSITION), B, T, c->C, stream,
                                  err)))
        return s;
    for (int64_t l = 0; l < c->layers; l++)
        if ((s = block_forward(g, l, err))) return s;
    const td_gpu_block *last = &g->block[c->layers - 1];
    int bias = td_gpt_block_parameter(c->layers - 1, DOWN + 1), head = td_end_parameter(g, HEAD);
    if ((s = residual(g, g->final, last->out, last->middle, g->branch, bias, td_end_parameter(g, FINAL_NORM), g->mean,
                      g->rstd, err)) ||
        (s = linear(g, head, g->logits, g->factor, g->final, c->C, c->vocab, err)))
        return s;
    return y->cross_entropy(g->loss, g->logits, g->factor, td_value(g, head + 1), g->targets, B * T, c->vocab, stream,
                            err);
}

td_status TD_GPU(gpt_loss)(void *self, double *loss_sum, td_error *err) {
    td_gpu_gpt *g = (td_gpu_gpt *)self;
    if (g->B < 0) return td_fail(err, TD_BAD_PARAM, "loss: no forward has run");
    int64_t N = g->B * g->T;
    float *loss = (float *)malloc((size_t)N * sizeof *loss + 1);
    if (!loss) return td_fail(err, TD_NO_MEMORY, "loss: no memory for %lld numbers on the host", (long long)N);
    td_status s = g->device->download(loss, g->loss, (size_t)N * sizeof *loss, err);
    *loss_sum = 0;
    for (int64_t n = 0; !s && n < N; n++) *loss_sum += (double)loss[n]; /* 0 where a target is not counted */
    free(loss);
    return s;
}
