/* Making the GPT on a GPU: memory laid out by tag, parameters placed in it and given the CPU model's first values.
 *
 * Everything is submitted to the device's stream; forward and backward return before it is done. With bf16 products
 * their factors are bf16: weights, rounded once a forward; what LayerNorm, attention and GELU give; logits, and
 * the gradients that enter a product. Sums, the residual stream, LayerNorm, attention (both of its products), GELU, the
 * softmax of the loss and all gradients of parameters are float32. Bits repeat from run to run, but for what attention
 * adds to dQ by atomics. A batch of T tokens needs no T×T memory. */
#include "gpt.h"
#include <string.h>

/* Hand out the next `bytes` of a tag's memory, at a multiple of 256. Before the memory exists this only counts. */
static void *take(td_gpu_gpt *g, td_tag tag, size_t bytes) {
    g->used[tag] = (g->used[tag] + 255) & ~(size_t)255;
    void *place = g->memory[tag] ? g->memory[tag] + g->used[tag] : NULL;
    g->used[tag] += bytes;
    return place;
}

static float *floats(td_gpu_gpt *g, td_tag tag, int64_t count) {
    return (float *)take(g, tag, (size_t)count * sizeof(float));
}

static void *factors(td_gpu_gpt *g, td_tag tag, int64_t count) {
    return take(g, tag, (size_t)count * td_dtype_size(g->factor));
}

static void lay_out_block(td_gpu_gpt *g, td_gpu_block *b) {
    int64_t N = g->B_max * g->config.T_max, narrow = N * g->config.C;
    const td_tag tag = TD_MEM_ACTIVATIONS;
    b->norm1 = factors(g, tag, narrow);
    b->mean1 = floats(g, tag, N), b->rstd1 = floats(g, tag, N);
    b->qkv = floats(g, tag, 3 * narrow);
    b->lse = floats(g, tag, N * g->config.heads);
    b->attended = floats(g, tag, narrow);
    b->attended_factor = g->factor == TD_F32 ? b->attended : factors(g, tag, narrow);
    b->middle = floats(g, tag, narrow);
    b->norm2 = factors(g, tag, narrow);
    b->mean2 = floats(g, tag, N), b->rstd2 = floats(g, tag, N);
    b->up = floats(g, tag, 4 * narrow);
    b->gelu = factors(g, tag, 4 * narrow);
    b->out = floats(g, tag, narrow);
}

/* Values lie one after another without gaps, and so do gradients: all of them can be reduced as one array. */
static void lay_out_parameters(td_gpu_gpt *g) {
    const td_gpt_config *c = &g->config;
    float *values = floats(g, TD_MEM_PARAMETERS, g->elements), *gradients = floats(g, TD_MEM_GRADIENTS, g->elements);
    for (int i = 0; values && i < g->parameters; i++) {
        td_parameter *p = &g->parameter[i];
        p->dtype = TD_F32;
        p->value = values, p->gradient = gradients;
        values += p->count, gradients += p->count;
    }
    g->weights_first = (c->vocab + c->T_max) * c->C; /* no product takes the embedding's tables */
    g->weights = g->factor == TD_F32 ? (char *)(td_value(g, 0) ? td_value(g, 0) + g->weights_first : NULL)
                                     : (char *)factors(g, TD_MEM_WORKSPACE, g->elements - g->weights_first);
}

/* Called twice: first to count the bytes of each tag, then, with memory there, to place every array. */
static void lay_out(td_gpu_gpt *g) {
    const td_gpt_config *c = &g->config;
    int64_t N = g->B_max * c->T_max, narrow = N * c->C;
    const td_tag tag = TD_MEM_ACTIVATIONS;
    memset(g->used, 0, sizeof g->used);
    lay_out_parameters(g);
    g->tokens = (int32_t *)take(g, TD_MEM_DATA, 2 * (size_t)N * sizeof(int32_t));
    g->embedded = floats(g, tag, narrow);
    for (int64_t l = 0; l < c->layers; l++) lay_out_block(g, &g->block[l]);
    g->branch = floats(g, tag, narrow);
    g->final = factors(g, tag, narrow);
    g->mean = floats(g, tag, N), g->rstd = floats(g, tag, N), g->loss = floats(g, tag, N);
    g->logits = factors(g, TD_MEM_LOGITS, N * c->vocab);
    g->dstream = floats(g, tag, narrow);
    g->dstream_factor = g->factor == TD_F32 ? g->dstream : factors(g, tag, narrow);
    g->dnarrow = floats(g, tag, narrow);
    g->dwide = floats(g, tag, 4 * narrow);
    g->dwide_factor = factors(g, tag, 4 * narrow);
    g->blas_workspace = take(g, TD_MEM_WORKSPACE, TD_PRODUCTS_WORKSPACE);
    g->attention_workspace =
        take(g, TD_MEM_WORKSPACE, g->layers->attention_workspace(g->B_max, c->T_max, c->heads, c->C / c->heads));
}

