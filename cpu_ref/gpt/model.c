/* Making a model: sizes checked, memory laid out by tag, parameters named and given their first values. */
#include "model.h"
#include "tandem/philox.h"
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
static void add_parameter(td_gpt *gpt, const char *name, int64_t count, int is_matrix) {
    td_parameter unlisted = {0}, *p = gpt->parameter ? &gpt->parameter[gpt->parameters] : &unlisted;
    snprintf(p->name, sizeof p->name, "%s", name);
    p->count = count;
    p->decay = is_matrix;
    p->dtype = gpt->operations->dtype;
    p->uses = 1;
    p->value = take(gpt, TD_MEM_PARAMETERS, (size_t)p->count * td_dtype_size(gpt->operations->dtype));
    p->gradient = take(gpt, TD_MEM_GRADIENTS, (size_t)p->count * td_dtype_size(gpt->operations->dtype));
    gpt->parameters++;
}

/* A weight (ins,outs) and its bias (outs); ins = 0: the weight of a LayerNorm, a vector (outs). */
static void add_pair(td_gpt *gpt, const char *prefix, int64_t ins, int64_t outs) {
    char name[48];
    snprintf(name, sizeof name, "%s.weight", prefix);
    add_parameter(gpt, name, ins ? ins * outs : outs, ins > 0);
    snprintf(name, sizeof name, "%s.bias", prefix);
    add_parameter(gpt, name, outs, 0);
}

static void lay_out_parameters(td_gpt *gpt) {
    const td_gpt_config *c = &gpt->config;
    static const char *const part[] = {"norm1", "attention.qkv", "attention.projection", "norm2", "mlp.up", "mlp.down"};
    const int64_t ins[] = {0, c->C, c->C, 0, c->C, 4 * c->C}, outs[] = {c->C, 3 * c->C, c->C, c->C, 4 * c->C, c->C};
    char prefix[32];

    add_parameter(gpt, "token.weight", c->vocab * c->C, 1);
    add_parameter(gpt, "position.weight", c->T_max * c->C, 1);
    for (int64_t l = 0; l < c->layers; l++)
        for (int i = 0; i < BLOCK_PARAMETERS / 2; i++) {
            snprintf(prefix, sizeof prefix, "block%d.%s", (int)l, part[i]);
            add_pair(gpt, prefix, ins[i], outs[i]);
        }
    add_pair(gpt, "norm", 0, c->C);
    add_pair(gpt, "head", c->C, c->vocab);
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
    gpt->parameters = 0;
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

/* Matrices are N(0, 0.02²), and the two that write into the residual stream smaller by 1/√(2·layers), so that the
 * stream's size does not grow with depth; biases 0, LayerNorm weights 1. Radford et al. 2019, §2.3. */
static void initialise(td_gpt *gpt, uint64_t seed) {
    for (int i = 0; i < gpt->parameters; i++) {
        const td_parameter *p = &gpt->parameter[i];
        td_tensor value = td_contiguous(p->value, gpt->operations->dtype, 1, 1, 1, p->count);
        int ends_branch = strstr(p->name, "projection.weight") || strstr(p->name, "down.weight");
        double deviation = ends_branch ? 0.02 / sqrt(2.0 * (double)gpt->config.layers) : 0.02;
        double constant = strstr(p->name, "norm") && strstr(p->name, ".weight") ? 1.0 : 0.0;
#pragma omp parallel for if (p->decay && p->count > 1 << 14)
        for (int64_t k = 0; k < p->count; k++)
            td_store(&value, k, p->decay ? deviation * td_normal(seed, (uint64_t)i, (uint64_t)k) : constant);
    }
}

static td_status check_size(const char *name, int64_t value, int64_t high, td_error *err) {
    if (value >= 1 && value <= high) return TD_OK;
    return td_fail(err, TD_BAD_PARAM, "%s = %lld: must be 1 to %lld", name, (long long)value, (long long)high);
}

static td_status validate(const td_gpt_config *c, td_dtype dtype, int64_t B_max, td_error *err) {
    td_status s;
    if ((s = check_size("layers", c->layers, 1 << 12, err)) || (s = check_size("heads", c->heads, 1 << 12, err)) ||
        (s = check_size("C", c->C, 1 << 16, err)) || (s = check_size("vocab", c->vocab, 1 << 24, err)) ||
        (s = check_size("T_max", c->T_max, 1 << 24, err)) || (s = check_size("B_max", B_max, 1 << 24, err)))
        return s;
    if (c->C % c->heads || c->C / c->heads > 256)
        return td_fail(err, TD_BAD_PARAM,
                       "C = %lld, heads = %lld: C must be a multiple of heads, C / heads at most 256", (long long)c->C,
                       (long long)c->heads);
    if (dtype != TD_F64 && dtype != TD_F32)
        return td_fail(err, TD_BAD_PARAM, "dtype = %s: must be f64 or f32", td_dtype_name(dtype));
    /* counted in double, which cannot overflow; up to 2^50 elements no 64-bit sum of bytes can either */
    double N = (double)B_max * (double)c->T_max, L = (double)c->layers, C = (double)c->C;
    double elements = L * (12 * C * C + N * (16 * C + (double)(c->heads * c->T_max))) + (N + C) * (double)c->vocab;
    if (!(elements <= 0x1p50))
        return td_fail(err, TD_BAD_PARAM, "B_max, T_max, layers, C, vocab: %.3g elements in all, must be at most 2^50",
                       elements);
    return TD_OK;
}

td_status td_gpt_new(td_gpt **out, const td_gpt_config *config, td_dtype dtype, int64_t B_max, uint64_t seed,
                     const td_allocator *allocator, td_error *err) {
    *out = NULL;
    td_status status = validate(config, dtype, B_max, err);
    if (status) return status;
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
    initialise(gpt, seed);
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
