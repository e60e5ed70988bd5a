/* The layers: what each takes and gives, the same in double, and the call. */
#include "../cpu_ref/gpt/operations.h"
#include "gpt_layer_rig.h"
#include <string.h>

static const td_gpt_operations *const op = &td_gpt_operations_f64;

static void in(td_layer_rig *r, int64_t count, td_dtype dtype, double mean) {
    r->in[r->inputs++] = (td_layer_array){"", count, dtype, mean, -1};
}

static void out(td_layer_rig *r, const char *name, int64_t count, td_dtype dtype, int from) {
    r->out[r->outputs++] = (td_layer_array){name, count, dtype, 0, from};
}

/* sum (outs) += factor · the column sums of x (N,outs) */
static void add_columns(double *sum, const double *x, double factor, int64_t N, int64_t outs) {
    for (int64_t k = 0; k < N * outs; k++) sum[k % outs] += factor * x[k];
}

/* y (N,outs) = x + bias */
static void add_bias(double *y, const double *x, const double *bias, int64_t N, int64_t outs) {
    for (int64_t k = 0; k < N * outs; k++) y[k] = x[k] + bias[k % outs];
}

static void embedding_plan(td_layer_rig *r) {
    in(r, r->s.vocab * r->C, TD_F32, 0), in(r, r->s.T * r->C, TD_F32, 0);
    out(r, "x", r->N * r->C, TD_F32, -1);
}
static void embedding_reference(const td_layer_rig *r, double *const *in, double *const *out) {
    op->embedding_forward(out[0], r->tokens, in[0], in[1], r->s.B, r->s.T, r->C);
}
static td_status embedding_run(const td_layer_rig *r, void *const *in, void *const *out, td_error *err) {
    return r->layers->embedding_forward(out[0], r->device_tokens, in[0], in[1], r->s.B, r->s.T, r->C, r->stream, err);
}

static void embedding_backward_plan(td_layer_rig *r) {
    in(r, r->N * r->C, TD_F32, 0), in(r, r->s.vocab * r->C, TD_F32, 0), in(r, r->s.T * r->C, TD_F32, 0);
    out(r, "dtoken", r->s.vocab * r->C, TD_F32, 1), out(r, "dposition", r->s.T * r->C, TD_F32, 2);
    r->longest = r->N;
}
static void embedding_backward_reference(const td_layer_rig *r, double *const *in, double *const *out) {
    op->embedding_backward(out[0], out[1], in[0], r->tokens, r->s.B, r->s.T, r->C);
}
static td_status embedding_backward_run(const td_layer_rig *r, void *const *in, void *const *out, td_error *err) {
    return r->layers->embedding_backward(out[0], out[1], in[0], r->device_tokens, r->s.B, r->s.T, r->C, r->stream, err);
}

static void layernorm_plan(td_layer_rig *r) {
    in(r, r->N * r->C, TD_F32, 0.5), in(r, r->C, TD_F32, 1), in(r, r->C, TD_F32, 0);
    out(r, "y", r->N * r->C, r->factor, -1), out(r, "mean", r->N, TD_F32, -1), out(r, "rstd", r->N, TD_F32, -1);
    r->longest = r->C;
}
static void layernorm_reference(const td_layer_rig *r, double *const *in, double *const *out) {
    op->layernorm_forward(out[0], out[1], out[2], in[0], in[1], in[2], r->N, r->C);
}
static td_status layernorm_run(const td_layer_rig *r, void *const *in, void *const *out, td_error *err) {
    td_norm norm = {in[0], in[1], in[2], out[1], out[2], r->N, r->C};
    return r->layers->layernorm_forward(out[0], r->factor, &norm, r->stream, err);
}

static void residual_plan(td_layer_rig *r) {
    layernorm_plan(r);
    in(r, r->N * r->C, TD_F32, 0), in(r, r->C, TD_F32, 0);
    out(r, "sum", r->N * r->C, TD_F32, -1);
    r->scratch = r->N * r->C;
}
static void residual_reference(const td_layer_rig *r, double *const *in, double *const *out) {
    add_bias(r->scratch_host, in[3], in[4], r->N, r->C);
    op->residual_forward(out[3], in[0], r->scratch_host, r->N * r->C);
    op->layernorm_forward(out[0], out[1], out[2], out[3], in[1], in[2], r->N, r->C);
}
static td_status residual_run(const td_layer_rig *r, void *const *in, void *const *out, td_error *err) {
    td_norm norm = {out[3], in[1], in[2], out[1], out[2], r->N, r->C};
    return r->layers->residual_layernorm_forward(out[0], r->factor, out[3], in[0], in[3], in[4], &norm, r->stream, err);
}

