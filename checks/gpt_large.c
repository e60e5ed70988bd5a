/* A large GPT at its first values: float32 and bf16 products beside each other. */
#include "gpt_large.h"
#include "tandem/philox.h"
#include <math.h>
#include <stdlib.h>

typedef struct batch {
    int32_t *tokens, *targets;
    int64_t B, T;
} batch;

/* The mean loss and all gradients of one forward and backward. */
static td_status evaluate(td_model *m, const batch *b, const td_engine *engine, double *loss, float *gradients,
                          td_error *err) {
    int64_t counted, elements = 0;
    td_status s;
    for (int i = 0; i < m->parameters; i++) elements += m->parameter[i].count;
    if ((s = m->zero_gradients(m->self, err)) ||
        (s = m->forward(m->self, b->tokens, b->targets, b->B, b->T, &counted, err)) ||
        (s = m->loss(m->self, loss, err)))
        return s;
    *loss /= (double)counted;
    if ((s = m->backward(m->self, 1.0 / (double)counted, NULL, NULL, err))) return s;
    return engine->download(gradients, m->parameter[0].gradient, (size_t)elements * sizeof *gradients, err);
}

static void compare(td_gpt_large *out, const td_model *m, const float *f32, const float *bf16) {
    out->distance = -1;
    for (int i = 0; i < m->parameters; f32 += m->parameter[i].count, bf16 += m->parameter[i].count, i++) {
        double apart = 0, size = 0;
        for (int64_t k = 0; k < m->parameter[i].count; k++) {
            apart += ((double)f32[k] - (double)bf16[k]) * ((double)f32[k] - (double)bf16[k]);
            size += (double)f32[k] * (double)f32[k];
        }
        double distance = sqrt(apart / size);
        if (!(distance <= out->distance)) {
            out->distance = distance;
            snprintf(out->where, sizeof out->where, "%s", m->parameter[i].name);
            if (!(distance <= out->distance)) return; /* NaN */
        }
    }
}

td_status td_gpt_large_run(td_gpt_large *out, const td_gpt_config *config, int64_t B, int64_t T,
                           td_status (*make)(td_model *, const td_gpt_config *, td_dtype, int64_t, uint64_t,
                                             const td_allocator *, td_error *),
                           const td_engine *engine, td_error *err) {
    static const td_dtype products[] = {TD_F32, TD_BF16};
    float *gradients[2] = {NULL, NULL};
    size_t N = (size_t)(B * T);
    batch b = {malloc(N * sizeof(int32_t) + 1), malloc(N * sizeof(int32_t) + 1), B, T};
    td_status s = b.tokens && b.targets ? TD_OK : td_fail(err, TD_NO_MEMORY, "large GPT: no memory on the host");
    for (size_t n = 0; !s && n < N; n++) {
        b.tokens[n] = (int32_t)((double)config->vocab * td_uniform(4, 0, n));
        b.targets[n] = (int32_t)((double)config->vocab * td_uniform(4, 1, n));
    }
    *out = (td_gpt_large){.expected = log((double)config->vocab) + 0.0002 * (double)config->C,
                          .loss_tolerance = 4 * 0.02 * sqrt((double)config->C / (double)N),
                          .distance_tolerance = 4 * sqrt(8.0 * (double)config->layers / 3) * td_unit_roundoff(TD_BF16)};
    for (int k = 0; !s && k < 2; k++) {
        td_model m;
        if ((s = make(&m, config, products[k], B, 1, NULL, err))) break;
        int64_t elements = 0;
        for (int i = 0; i < m.parameters; i++) elements += m.parameter[i].count;
        gradients[k] = malloc((size_t)elements * sizeof(float));
        s = gradients[k] ? evaluate(&m, &b, engine, &out->loss[k], gradients[k], err)
                         : td_fail(err, TD_NO_MEMORY, "large GPT: no memory on the host");
        if (!s && k == 1) compare(out, &m, gradients[0], gradients[1]);
        m.destroy(m.self);
    }
    free(b.tokens), free(b.targets), free(gradients[0]), free(gradients[1]);
    return s;
}
