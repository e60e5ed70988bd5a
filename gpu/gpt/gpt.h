/* Inside of the GPT on a GPU: its buffers. The twin of cpu_ref/gpt/model.h. */
#ifndef TANDEM_GPU_GPT_GPT_H
#define TANDEM_GPU_GPT_GPT_H

#include "../../cpu_ref/gpt/parameters.h"
#include "layers.h"
#include "staging.h"
#include "tandem/model.h"

/* What a block's forward leaves for its backward; all float32, but for those marked "factor", which products take: bf16
 * in a model of bf16 products. Shapes as in layers.h. */
struct td_gpu_block {
    void *norm1; /* factor */
    float *mean1, *rstd1;
    float *qkv, *lse, *attended;
    void *attended_factor; /* `attended`, or it rounded */
    float *middle;         /* (N,C): the residual stream after attention */
    void *norm2;           /* factor */
    float *mean2, *rstd2;
    float *up;  /* (N,4C), without its bias */
    void *gelu; /* factor */
    float *out; /* (N,C): the residual stream after the MLP */
};

struct td_gpu_gpt {
    td_gpt_config config;
    const td_device *device;
    const td_gpt_layers *layers;
    td_dtype factor;
    td_allocator allocator;
    int64_t B_max, B, T; /* of the last forward; B < 0: none yet */
    td_products *products;
    td_staging staging;

    td_parameter *parameter;
    int parameters;
    td_gpu_block *block;
    char *weights;                   /* factors: the values from block 0 on; of float32, the values themselves */
    int64_t weights_first, elements; /* weights hold elements weights_first … elements − 1 of the values */
    int32_t *tokens, *targets;
    float *embedded, *branch; /* (N,C): the stream before block 0; attention's projection without its bias */
    void *final;              /* (N,C), factor */
    float *mean, *rstd, *loss;
    void *logits;   /* (N,vocab), factor; their gradient after forward */
    float *dstream; /* (N,C): gradient of the residual stream */
    void *dstream_factor;
    float *dnarrow;     /* (N,C): gradient inside a branch */
    float *dwide;       /* (N,4C): of what GELU gave; (N,3C): of qkv */
    void *dwide_factor; /* (N,4C): of what GELU got; (N,3C): of qkv */
    void *attention_workspace, *blas_workspace;

    char *memory[TD_MEM_TAGS]; /* one allocation a tag, of used[tag] bytes */
    size_t used[TD_MEM_TAGS];
};

td_status TD_GPU(gpt_forward)(void *self, const int32_t *tokens, const int32_t *targets, int64_t B, int64_t T,
                              int64_t *counted, td_error *err);
td_status TD_GPU(gpt_loss)(void *self, double *loss_sum, td_error *err);
td_status TD_GPU(gpt_backward)(void *self, double scale, td_gradient_ready ready, void *context, td_error *err);

/* A value or gradient of parameter i, which are float32; its weights as a product takes them. */
static inline float *td_value(const td_gpu_gpt *g, int i) {
    return (float *)g->parameter[i].value;
}
static inline float *td_gradient(const td_gpu_gpt *g, int i) {
    return (float *)g->parameter[i].gradient;
}
static inline const void *td_weight_factor(const td_gpu_gpt *g, int i) {
    int64_t element = td_value(g, i) - td_value(g, 0) - g->weights_first;
    return g->weights + element * (int64_t)td_dtype_size(g->factor);
}
static inline int td_end_parameter(const td_gpu_gpt *g, int which) {
    return td_gpt_block_parameter(g->config.layers, which);
}
static inline td_norm td_norm_of(const td_gpu_gpt *g, int parameter, const float *x, float *mean, float *rstd) {
    return {x, td_value(g, parameter), td_value(g, parameter + 1), mean, rstd, g->B * g->T, g->config.C};
}

#endif
