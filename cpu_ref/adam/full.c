/* Full Adam: one process holds m and v for every parameter. */
#include "tandem/adam.h"
#include <math.h>
#include <string.h>

struct td_adam {
    td_gpt *gpt;
    td_adam_config config;
    td_allocator allocator;
    int64_t steps;
    char *m, *v; /* every parameter's, one after another, in the parameters' dtype */
};

static td_status validate(const td_adam_config *c, td_error *err) {
    if (!(c->lr >= 0 && isfinite(c->lr))) return td_fail(err, TD_BAD_PARAM, "lr = %g: must be 0 or more", c->lr);
    if (!(c->beta1 >= 0 && c->beta1 < 1))
        return td_fail(err, TD_BAD_PARAM, "beta1 = %g: must be at least 0 and below 1", c->beta1);
    if (!(c->beta2 >= 0 && c->beta2 < 1))
        return td_fail(err, TD_BAD_PARAM, "beta2 = %g: must be at least 0 and below 1", c->beta2);
    if (!(c->eps > 0 && isfinite(c->eps))) return td_fail(err, TD_BAD_PARAM, "eps = %g: must be above 0", c->eps);
    if (!(c->weight_decay >= 0 && isfinite(c->weight_decay)))
        return td_fail(err, TD_BAD_PARAM, "weight_decay = %g: must be 0 or more", c->weight_decay);
    return TD_OK;
}

/* Bytes of the parameters before number i; of all of them for i = their number. */
static size_t bytes_before(td_gpt *gpt, int i) {
    int64_t count = 0;
    while (i-- > 0) count += td_gpt_parameter(gpt, i)->count;
    return (size_t)count * td_dtype_size(td_gpt_dtype(gpt));
}

td_status td_adam_new(td_adam **out, td_gpt *gpt, const td_adam_config *config, const td_allocator *allocator,
                      td_error *err) {
    *out = NULL;
    td_status status = validate(config, err);
    if (status) return status;
    size_t bytes = bytes_before(gpt, td_gpt_parameters(gpt));
    td_adam *adam = allocator->alloc(allocator->context, sizeof *adam, TD_MEM_WORKSPACE);
    char *m = allocator->alloc(allocator->context, 2 * bytes, TD_MEM_OPTIMIZER);
    if (!adam || !m) {
        if (adam) allocator->free(allocator->context, adam);
        if (m) allocator->free(allocator->context, m);
        return td_fail(err, TD_NO_MEMORY, "Adam: no memory for %zu bytes of m and v", 2 * bytes);
    }
    memset(m, 0, 2 * bytes);
    *adam = (td_adam){.gpt = gpt, .config = *config, .allocator = *allocator, .m = m, .v = m + bytes};
    *out = adam;
    return TD_OK;
}

void td_adam_delete(td_adam *adam) {
    if (!adam) return;
    td_allocator allocator = adam->allocator;
    allocator.free(allocator.context, adam->m);
    allocator.free(allocator.context, adam);
}

static td_status check_finite(td_gpt *gpt, td_error *err) {
    for (int i = 0; i < td_gpt_parameters(gpt); i++) {
        const td_parameter *p = td_gpt_parameter(gpt, i);
        td_tensor gradient = td_contiguous(p->gradient, td_gpt_dtype(gpt), 1, 1, 1, p->count);
        for (int64_t k = 0; k < p->count; k++)
            if (!isfinite(td_load(&gradient, k)))
                return td_fail(err, TD_WRONG, "gradient of %s, element %lld, is %g: step refused", p->name,
                               (long long)k, td_load(&gradient, k));
    }
    return TD_OK;
}

void td_adam_state(td_adam *adam, int i, void **m, void **v) {
    size_t offset = bytes_before(adam->gpt, i);
    *m = adam->m + offset;
    *v = adam->v + offset;
}

td_status td_adam_step(td_adam *adam, td_error *err) {
    td_status status = check_finite(adam->gpt, err);
    if (status) return status;
    adam->steps++;
    for (int i = 0; i < td_gpt_parameters(adam->gpt); i++) {
        td_parameter *p = td_gpt_parameter(adam->gpt, i);
        void *m, *v;
        td_adam_state(adam, i, &m, &v);
        td_adam_update(td_gpt_dtype(adam->gpt), p->count, p->value, p->gradient, m, v, &adam->config,
                       p->decay ? adam->config.weight_decay : 0, adam->steps);
    }
    return TD_OK;
}

int64_t td_adam_steps(const td_adam *adam) {
    return adam->steps;
}
