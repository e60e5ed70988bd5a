/* The model's layers as a table of functions: one table a dtype, and one a device later. The model (forward.c,
 * backward.c) is written once over this table and never touches an element itself.
 *
 * Arrays are contiguous, last dimension fastest, of the table's dtype unless typed here. N = B·T tokens. Formulas and
 * sources stand in real/NAME.h. Backward functions ADD to the gradients of parameters; the gradient of an activation is
 * overwritten, but for layernorm_backward, which adds: there the residual stream's two paths meet. */
#ifndef TANDEM_CPU_GPT_OPERATIONS_H
#define TANDEM_CPU_GPT_OPERATIONS_H

#include "tandem/tensor.h"

typedef struct td_gpt_operations {
    td_dtype dtype;

    /* x (B,T,C) from tokens (B,T), token table (vocab,C) and position table (T_max,C) */
    void (*embedding_forward)(void *x, const int32_t *tokens, const void *token, const void *position, int64_t B,
                              int64_t T, int64_t C);
    void (*embedding_backward)(void *dtoken, void *dposition, const void *dx, const int32_t *tokens, int64_t B,
                               int64_t T, int64_t C);

    /* y (N,C) from x (N,C), weight (C), bias (C); keeps mean (N) and rstd (N) */
    void (*layernorm_forward)(void *y, void *mean, void *rstd, const void *x, const void *weight, const void *bias,
                              int64_t N, int64_t C);
    void (*layernorm_backward)(void *dx, void *dweight, void *dbias, const void *dy, const void *x, const void *weight,
                               const void *mean, const void *rstd, int64_t N, int64_t C);

    /* y (N,outs) = x (N,ins) · weight (ins,outs) + bias (outs) */
    void (*linear_forward)(void *y, const void *x, const void *weight, const void *bias, int64_t N, int64_t ins,
                           int64_t outs);
    void (*linear_backward)(void *dx, void *dweight, void *dbias, const void *dy, const void *x, const void *weight,
                            int64_t N, int64_t ins, int64_t outs);

    /* o (B,T,C) from qkv (B,T,3,heads,d), C = heads·d, causal; keeps P (B,heads,T,T) */
    void (*attention_forward)(void *o, void *P, const void *qkv, int64_t B, int64_t T, int64_t heads, int64_t d);
    /* row: workspace (B,heads,T) */
    void (*attention_backward)(void *dqkv, void *row, const void *dout, const void *P, const void *qkv, int64_t B,
                               int64_t T, int64_t heads, int64_t d);

    /* y (n) from x (n) */
    void (*gelu_forward)(void *y, const void *x, int64_t n);
    void (*gelu_backward)(void *dx, const void *dy, const void *x, int64_t n);

    /* y (n) = a + b */
    void (*residual_forward)(void *y, const void *a, const void *b, int64_t n);

    /* loss (N) of logits (N,vocab) against targets (N), 0 where the target is < 0; keeps lse (N) */
    void (*cross_entropy_forward)(void *loss, void *lse, const void *logits, const int32_t *targets, int64_t N,
                                  int64_t vocab);
    /* dlogits = scale · d(Σ loss)/d(logits) */
    void (*cross_entropy_backward)(void *dlogits, const void *logits, const void *lse, const int32_t *targets,
                                   double scale, int64_t N, int64_t vocab);
} td_gpt_operations;

extern const td_gpt_operations td_gpt_operations_f64, td_gpt_operations_f32;

#endif
