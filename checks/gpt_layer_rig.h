/* What a check of one layer is made of. gpt_layers.c carries it out; gpt_layer_list.c has the layers. */
#ifndef TANDEM_CHECKS_GPT_LAYER_RIG_H
#define TANDEM_CHECKS_GPT_LAYER_RIG_H

#include "gpt_layers.h"

enum { TD_LAYER_ARRAYS = 8 };

typedef struct td_layer_array {
    const char *name;
    int64_t count;
    td_dtype dtype; /* on the device */
    double mean;    /* of an input: mean + N(0,1) */
    int from;       /* an output that is added to starts as a copy of this input; −1 = unwritten */
} td_layer_array;

typedef struct td_layer_rig {
    td_layer_shape s;
    int64_t N, C;
    td_dtype factor;
    const td_gpt_layers *layers;
    void *stream;
    td_products *products;
    const int32_t *tokens, *targets;               /* (N), on the host */
    const int32_t *device_tokens, *device_targets; /* and on the device */
    int inputs, outputs;
    td_layer_array in[TD_LAYER_ARRAYS], out[TD_LAYER_ARRAYS];
    int64_t longest;       /* sum */
    int64_t scratch;       /* doubles on the host; floats on the device */
    double *scratch_host;  /* zeros before each run */
    float *scratch_device; /* unwritten */
} td_layer_rig;

typedef struct td_layer {
    const char *name;
    void (*plan)(td_layer_rig *r); /* sets in, out, longest and scratch; no outputs: nothing to check here */
    void (*reference)(const td_layer_rig *r, double *const *in, double *const *out);
    td_status (*run)(const td_layer_rig *r, void *const *in, void *const *out, td_error *err);
} td_layer;

extern const td_layer td_layer_list[]; /* ends with a NULL name */

#endif