/* Inputs dy, x, weight, bias, and what dx, dweight, dbias and dbelow hold before. Scratch: y, mean, rstd. */
static void layernorm_backward_plan(td_layer_rig *r) {
    in(r, r->N * r->C, TD_F32, 0), in(r, r->N * r->C, TD_F32, 0.5), in(r, r->C, TD_F32, 1), in(r, r->C, TD_F32, 0);
    in(r, r->N * r->C, TD_F32, 0), in(r, r->C, TD_F32, 0), in(r, r->C, TD_F32, 0), in(r, r->C, TD_F32, 0);
    out(r, "dx", r->N * r->C, TD_F32, 4), out(r, "dweight", r->C, TD_F32, 5), out(r, "dbias", r->C, TD_F32, 6);
    out(r, "dbelow", r->C, TD_F32, 7);
    if (r->factor == TD_BF16) out(r, "dx, rounded", r->N * r->C, TD_BF16, -1);
    r->longest = r->C > r->N ? r->C : r->N;
    r->scratch = r->N * (r->C + 2);
}
static void layernorm_backward_reference(const td_layer_rig *r, double *const *in, double *const *out) {
    double *y = r->scratch_host, *mean = y + r->N * r->C, *rstd = mean + r->N;
    op->layernorm_forward(y, mean, rstd, in[1], in[2], in[3], r->N, r->C);
    op->layernorm_backward(out[0], out[1], out[2], in[0], in[1], in[2], mean, rstd, r->N, r->C);
    add_columns(out[3], out[0], 1, r->N, r->C);
    if (r->outputs == 5) memcpy(out[4], out[0], (size_t)(r->N * r->C) * sizeof(double));
}
static td_status layernorm_backward_run(const td_layer_rig *r, void *const *in, void *const *out, td_error *err) {
    float *y = r->scratch_device, *mean = y + r->N * r->C, *rstd = mean + r->N;
    td_norm norm = {in[1], in[2], in[3], mean, rstd, r->N, r->C};
    td_status s = r->layers->layernorm_forward(y, TD_F32, &norm, r->stream, err);
    return s ? s
             : r->layers->layernorm_backward(out[0], r->outputs == 5 ? out[4] : NULL, out[1], out[2], out[3], in[0],
                                             &norm, r->stream, err);
}

static void bias_plan(td_layer_rig *r) {
    in(r, r->N * 3 * r->C, TD_F32, 0), in(r, 3 * r->C, TD_F32, 0);
    out(r, "y", r->N * 3 * r->C, TD_F32, 0);
}
static void bias_reference(const td_layer_rig *r, double *const *in, double *const *out) {
    add_bias(out[0], in[0], in[1], r->N, 3 * r->C);
}
static td_status bias_run(const td_layer_rig *r, void *const *in, void *const *out, td_error *err) {
    return r->layers->bias_add(out[0], in[1], r->N, 3 * r->C, r->stream, err);
}

/* Of float32 dy, which is rounded too if products take bf16; then of dy that is a factor already. */
static void bias_backward_plan(td_layer_rig *r) {
    in(r, r->N * 3 * r->C, TD_F32, 0), in(r, 3 * r->C, TD_F32, 0), in(r, r->N * r->s.vocab, r->factor, 0);
    in(r, r->s.vocab, TD_F32, 0);
    out(r, "dbias", 3 * r->C, TD_F32, 1), out(r, "dbias of the head", r->s.vocab, TD_F32, 3);
    if (r->factor == TD_BF16) out(r, "dy, rounded", r->N * 3 * r->C, TD_BF16, -1);
    r->longest = r->N;
}
static void bias_backward_reference(const td_layer_rig *r, double *const *in, double *const *out) {
    add_columns(out[0], in[0], 1, r->N, 3 * r->C);
    add_columns(out[1], in[2], 0.375, r->N, r->s.vocab);
    if (r->outputs == 3) memcpy(out[2], in[0], (size_t)(r->N * 3 * r->C) * sizeof(double));
}
static td_status bias_backward_run(const td_layer_rig *r, void *const *in, void *const *out, td_error *err) {
    td_status s = r->layers->bias_backward(out[0], r->outputs == 3 ? out[2] : NULL, in[0], TD_F32, 1, r->N, 3 * r->C,
                                           r->stream, err);
    return s ? s : r->layers->bias_backward(out[1], NULL, in[2], r->factor, 0.375f, r->N, r->s.vocab, r->stream, err);
}

