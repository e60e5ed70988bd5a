/* Causal attention of the model, by the rungs that are fastest in float32: views of qkv (B,T,3,heads,d) with strides,
 * so that nothing is copied, and no T×T memory. */
#include "../attention_backward/attention_backward.h"
#include "../attention_forward/attention_forward.h"
#include "internal.h"

/* A (B,heads,T,d) view of rows of `width`. */
static td_tensor heads_of(const float *data, int64_t B, int64_t T, int64_t heads, int64_t d, int64_t width) {
    return {(void *)data, TD_F32, {B, heads, T, d}, {T * width, d, width, 1}};
}

static td_problem problem_of(td_op op, int64_t B, int64_t T, int64_t heads, int64_t d) {
    td_problem p = {};
    p.op = op;
    p.attention = {B, heads, heads, T, T, d, 1 / sqrt((double)d), TD_MASK_CAUSAL_TOP_LEFT, 0};
    return p;
}

/* Q, K, V, O and LSE, which both directions read. */
static void views(td_tensor *t, const float *qkv, const float *o, const float *lse, int64_t B, int64_t T, int64_t heads,
                  int64_t d) {
    int64_t C = heads * d;
    for (int k = 0; k < 3; k++) t[TD_Q + k] = heads_of(qkv + k * C, B, T, heads, d, 3 * C);
    t[TD_O] = heads_of(o, B, T, heads, d, C);
    t[TD_LSE] = td_contiguous((void *)lse, TD_F32, B, heads, T, 1);
}

td_status TD_GPU(gpt_attention_forward)(float *o, float *lse, const float *qkv, int64_t B, int64_t T, int64_t heads,
                                        int64_t d, void *stream, td_error *err) {
    if (B * T == 0) return TD_OK;
    td_problem p = problem_of(TD_OP_ATTENTION_FORWARD, B, T, heads, d);
    td_tensor t[TD_ATTENTION_TENSORS] = {};
    views(t, qkv, o, lse, B, T, heads, d);
    return TD_GPU(attention_forward_online_registers_f32).run(&p, t, NULL, stream, err);
}

size_t TD_GPU(gpt_attention_workspace)(int64_t B, int64_t T, int64_t heads, int64_t d) {
    td_problem p = problem_of(TD_OP_ATTENTION_BACKWARD, B, T, heads, d);
    return TD_GPU(attention_backward_registers_f32).workspace_bytes(&p);
}

td_status TD_GPU(gpt_attention_backward)(float *dqkv, const float *dout, const float *o, const float *lse,
                                         const float *qkv, void *workspace, int64_t B, int64_t T, int64_t heads,
                                         int64_t d, void *stream, td_error *err) {
    if (B * T == 0) return TD_OK;
    td_problem p = problem_of(TD_OP_ATTENTION_BACKWARD, B, T, heads, d);
    td_tensor t[TD_ATTENTION_TENSORS] = {};
    int64_t C = heads * d;
    views(t, qkv, o, lse, B, T, heads, d);
    t[TD_DO] = heads_of(dout, B, T, heads, d, C);
    for (int k = 0; k < 3; k++) t[TD_DQ + k] = heads_of(dqkv + k * C, B, T, heads, d, 3 * C);
    return TD_GPU(attention_backward_registers_f32).run(&p, t, workspace, stream, err);
}
