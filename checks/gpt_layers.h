/* Each layer of the GPU's GPT beside the double operations of the CPU's (cpu_ref/gpt/real/): its outputs, for inputs
 * N(0,1), on a GPU or under the emulator.
 *
 * The tolerance, of each output's L2 norm, is what the layer's roundings may cost, tried in double as in gpt_bound.h:
 * every input times 1 + s·z, s = √(n/6)·u of float32, n = the layer's longest sum, but 24 at least, which allows for a
 * function whose error is 2 ulp; the worst of four trials, four times; and for an output that is rounded to bf16, that
 * rounding, u of bf16 times its norm. */
#ifndef TANDEM_CHECKS_GPT_LAYERS_H
#define TANDEM_CHECKS_GPT_LAYERS_H

#include "../gpu/gpt/layers.h"
#include "tandem/device.h"

typedef struct td_layer_shape {
    int64_t B, T, heads, d, vocab; /* C = heads · d */
} td_layer_shape;

/* Name of check i; NULL past the last. */
const char *td_layer_name(int i);
/* Worst err/tol over the outputs of check i, and which. `factor`: TD_F32 or TD_BF16; TD_UNSUPPORTED if the
 * layer has nothing to do with such. NaN counts as wrong. */
td_status td_layer_check(int i, const td_gpt_layers *layers, const td_device *device, const td_layer_shape *shape,
                         td_dtype factor, double *worst, const char **where, td_error *err);

#endif