static void gelu_plan(td_layer_rig *r) {
    in(r, r->N * 4 * r->C, TD_F32, 0), in(r, 4 * r->C, TD_F32, 0);
    out(r, "y", r->N * 4 * r->C, r->factor, -1);
    r->scratch = r->N * 4 * r->C;
}
static void gelu_reference(const td_layer_rig *r, double *const *in, double *const *out) {
    add_bias(r->scratch_host, in[0], in[1], r->N, 4 * r->C);
    op->gelu_forward(out[0], r->scratch_host, r->N * 4 * r->C);
}
static td_status gelu_run(const td_layer_rig *r, void *const *in, void *const *out, td_error *err) {
    return r->layers->bias_gelu_forward(out[0], r->factor, in[0], in[1], r->N, 4 * r->C, r->stream, err);
}

static void gelu_backward_plan(td_layer_rig *r) {
    in(r, r->N * 4 * r->C, TD_F32, 0), in(r, r->N * 4 * r->C, TD_F32, 0), in(r, 4 * r->C, TD_F32, 0);
    in(r, 4 * r->C, TD_F32, 0);
    out(r, "dx", r->N * 4 * r->C, r->factor, -1), out(r, "dbias", 4 * r->C, TD_F32, 3);
    r->longest = r->N;
    r->scratch = r->N * 4 * r->C;
}
static void gelu_backward_reference(const td_layer_rig *r, double *const *in, double *const *out) {
    add_bias(r->scratch_host, in[1], in[2], r->N, 4 * r->C);
    op->gelu_backward(out[0], in[0], r->scratch_host, r->N * 4 * r->C);
    add_columns(out[1], out[0], 1, r->N, 4 * r->C);
}
static td_status gelu_backward_run(const td_layer_rig *r, void *const *in, void *const *out, td_error *err) {
    return r->layers->bias_gelu_backward(out[0], r->factor, out[1], in[0], in[1], in[2], r->N, 4 * r->C, r->stream,
                                         err);
}

/* Scratch on the host: o, P, row; on the device: o, LSE, the workspace at a multiple of 64 floats. */
static int64_t attention_workspace_at(const td_layer_rig *r) {
    return (r->N * (r->C + r->s.heads) + 63) / 64 * 64;
}
static void attention_plan(td_layer_rig *r) {
    int64_t host = r->N * (r->C + r->s.heads * (r->s.T + 1)), device = attention_workspace_at(r);
    in(r, r->N * 3 * r->C, TD_F32, 0), in(r, r->N * r->C, TD_F32, 0);
    out(r, "o", r->N * r->C, TD_F32, -1), out(r, "dqkv", r->N * 3 * r->C, TD_F32, -1);
    r->longest = r->s.d > r->s.T ? r->s.d : r->s.T;
    device += (int64_t)(r->layers->attention_workspace(r->s.B, r->s.T, r->s.heads, r->s.d) / sizeof(float)) + 1;
    r->scratch = host > device ? host : device;
}
static void attention_reference(const td_layer_rig *r, double *const *in, double *const *out) {
    double *P = r->scratch_host, *row = P + r->N * r->s.heads * r->s.T;
    op->attention_forward(out[0], P, in[0], r->s.B, r->s.T, r->s.heads, r->s.d);
    op->attention_backward(out[1], row, in[1], P, in[0], r->s.B, r->s.T, r->s.heads, r->s.d);
}
static td_status attention_run(const td_layer_rig *r, void *const *in, void *const *out, td_error *err) {
    float *lse = r->scratch_device, *workspace = lse + attention_workspace_at(r);
    td_status s = r->layers->attention_forward(out[0], lse, in[0], r->s.B, r->s.T, r->s.heads, r->s.d, r->stream, err);
    return s ? s
             : r->layers->attention_backward(out[1], in[1], out[0], lse, in[0], workspace, r->s.B, r->s.T, r->s.heads,
                                             r->s.d, r->stream, err);
}

