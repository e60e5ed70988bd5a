/* The functions that layers.cu puts into the table, each in its own file. */
#ifndef TANDEM_GPU_GPT_INTERNAL_H
#define TANDEM_GPU_GPT_INTERNAL_H

#include "../gpu.h"
#include "layers.h"

td_status TD_GPU(products_new)(td_products **out, void *workspace, size_t bytes, td_error *err);
void TD_GPU(products_delete)(td_products *products);
td_status TD_GPU(product)(td_products *products, const td_product *p, td_error *err);
td_status TD_GPU(round)(void *to, const float *from, int64_t count, void *stream, td_error *err);
td_status TD_GPU(embedding_forward)(float *x, const int32_t *tokens, const float *token, const float *position,
                                    int64_t B, int64_t T, int64_t C, void *stream, td_error *err);
td_status TD_GPU(embedding_backward)(float *dtoken, float *dposition, const float *dx, const int32_t *tokens, int64_t B,
                                     int64_t T, int64_t C, void *stream, td_error *err);
td_status TD_GPU(layernorm_forward)(void *y, td_dtype factor, const td_norm *norm, void *stream, td_error *err);
td_status TD_GPU(residual_layernorm_forward)(void *y, td_dtype factor, float *sum, const float *stream_in,
                                             const float *branch, const float *branch_bias, const td_norm *norm,
                                             void *stream, td_error *err);
td_status TD_GPU(layernorm_backward)(float *dx, void *rounded, float *dweight, float *dbias, float *dbelow,
                                     const float *dy, const td_norm *norm, void *stream, td_error *err);
td_status TD_GPU(bias_add)(float *y, const float *bias, int64_t N, int64_t outs, void *stream, td_error *err);
td_status TD_GPU(bias_backward)(float *dbias, void *rounded, const void *dy, td_dtype dtype, float scale, int64_t N,
                                int64_t outs, void *stream, td_error *err);
td_status TD_GPU(bias_gelu_forward)(void *y, td_dtype factor, const float *x, const float *bias, int64_t N,
                                    int64_t outs, void *stream, td_error *err);
td_status TD_GPU(bias_gelu_backward)(void *dx, td_dtype factor, float *dbias, const float *dy, const float *x,
                                     const float *bias, int64_t N, int64_t outs, void *stream, td_error *err);
td_status TD_GPU(gpt_attention_forward)(float *o, float *lse, const float *qkv, int64_t B, int64_t T, int64_t heads,
                                        int64_t d, void *stream, td_error *err);
size_t TD_GPU(gpt_attention_workspace)(int64_t B, int64_t T, int64_t heads, int64_t d);
td_status TD_GPU(gpt_attention_backward)(float *dqkv, const float *dout, const float *o, const float *lse,
                                         const float *qkv, void *workspace, int64_t B, int64_t T, int64_t heads,
                                         int64_t d, void *stream, td_error *err);
td_status TD_GPU(cross_entropy)(float *loss, void *z, td_dtype factor, const float *bias, const int32_t *targets,
                                int64_t N, int64_t vocab, void *stream, td_error *err);

#endif
