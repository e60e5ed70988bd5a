/* Making a model: memory laid out by tag, parameters placed in it and given their first values. */
#include "model.h"
#include <string.h>

/* Hand out the next `bytes` of a tag's memory. Before the memory exists this only counts. */
static void *take(td_gpt *gpt, td_tag tag, size_t bytes) {
    char *base = gpt->memory[tag];
    void *place = base ? base + gpt->used[tag] : NULL;
    gpt->used[tag] += bytes;
    return place;
}

/* `count` elements of the model's dtype, starting on a cache line. */
static void *take_array(td_gpt *gpt, td_tag tag, int64_t count) {
    gpt->used[tag] = (gpt->used[tag] + 63) & ~(size_t)63;
    return take(gpt, tag, (size_t)count * td_dtype_size(gpt->operations->dtype));
}

/* Values lie one after another without gaps, and so do gradients: all of them can be reduced as one array. */
static void lay_out_parameters(td_gpt *gpt) {
    td_dtype dtype = gpt->operations->dtype;
    gpt->parameters = td_gpt_end_parameter(gpt, END_PARAMETERS);
    size_t bytes = (size_t)td_gpt_list_parameters(&gpt->config, gpt->parameter) * td_dtype_size(dtype), used = 0;
    char *values = take(gpt, TD_MEM_PARAMETERS, bytes), *gradients = take(gpt, TD_MEM_GRADIENTS, bytes);
    for (int i = 0; gpt->parameter && i < gpt->parameters; i++) {
        td_parameter *p = &gpt->parameter[i];
        p->dtype = dtype;
        p->value = values + used, p->gradient = gradients + used;
        used += (size_t)p->count * td_dtype_size(dtype);
    }
}

static void lay_out_block(td_gpt *gpt, td_gpt_block *b) {
    const td_gpt_config *c = &gpt->config;
    int64_t N = gpt->B_max * c->T_max, narrow = N * c->C;
    b->norm1 = take_array(gpt, TD_MEM_ACTIVATIONS, narrow);
    b->mean1 = take_array(gpt, TD_MEM_ACTIVATIONS, N);
    b->rstd1 = take_array(gpt, TD_MEM_ACTIVATIONS, N);
    b->qkv = take_array(gpt, TD_MEM_ACTIVATIONS, 3 * narrow);
    b->P = take_array(gpt, TD_MEM_SCORES, N * c->heads * c->T_max);
    b->attended = take_array(gpt, TD_MEM_ACTIVATIONS, narrow);
    b->middle = take_array(gpt, TD_MEM_ACTIVATIONS, narrow);
    b->norm2 = take_array(gpt, TD_MEM_ACTIVATIONS, narrow);
    b->mean2 = take_array(gpt, TD_MEM_ACTIVATIONS, N);
    b->rstd2 = take_array(gpt, TD_MEM_ACTIVATIONS, N);
    b->up = take_array(gpt, TD_MEM_ACTIVATIONS, 4 * narrow);
    b->gelu = take_array(gpt, TD_MEM_ACTIVATIONS, 4 * narrow);
    b->out = take_array(gpt, TD_MEM_ACTIVATIONS, narrow);
}