static void destroy(void *self) {
    td_gpu_gpt *g = (td_gpu_gpt *)self;
    if (!g) return;
    g->device->synchronize(NULL);
    g->layers->products_delete(g->products);
    td_staging_delete(&g->staging);
    for (int tag = 0; tag < TD_MEM_TAGS; tag++)
        if (g->memory[tag]) g->allocator.free(g->allocator.context, g->memory[tag]);
    free(g->parameter), free(g->block);
    free(g);
}

static td_status zero_gradients(void *self, td_error *err) {
    td_gpu_gpt *g = (td_gpu_gpt *)self;
    return td_zero(g->memory[TD_MEM_GRADIENTS], g->used[TD_MEM_GRADIENTS], g->device->stream, err);
}

static td_status allocate(td_gpu_gpt *g, td_error *err) {
    g->parameters = td_end_parameter(g, END_PARAMETERS);
    g->parameter = (td_parameter *)calloc((size_t)g->parameters, sizeof *g->parameter);
    g->block = (td_gpu_block *)calloc((size_t)g->config.layers, sizeof *g->block);
    if (!g->parameter || !g->block) return td_fail(err, TD_NO_MEMORY, "model: no memory on the host");
    g->elements = td_gpt_list_parameters(&g->config, g->parameter);
    lay_out(g);
    for (int tag = 0; tag < TD_MEM_TAGS; tag++) {
        if (g->used[tag] == 0) continue;
        g->memory[tag] = (char *)g->allocator.alloc(g->allocator.context, g->used[tag], (td_tag)tag);
        if (!g->memory[tag])
            return td_fail(err, TD_NO_MEMORY, "model: no memory for %zu bytes of %s on the device", g->used[tag],
                           td_tag_name((td_tag)tag));
    }
    lay_out(g);
    return td_staging_new(&g->staging, 2 * (size_t)(g->B_max * g->config.T_max) * sizeof(int32_t), err);
}

/* Computed on the host, by the CPU model's own code, one parameter at a time. */
static td_status initialise(td_gpu_gpt *g, uint64_t seed, td_error *err) {
    td_status s = zero_gradients(g, err);
    for (int i = 0; !s && i < g->parameters; i++) {
        td_parameter *p = &g->parameter[i];
        float *values = (float *)malloc((size_t)p->count * sizeof *values);
        if (!values) return td_fail(err, TD_NO_MEMORY, "model: no memory for %s on the host", p->name);
        td_gpt_first_values(&g->config, p, i, seed, values, TD_F32);
        s = g->device->upload(p->value, values, (size_t)p->count * sizeof *values, err);
        free(values);
    }
    return s;
}

static td_status build(td_gpu_gpt *g, uint64_t seed, td_error *err) {
    td_status s = allocate(g, err);
    if (!s) s = g->layers->products_new(&g->products, g->blas_workspace, TD_PRODUCTS_WORKSPACE, err);
    return s ? s : initialise(g, seed, err);
}

/* Products count their sides, and grids their rows, in 31 bits. */
static td_status supported(const td_gpt_config *c, td_dtype products, int64_t B_max, td_error *err) {
    if (products != TD_F32 && products != TD_BF16)
        return td_fail(err, TD_BAD_PARAM, "products = %s: must be f32 or bf16", td_dtype_name(products));
    if (B_max * c->T_max > INT32_MAX / 256 / c->heads)
        return td_fail(err, TD_UNSUPPORTED, "B_max * T_max * heads = %.3g: at most 2^23 on a GPU",
                       (double)B_max * (double)c->T_max * (double)c->heads);
    return TD_OK;
}

extern "C" td_status TD_GPU(model)(td_model *out, const td_gpt_config *config, td_dtype products, int64_t B_max,
                                   uint64_t seed, const td_allocator *allocator, td_error *err) {
    *out = {};
    td_status s;
    if ((s = td_gpt_validate(config, B_max, err)) || (s = supported(config, products, B_max, err))) return s;
    const td_device *device = TD_GPU(device)(err);
    if (!device) return TD_NO_DEVICE;
    td_gpu_gpt *g = (td_gpu_gpt *)calloc(1, sizeof *g);
    if (!g) return td_fail(err, TD_NO_MEMORY, "model: no memory on the host");
    g->config = *config, g->device = device, g->layers = &TD_GPU(gpt_layers), g->factor = products;
    g->allocator = allocator ? *allocator : device->allocator;
    g->B_max = B_max, g->B = -1;
    if ((s = build(g, seed, err))) {
        destroy(g);
        return s;
    }
    out->self = g, out->dtype = TD_F32, out->config = *config;
    out->parameters = g->parameters, out->parameter = g->parameter;
    out->forward = TD_GPU(gpt_forward), out->loss = TD_GPU(gpt_loss), out->backward = TD_GPU(gpt_backward);
    out->zero_gradients = zero_gradients, out->destroy = destroy;
    return TD_OK;
}
