/* A training step for a GPU to be watched at: a plain network of matrix products, forward, backward and update.
 *
 * X₀ (rows, width) is a batch, Y its target; X_{l+1} = relu(X_l W_l), the last layer without the relu; the loss is the
 * mean of (X_L − Y)². Everything is float32. Each step uploads its batch from pinned host memory. Operations submitted
 * a step: layers products and layers − 1 relus forward; the loss and its gradient; layers + layers − 1 products and
 * layers − 1 relus backward; layers updates (plain descent): 6·layers − 2 kernels, beside two uploads and a fill. */
#ifndef TANDEM_GPU_STEP_H
#define TANDEM_GPU_STEP_H

#include "tandem/status.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct td_gpu_step td_gpu_step;

/* TD_NO_DEVICE without a GPU. Weights and two batches are drawn; Y = X / 2, so that there is something to learn. */
td_status td_gpu_step_new(int64_t layers, int64_t rows, int64_t width, td_gpu_step **out, td_error *err);
void td_gpu_step_delete(td_gpu_step *step);
/* One step on batch 0 or 1; returns when all is submitted. */
td_status td_gpu_step_submit(td_gpu_step *step, int batch, td_error *err);
/* The mean squared error before the last submitted step's update. Waits for it, as every reading of a result does. */
td_status td_gpu_step_loss(td_gpu_step *step, double *loss, td_error *err);
static inline int64_t td_gpu_step_kernels(int64_t layers) {
    return 6 * layers - 2;
}

#ifdef __cplusplus
}
#endif
#endif