/* Called twice: first to count the bytes of each tag, then, with memory there, to place every array. */
static void lay_out(td_gpt *gpt) {
    const td_gpt_config *c = &gpt->config;
    int64_t N = gpt->B_max * c->T_max, narrow = N * c->C;
    memset(gpt->used, 0, sizeof gpt->used);
    gpt->parameter =
        take(gpt, TD_MEM_WORKSPACE, (size_t)td_gpt_end_parameter(gpt, END_PARAMETERS) * sizeof(td_parameter));
    gpt->block = take(gpt, TD_MEM_WORKSPACE, (size_t)c->layers * sizeof(td_gpt_block));
    gpt->row = take_array(gpt, TD_MEM_WORKSPACE, N * c->heads);
    lay_out_parameters(gpt);
    gpt->tokens = take(gpt, TD_MEM_DATA, (size_t)N * sizeof(int32_t));
    gpt->targets = take(gpt, TD_MEM_DATA, (size_t)N * sizeof(int32_t));
    gpt->embedded = take_array(gpt, TD_MEM_ACTIVATIONS, narrow);
    for (int64_t l = 0; l < c->layers; l++) {
        td_gpt_block counted_only = {0};
        lay_out_block(gpt, gpt->block ? &gpt->block[l] : &counted_only);
    }
    gpt->branch = take_array(gpt, TD_MEM_ACTIVATIONS, narrow);
    gpt->final = take_array(gpt, TD_MEM_ACTIVATIONS, narrow);
    gpt->mean = take_array(gpt, TD_MEM_ACTIVATIONS, N);
    gpt->rstd = take_array(gpt, TD_MEM_ACTIVATIONS, N);
    gpt->logits = take_array(gpt, TD_MEM_LOGITS, N * c->vocab);
    gpt->dlogits = take_array(gpt, TD_MEM_LOGITS, N * c->vocab);
    gpt->lse = take_array(gpt, TD_MEM_ACTIVATIONS, N);
    gpt->loss = take_array(gpt, TD_MEM_ACTIVATIONS, N);
    gpt->dstream = take_array(gpt, TD_MEM_ACTIVATIONS, narrow);
    gpt->dfinal = take_array(gpt, TD_MEM_ACTIVATIONS, narrow);
    gpt->dnarrow = take_array(gpt, TD_MEM_ACTIVATIONS, narrow);
    gpt->dwide = take_array(gpt, TD_MEM_ACTIVATIONS, 4 * narrow);
    gpt->dup = take_array(gpt, TD_MEM_ACTIVATIONS, 4 * narrow);
}

td_status td_gpt_new(td_gpt **out, const td_gpt_config *config, td_dtype dtype, int64_t B_max, uint64_t seed,
                     const td_allocator *allocator, td_error *err) {
    *out = NULL;
    td_status status = td_gpt_validate(config, B_max, err);
    if (status) return status;
    if (dtype != TD_F64 && dtype != TD_F32)
        return td_fail(err, TD_BAD_PARAM, "dtype = %s: must be f64 or f32", td_dtype_name(dtype));
    td_gpt *gpt = allocator->alloc(allocator->context, sizeof *gpt, TD_MEM_WORKSPACE);
    if (!gpt) return td_fail(err, TD_NO_MEMORY, "model: no memory for %zu bytes", sizeof *gpt);
    *gpt = (td_gpt){.config = *config,
                    .operations = dtype == TD_F64 ? &td_gpt_operations_f64 : &td_gpt_operations_f32,
                    .allocator = *allocator,
                    .B_max = B_max,
                    .B = -1};
    lay_out(gpt);
    for (int tag = 0; tag < TD_MEM_TAGS; tag++) {
        if (gpt->used[tag] == 0) continue;
        gpt->memory[tag] = allocator->alloc(allocator->context, gpt->used[tag], (td_tag)tag);
        if (!gpt->memory[tag]) {
            size_t bytes = gpt->used[tag];
            td_gpt_delete(gpt);
            return td_fail(err, TD_NO_MEMORY, "model: no memory for %zu bytes of %s", bytes, td_tag_name((td_tag)tag));
        }
        memset(gpt->memory[tag], 0, gpt->used[tag]);
    }
    lay_out(gpt);
    for (int i = 0; i < gpt->parameters; i++)
        td_gpt_first_values(config, &gpt->parameter[i], i, seed, gpt->parameter[i].value, dtype);
    *out = gpt;
    return TD_OK;
}

void td_gpt_delete(td_gpt *gpt) {
    if (!gpt) return;
    td_allocator allocator = gpt->allocator;
    for (int tag = 0; tag < TD_MEM_TAGS; tag++)
        if (gpt->memory[tag]) allocator.free(allocator.context, gpt->memory[tag]);
    allocator.free(allocator.context, gpt);
}

const td_gpt_config *td_gpt_configuration(const td_gpt *gpt) {
    return &gpt->config;
}

td_dtype td_gpt_dtype(const td_gpt *gpt) {
    return gpt->operations->dtype;
}

int td_gpt_parameters(const td_gpt *gpt) {
    return gpt->parameters;
}

td_parameter *td_gpt_parameter(td_gpt *gpt, int i) {
    return i >= 0 && i < gpt->parameters ? &gpt->parameter[i] : NULL;
}