/* Scratch: the logits with their bias, LSE. */
static void cross_entropy_plan(td_layer_rig *r) {
    in(r, r->N * r->s.vocab, r->factor, 0), in(r, r->s.vocab, TD_F32, 0);
    out(r, "loss", r->N, TD_F32, -1), out(r, "dlogits", r->N * r->s.vocab, r->factor, 0);
    r->longest = r->s.vocab;
    r->scratch = r->N * (r->s.vocab + 1);
}
static void cross_entropy_reference(const td_layer_rig *r, double *const *in, double *const *out) {
    double *z = r->scratch_host, *lse = z + r->N * r->s.vocab;
    add_bias(z, in[0], in[1], r->N, r->s.vocab);
    op->cross_entropy_forward(out[0], lse, z, r->targets, r->N, r->s.vocab);
    op->cross_entropy_backward(out[1], z, lse, r->targets, 1, r->N, r->s.vocab);
}
static td_status cross_entropy_run(const td_layer_rig *r, void *const *in, void *const *out, td_error *err) {
    return r->layers->cross_entropy(out[0], out[1], r->factor, in[1], r->device_targets, r->N, r->s.vocab, r->stream,
                                    err);
}

/* x (N,C) · weight (C,3C), into float32 and into a factor; then dx and dweight of dy. Scratch: a bias of zeros, and its
 * gradient. */
static void linear_plan(td_layer_rig *r) {
    in(r, r->N * r->C, r->factor, 0), in(r, 3 * r->C * r->C, r->factor, 0), in(r, r->N * 3 * r->C, r->factor, 0);
    in(r, 3 * r->C * r->C, TD_F32, 0);
    out(r, "y", r->N * 3 * r->C, TD_F32, -1), out(r, "y, rounded", r->N * 3 * r->C, r->factor, -1);
    out(r, "dx", r->N * r->C, TD_F32, -1), out(r, "dweight", 3 * r->C * r->C, TD_F32, 3);
    r->longest = 3 * r->C > r->N ? 3 * r->C : r->N;
    r->scratch = 6 * r->C;
}
static void linear_reference(const td_layer_rig *r, double *const *in, double *const *out) {
    double *zero = r->scratch_host, *dbias = zero + 3 * r->C;
    op->linear_forward(out[0], in[0], in[1], zero, r->N, r->C, 3 * r->C);
    memcpy(out[1], out[0], (size_t)(r->N * 3 * r->C) * sizeof(double));
    op->linear_backward(out[2], out[3], dbias, in[2], in[0], in[1], r->N, r->C, 3 * r->C);
}
static td_status linear_run(const td_layer_rig *r, void *const *in, void *const *out, td_error *err) {
    int64_t N = r->N, C = r->C;
    const td_product products[] = {{N, 3 * C, C, in[0], in[1], 0, 0, r->factor, out[0], TD_F32, 1, 0},
                                   {N, 3 * C, C, in[0], in[1], 0, 0, r->factor, out[1], r->factor, 1, 0},
                                   {N, C, 3 * C, in[2], in[1], 0, 1, r->factor, out[2], TD_F32, 1, 0},
                                   {C, 3 * C, N, in[0], in[2], 1, 0, r->factor, out[3], TD_F32, 1, 1}};
    td_status s = TD_OK;
    for (int i = 0; !s && i < 4; i++) s = r->layers->product(r->products, &products[i], err);
    return s;
}

static void round_plan(td_layer_rig *r) {
    if (r->factor == TD_F32) return;
    in(r, r->N * r->C + 3, TD_F32, 0);
    out(r, "rounded", r->N * r->C + 3, TD_BF16, -1);
}
static void round_reference(const td_layer_rig *r, double *const *in, double *const *out) {
    memcpy(out[0], in[0], (size_t)r->in[0].count * sizeof(double));
}
static td_status round_run(const td_layer_rig *r, void *const *in, void *const *out, td_error *err) {
    return r->layers->round(out[0], in[0], r->in[0].count, r->stream, err);
}

const td_layer td_layer_list[] = {
    {"embedding", embedding_plan, embedding_reference, embedding_run},
    {"embedding backward", embedding_backward_plan, embedding_backward_reference, embedding_backward_run},
    {"layernorm", layernorm_plan, layernorm_reference, layernorm_run},
    {"residual layernorm", residual_plan, residual_reference, residual_run},
    {"layernorm backward", layernorm_backward_plan, layernorm_backward_reference, layernorm_backward_run},
    {"bias", bias_plan, bias_reference, bias_run},
    {"bias backward", bias_backward_plan, bias_backward_reference, bias_backward_run},
    {"bias gelu", gelu_plan, gelu_reference, gelu_run},
    {"bias gelu backward", gelu_backward_plan, gelu_backward_reference, gelu_backward_run},
    {"attention", attention_plan, attention_reference, attention_run},
    {"cross entropy", cross_entropy_plan, cross_entropy_reference, cross_entropy_run},
    {"linear", linear_plan, linear_reference, linear_run},
    {"round", round_plan, round_reference, round_run},
    {NULL, NULL, NULL, NULL},
};
