/* The table of layers.h, for this backend. */
#include "internal.h"

extern "C" const td_gpt_layers TD_GPU(gpt_layers) = {
    .products_new = TD_GPU(products_new),
    .products_delete = TD_GPU(products_delete),
    .product = TD_GPU(product),
    .round = TD_GPU(round),
    .embedding_forward = TD_GPU(embedding_forward),
    .embedding_backward = TD_GPU(embedding_backward),
    .layernorm_forward = TD_GPU(layernorm_forward),
    .residual_layernorm_forward = TD_GPU(residual_layernorm_forward),
    .layernorm_backward = TD_GPU(layernorm_backward),
    .bias_add = TD_GPU(bias_add),
    .bias_backward = TD_GPU(bias_backward),
    .bias_gelu_forward = TD_GPU(bias_gelu_forward),
    .bias_gelu_backward = TD_GPU(bias_gelu_backward),
    .attention_forward = TD_GPU(gpt_attention_forward),
    .attention_workspace = TD_GPU(gpt_attention_workspace),
    .attention_backward = TD_GPU(gpt_attention_backward),
    .cross_entropy = TD_GPU(cross_entropy),
};
