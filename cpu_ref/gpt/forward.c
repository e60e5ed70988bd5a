/* Forward: tokens to logits to loss. Everything that backward needs stays in the model's buffers. */
#include "model.h"
#include <string.h>

static void layernorm(td_gpt *gpt, int parameter, void *y, void *mean, void *rstd, const void *x, int64_t N) {
    const td_parameter *p = &gpt->parameter[parameter];
    if (!td_gpt_begin(gpt, LAYERNORM, 0)) return;
    gpt->operations->layernorm_forward(y, mean, rstd, x, p[0].value, p[1].value, N, gpt->config.C);
    td_gpt_end(gpt, LAYERNORM, 0);
}

static void linear(td_gpt *gpt, td_gpt_kind kind, int parameter, void *y, const void *x, int64_t N, int64_t ins) {
    const td_parameter *p = &gpt->parameter[parameter];
    if (!td_gpt_begin(gpt, kind, 0)) return;
    gpt->operations->linear_forward(y, x, p[0].value, p[1].value, N, ins, p[1].count);
    td_gpt_end(gpt, kind, 0);
}

static void residual(td_gpt *gpt, void *y, const void *a, const void *b, int64_t N) {
    if (!td_gpt_begin(gpt, RESIDUAL, 0)) return;
    gpt->operations->residual_forward(y, a, b, N * gpt->config.C);
    td_gpt_end(gpt, RESIDUAL, 0);
}

/* x + attention(norm(x)), then x + mlp(norm(x)): the norm stands before each branch. Xiong et al. 2020, figure 1b. */
static void block_forward(td_gpt *gpt, int64_t l) {
    const td_gpt_config *c = &gpt->config;
    td_gpt_block *b = &gpt->block[l];
    int64_t N = gpt->B * gpt->T;
    void *x = td_gpt_block_input(gpt, l);

    layernorm(gpt, td_gpt_block_parameter(l, NORM1), b->norm1, b->mean1, b->rstd1, x, N);
    linear(gpt, LINEAR, td_gpt_block_parameter(l, QKV), b->qkv, b->norm1, N, c->C);
    if (td_gpt_begin(gpt, ATTENTION, 0)) {
        gpt->operations->attention_forward(b->attended, b->P, b->qkv, gpt->B, gpt->T, c->heads, c->C / c->heads);
        td_gpt_end(gpt, ATTENTION, 0);
    }
    linear(gpt, LINEAR, td_gpt_block_parameter(l, PROJECTION), gpt->branch, b->attended, N, c->C);
    residual(gpt, b->middle, x, gpt->branch, N);

    layernorm(gpt, td_gpt_block_parameter(l, NORM2), b->norm2, b->mean2, b->rstd2, b->middle, N);
    linear(gpt, LINEAR, td_gpt_block_parameter(l, UP), b->up, b->norm2, N, c->C);
    if (td_gpt_begin(gpt, GELU, 0)) {
        gpt->operations->gelu_forward(b->gelu, b->up, N * 4 * c->C);
        td_gpt_end(gpt, GELU, 0);
    }
    linear(gpt, LINEAR, td_gpt_block_parameter(l, DOWN), gpt->branch, b->gelu, N, 4 * c->C);
    residual(gpt, b->out, b->middle, gpt->branch, N);
}

td_status td_gpt_forward(td_gpt *gpt, const int32_t *tokens, const int32_t *targets, int64_t B, int64_t T,
                         double *loss_sum, int64_t *counted, td_error *err) {
    td_status status = td_gpt_check_batch(&gpt->config, gpt->B_max, tokens, targets, B, T, counted, err);
    if (status) return status;
    const td_gpt_config *c = &gpt->config;
    const td_gpt_operations *op = gpt->operations;
    int64_t N = B * T;
    if (N > 0) {
        memcpy(gpt->tokens, tokens, (size_t)N * sizeof *tokens);
        memcpy(gpt->targets, targets, (size_t)N * sizeof *targets);
    }
    gpt->B = B, gpt->T = T;

    if (td_gpt_begin(gpt, EMBEDDING, 0)) {
        op->embedding_forward(gpt->embedded, gpt->tokens, gpt->parameter[TOKEN].value, gpt->parameter[POSITION].value,
                              B, T, c->C);
        td_gpt_end(gpt, EMBEDDING, 0);
    }
    for (int64_t l = 0; l < c->layers; l++) block_forward(gpt, l);
    layernorm(gpt, td_gpt_end_parameter(gpt, FINAL_NORM), gpt->final, gpt->mean, gpt->rstd,
              td_gpt_block_input(gpt, c->layers), N);
    linear(gpt, HEAD_LINEAR, td_gpt_end_parameter(gpt, HEAD), gpt->logits, gpt->final, N, c->C);
    if (td_gpt_begin(gpt, CROSS_ENTROPY, 0)) {
        op->cross_entropy_forward(gpt->loss, gpt->lse, gpt->logits, gpt->targets, N, c->vocab);
        td_gpt_end(gpt, CROSS_ENTROPY, 0);
    }

    td_tensor loss = td_contiguous(gpt->loss, op->dtype, 1, 1, 1, N);
    *loss_sum = 0;
    for (int64_t n = 0; n < N; n++)
        if (gpt->targets[n] >= 0) *loss_sum += td_load(&loss, n);
    return TD_OK;
}
