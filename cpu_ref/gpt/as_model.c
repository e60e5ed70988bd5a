/* The CPU's GPT behind the interface that data parallelism takes (model.h). */
#include "tandem/model.h"

typedef struct cpu_model {
    td_gpt *gpt;
    td_allocator allocator;
    double loss; /* of the last forward */
} cpu_model;

static td_status forward(void *self, const int32_t *tokens, const int32_t *targets, int64_t B, int64_t T,
                         int64_t *counted, td_error *err) {
    cpu_model *m = self;
    return td_gpt_forward(m->gpt, tokens, targets, B, T, &m->loss, counted, err);
}

static td_status loss(void *self, double *loss_sum, td_error *err) {
    (void)err;
    *loss_sum = ((cpu_model *)self)->loss;
    return TD_OK;
}

static td_status backward(void *self, double scale, td_gradient_ready ready, void *context, td_error *err) {
    return td_gpt_backward(((cpu_model *)self)->gpt, scale, ready, context, err);
}

static td_status zero_gradients(void *self, td_error *err) {
    (void)err;
    td_gpt_zero_gradients(((cpu_model *)self)->gpt);
    return TD_OK;
}

static void destroy(void *self) {
    cpu_model *m = self;
    td_gpt_delete(m->gpt);
    m->allocator.free(m->allocator.context, m);
}

td_status td_cpu_model(td_model *out, const td_gpt_config *config, td_dtype dtype, int64_t B_max, uint64_t seed,
                       const td_allocator *allocator, td_error *err) {
    td_gpt *gpt;
    td_status status = td_gpt_new(&gpt, config, dtype, B_max, seed, allocator, err);
    if (status) return status;
    cpu_model *m = allocator->alloc(allocator->context, sizeof *m, TD_MEM_WORKSPACE);
    if (!m) {
        td_gpt_delete(gpt);
        return td_fail(err, TD_NO_MEMORY, "model: no memory for %zu bytes", sizeof *m);
    }
    *m = (cpu_model){gpt, *allocator, 0};
    *out = (td_model){m,       dtype, *config,  td_gpt_parameters(gpt), td_gpt_parameter(gpt, 0),
                      forward, loss,  backward, zero_gradients,         destroy};
    return TD_OK;
}
