/* The layers of the GPT on a GPU: small kernels between the products of cuBLAS. Twins of cpu_ref/gpt/real/NAME.h, where
 * the formulas and their sources stand; here is what is fused with what.
 *
 * All arrays are the device's, contiguous, last dimension fastest, float32 unless said. N = B·T tokens. An array of
 * `factor` is one that a matrix product takes: float32 or bf16, rounded once by the kernel that makes it. Arithmetic is
 * float32. Functions submit to the stream and return; N = 0 submits nothing. Gradients of parameters are added to.
 * Every result but attention's backward (dQ by atomics) has the same bits in every run: sums over rows are a block's
 * own, in a fixed order. Rows are read 16 bytes at a time where C and the addresses allow it. */
#ifndef TANDEM_GPU_GPT_LAYERS_H
#define TANDEM_GPU_GPT_LAYERS_H

#include "tandem/status.h"
#include "tandem/tensor.h"
#include "tandem/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

/* C (m,n) = alpha · A' (m,k) B' (k,n) + beta · C, row-major; A' is A, or the transpose of A (k,m). Sums are float32. */
typedef struct td_product {
    int64_t m, n, k;
    const void *A, *B;
    int transpose_A, transpose_B;
    td_dtype factor; /* of A and B */
    void *C;
    td_dtype dtype; /* of C: TD_F32, or TD_BF16 if the factors are */
    float alpha, beta;
} td_product;

/* A handle for products on the process's device, with a workspace of td_blas_workspace_bytes that lives as long. */
typedef struct td_products td_products;

/* What a LayerNorm reads and leaves: shapes (N,C), vectors (C), mean and rstd (N). */
typedef struct td_norm {
    const float *x, *weight, *bias;
    float *mean, *rstd;
    int64_t N, C;
} td_norm;

typedef struct td_gpt_layers {
    td_status (*products_new)(td_products **out, void *workspace, size_t bytes, td_error *err);
    void (*products_delete)(td_products *products);
    td_status (*product)(td_products *products, const td_product *p, td_error *err);

    /* factor `to` (count) = from, rounded */
    td_status (*round)(void *to, const float *from, int64_t count, void *stream, td_error *err);

    td_status (*embedding_forward)(float *x, const int32_t *tokens, const float *token, const float *position,
                                   int64_t B, int64_t T, int64_t C, void *stream, td_error *err);
    td_status (*embedding_backward)(float *dtoken, float *dposition, const float *dx, const int32_t *tokens, int64_t B,
                                    int64_t T, int64_t C, void *stream, td_error *err);

    /* y (factor) = LayerNorm(x). */
    td_status (*layernorm_forward)(void *y, td_dtype factor, const td_norm *norm, void *stream, td_error *err);
    /* The residual connection before it, in the same pass: sum = stream + branch + branch_bias, y = LayerNorm(sum);
     * norm->x is `sum`. */
    td_status (*residual_layernorm_forward)(void *y, td_dtype factor, float *sum, const float *stream_in,
                                            const float *branch, const float *branch_bias, const td_norm *norm,
                                            void *stream, td_error *err);
    /* dx += …, dweight, dbias from dy. In the same pass, where not NULL: rounded (bf16) = dx, and dbelow (C) += the
     * sums of dx's columns, which is the bias' gradient of the linear layer that feeds the stream there. */
    td_status (*layernorm_backward)(float *dx, void *rounded, float *dweight, float *dbias, float *dbelow,
                                    const float *dy, const td_norm *norm, void *stream, td_error *err);

    /* y (N,outs) += bias (outs) */
    td_status (*bias_add)(float *y, const float *bias, int64_t N, int64_t outs, void *stream, td_error *err);
    /* dbias (outs) += scale · the column sums of dy (N,outs), which is of `dtype`; rounded (bf16) = dy if not NULL. */
    td_status (*bias_backward)(float *dbias, void *rounded, const void *dy, td_dtype dtype, float scale, int64_t N,
                               int64_t outs, void *stream, td_error *err);

    /* y (factor; N,outs) = gelu(x + bias); and dx (factor), dbias from dy */
    td_status (*bias_gelu_forward)(void *y, td_dtype factor, const float *x, const float *bias, int64_t N, int64_t outs,
                                   void *stream, td_error *err);
    td_status (*bias_gelu_backward)(void *dx, td_dtype factor, float *dbias, const float *dy, const float *x,
                                    const float *bias, int64_t N, int64_t outs, void *stream, td_error *err);

    /* o (B,T,C), lse (B,heads,T) from qkv (B,T,3,heads,d), causal: by rung 5 of attention forward, with no T×T memory;
     * backward by rung 4, which wants a workspace. */
    td_status (*attention_forward)(float *o, float *lse, const float *qkv, int64_t B, int64_t T, int64_t heads,
                                   int64_t d, void *stream, td_error *err);
    size_t (*attention_workspace)(int64_t B, int64_t T, int64_t heads, int64_t d);
    td_status (*attention_backward)(float *dqkv, const float *dout, const float *o, const float *lse, const float *qkv,
                                    void *workspace, int64_t B, int64_t T, int64_t heads, int64_t d, void *stream,
                                    td_error *err);

    /* loss (N) of the logits z + bias against targets; 0 where the target is < 0. z (N,vocab), of `factor`, becomes the
     * gradient of Σ loss by the logits in place: the scale is left to the products that follow. */
    td_status (*cross_entropy)(float *loss, void *z, td_dtype factor, const float *bias, const int32_t *targets,
                               int64_t N, int64_t vocab, void *stream, td_error *err);
} td_gpt_layers;

enum { TD_PRODUCTS_WORKSPACE = 32 << 20 }; /* bytes: what cuBLAS asks for on sm_90 */

extern const td_gpt_layers td_cuda_gpt_layers, td_emulated_gpt_layers;

#ifdef __cplusplus
}
#endif
#endif
