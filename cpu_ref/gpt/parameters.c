/* The parameters of a GPT, listed and given their first values; sizes and batches checked. */
#include "parameters.h"
#include "tandem/philox.h"
#include <math.h>
#include <string.h>

typedef struct list {
    td_parameter *out; /* NULL: only counted */
    int parameters;
    int64_t elements;
} list;

static void add_parameter(list *l, const char *name, int64_t count, int is_matrix) {
    if (l->out) {
        td_parameter *p = &l->out[l->parameters];
        *p = (td_parameter){.count = count, .decay = is_matrix, .uses = 1};
        snprintf(p->name, sizeof p->name, "%s", name);
    }
    l->parameters++;
    l->elements += count;
}

/* A weight (ins,outs) and its bias (outs); ins = 0: the weight of a LayerNorm, a vector (outs). */
static void add_pair(list *l, const char *prefix, int64_t ins, int64_t outs) {
    char name[48];
    snprintf(name, sizeof name, "%s.weight", prefix);
    add_parameter(l, name, ins ? ins * outs : outs, ins > 0);
    snprintf(name, sizeof name, "%s.bias", prefix);
    add_parameter(l, name, outs, 0);
}

int64_t td_gpt_list_parameters(const td_gpt_config *c, td_parameter *out) {
    static const char *const part[] = {"norm1", "attention.qkv", "attention.projection", "norm2", "mlp.up", "mlp.down"};
    const int64_t ins[] = {0, c->C, c->C, 0, c->C, 4 * c->C}, outs[] = {c->C, 3 * c->C, c->C, c->C, 4 * c->C, c->C};
    char prefix[32];
    list l = {.out = out};
    add_parameter(&l, "token.weight", c->vocab * c->C, 1);
    add_parameter(&l, "position.weight", c->T_max * c->C, 1);
    for (int64_t block = 0; block < c->layers; block++)
        for (int i = 0; i < BLOCK_PARAMETERS / 2; i++) {
            snprintf(prefix, sizeof prefix, "block%d.%s", (int)block, part[i]);
            add_pair(&l, prefix, ins[i], outs[i]);
        }
    add_pair(&l, "norm", 0, c->C);
    add_pair(&l, "head", c->C, c->vocab);
    return l.elements;
}

/* Matrices are N(0, 0.02²), and the two that write into the residual stream smaller by 1/√(2·layers), so that the
 * stream's size does not grow with depth; biases 0, LayerNorm weights 1. Radford et al. 2019, §2.3. */
void td_gpt_first_values(const td_gpt_config *config, const td_parameter *p, int i, uint64_t seed, void *value,
                         td_dtype dtype) {
    td_tensor values = td_contiguous(value, dtype, 1, 1, 1, p->count);
    int ends_branch = strstr(p->name, "projection.weight") || strstr(p->name, "down.weight");
    double deviation = ends_branch ? 0.02 / sqrt(2.0 * (double)config->layers) : 0.02;
    double constant = strstr(p->name, "norm") && strstr(p->name, ".weight") ? 1.0 : 0.0;
#pragma omp parallel for if (p->decay && p->count > 1 << 14)
    for (int64_t k = 0; k < p->count; k++)
        td_store(&values, k, p->decay ? deviation * td_normal(seed, (uint64_t)i, (uint64_t)k) : constant);
}

static td_status check_size(const char *name, int64_t value, int64_t high, td_error *err) {
    if (value >= 1 && value <= high) return TD_OK;
    return td_fail(err, TD_BAD_PARAM, "%s = %lld: must be 1 to %lld", name, (long long)value, (long long)high);
}

td_status td_gpt_validate(const td_gpt_config *c, int64_t B_max, td_error *err) {
    td_status s;
    if ((s = check_size("layers", c->layers, 1 << 12, err)) || (s = check_size("heads", c->heads, 1 << 12, err)) ||
        (s = check_size("C", c->C, 1 << 16, err)) || (s = check_size("vocab", c->vocab, 1 << 24, err)) ||
        (s = check_size("T_max", c->T_max, 1 << 24, err)) || (s = check_size("B_max", B_max, 1 << 24, err)))
        return s;
    if (c->C % c->heads || c->C / c->heads > 256)
        return td_fail(err, TD_BAD_PARAM,
                       "C = %lld, heads = %lld: C must be a multiple of heads, C / heads at most 256", (long long)c->C,
                       (long long)c->heads);
    /* counted in double, which cannot overflow; up to 2^50 elements no 64-bit sum of bytes can either */
    double N = (double)B_max * (double)c->T_max, L = (double)c->layers, C = (double)c->C;
    double elements = L * (12 * C * C + N * (16 * C + (double)(c->heads * c->T_max))) + (N + C) * (double)c->vocab;
    if (!(elements <= 0x1p50))
        return td_fail(err, TD_BAD_PARAM, "B_max, T_max, layers, C, vocab: %.3g elements in all, must be at most 2^50",
                       elements);
    return TD_OK;
}

td_status td_gpt_check_batch(const td_gpt_config *config, int64_t B_max, const int32_t *tokens, const int32_t *targets,
                             int64_t B, int64_t T, int64_t *counted, td_error *err) {
    int64_t count = 0, vocab = config->vocab;
    if (B < 0 || B > B_max)
        return td_fail(err, TD_BAD_PARAM, "B = %lld: must be 0 to %lld", (long long)B, (long long)B_max);
    if (T < 0 || T > config->T_max)
        return td_fail(err, TD_BAD_PARAM, "T = %lld: must be 0 to %lld", (long long)T, (long long)config->T_max);
    for (int64_t n = 0; n < B * T; n++) {
        if (tokens[n] < 0 || tokens[n] >= vocab || targets[n] >= vocab)
            return td_fail(
                err, TD_BAD_PARAM,
                "sequence %lld, position %lld: token %d, target %d: a token must be 0 to %lld, a target less "
                "than that or negative (not counted)",
                (long long)(n / T), (long long)(n % T), tokens[n], targets[n], (long long)vocab - 1);
        count += targets[n] >= 0;
    }
    *counted = count;
    return TD_OK;
}
