/* The bound of a whole GPT, tried in double. */
#include "gpt_bound.h"
#include "../cpu_ref/gpt/parameters.h"
#include "memory.h"
#include "tandem/philox.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRIALS = 4, LAMBDA = 4 };

/* The double model with values · (1 + s·z): its loss, and its gradients into b->gradient or out. */
static td_status evaluate(const td_gpt_bound *b, td_gpt *gpt, double s, uint64_t trial, double *loss, double *gradient,
                          td_error *err) {
    const float *value = b->values;
    int64_t counted;
    for (int i = 0; i < b->parameters; i++) {
        double *to = td_gpt_parameter(gpt, i)->value;
        for (int64_t k = 0; k < b->parameter[i].count; k++)
            to[k] = (double)*value++ * (s > 0 ? 1 + s * td_normal(20 + trial, (uint64_t)i, (uint64_t)k) : 1);
    }
    td_gpt_zero_gradients(gpt);
    td_status status = td_gpt_forward(gpt, b->tokens, b->targets, b->B, b->T, loss, &counted, err);
    if (!status) status = td_gpt_backward(gpt, b->scale, NULL, NULL, err);
    for (int i = 0; !status && i < b->parameters; i++) {
        memcpy(gradient, td_gpt_parameter(gpt, i)->gradient, (size_t)b->parameter[i].count * sizeof *gradient);
        gradient += b->parameter[i].count;
    }
    return status;
}

static double distance(const double *a, const double *b, int64_t n) {
    double sum = 0;
    for (int64_t k = 0; k < n; k++) sum += (a[k] - b[k]) * (a[k] - b[k]);
    return sqrt(sum);
}

static td_status try_changes(td_gpt_bound *b, td_gpt *gpt, td_dtype products, double *tried, td_error *err) {
    int64_t longest = 4 * b->config.C, N = b->B * b->T;
    if (longest < b->config.vocab) longest = b->config.vocab;
    if (longest < N) longest = N;
    double loss;
    b->change =
        products == TD_BF16 ? td_unit_roundoff(TD_BF16) : sqrt((double)longest / 6.0) * td_unit_roundoff(TD_F32);
    td_status status = evaluate(b, gpt, 0, 0, &b->loss, b->gradient, err);
    for (uint64_t r = 0; !status && r < TRIALS; r++) {
        int64_t at = 0;
        if ((status = evaluate(b, gpt, b->change, r, &loss, tried, err))) return status;
        b->loss_tolerance = fmax(b->loss_tolerance, LAMBDA * fabs(loss - b->loss));
        for (int i = 0; i < b->parameters; at += b->parameter[i++].count)
            b->gradient_tolerance[i] =
                fmax(b->gradient_tolerance[i], LAMBDA * distance(tried + at, b->gradient + at, b->parameter[i].count));
    }
    return status;
}

/* First values plus N(0, 1.1²/C): attention and the prediction are no longer all but uniform. */
static void fill(td_gpt_bound *b, uint64_t seed) {
    const td_gpt_config *c = &b->config;
    float *value = b->values;
    for (int i = 0; i < b->parameters; value += b->parameter[i++].count) {
        td_gpt_first_values(c, &b->parameter[i], i, seed, value, TD_F32);
        for (int64_t k = 0; k < b->parameter[i].count; k++)
            value[k] += (float)(1.1 / sqrt((double)c->C) * td_normal(2, (uint64_t)i, (uint64_t)k));
    }
    for (int64_t n = 0; n < b->B * b->T; n++) {
        b->tokens[n] = (int32_t)((double)c->vocab * td_uniform(4, 0, (uint64_t)n));
        b->targets[n] = n % 7 == 3 ? -1 : (int32_t)((double)c->vocab * td_uniform(4, 1, (uint64_t)n));
    }
}

td_status td_gpt_bound_new(td_gpt_bound **out, const td_gpt_config *config, int64_t B, int64_t T, uint64_t seed,
                           td_dtype products, td_error *err) {
    td_allocator plain = td_plain_allocator();
    td_gpt *gpt = NULL;
    *out = NULL;
    td_status status = td_gpt_new(&gpt, config, TD_F64, B > 0 ? B : 1, seed, &plain, err);
    if (status) return status;
    td_gpt_bound *b = calloc(1, sizeof *b);
    double *tried = NULL;
    if (b) {
        size_t parameters = (size_t)td_gpt_parameters(gpt), N = (size_t)(B * T);
        b->config = *config, b->B = B, b->T = T, b->scale = N ? 1.0 / (double)N : 1;
        b->parameters = (int)parameters;
        b->parameter = calloc(parameters, sizeof *b->parameter);
        b->gradient_tolerance = calloc(parameters, sizeof *b->gradient_tolerance);
        b->elements = td_gpt_list_parameters(config, b->parameter);
        b->values = malloc((size_t)b->elements * sizeof *b->values);
        b->gradient = malloc((size_t)b->elements * sizeof *b->gradient);
        b->tokens = malloc(N * sizeof *b->tokens + 1), b->targets = malloc(N * sizeof *b->targets + 1);
        tried = malloc((size_t)b->elements * sizeof *tried);
    }
    if (!tried || !b->parameter || !b->gradient_tolerance || !b->values || !b->gradient || !b->tokens || !b->targets)
        status = td_fail(err, TD_NO_MEMORY, "bound: no memory on the host");
    if (!status) fill(b, seed);
    if (!status) status = try_changes(b, gpt, products, tried, err);
    free(tried);
    td_gpt_delete(gpt);
    if (status)
        td_gpt_bound_delete(b);
    else
        *out = b;
    return status;
}

void td_gpt_bound_delete(td_gpt_bound *b) {
    if (!b) return;
    free(b->tokens), free(b->targets), free(b->values), free(b->gradient), free(b->parameter);
    free(b->gradient_tolerance), free(b);
}

td_status td_gpt_bound_run(const td_gpt_bound *b, td_model *model, const td_engine *engine, const float *values,
                           double *loss, float *gradients, td_error *err) {
    int64_t counted;
    size_t bytes = (size_t)b->elements * sizeof *values;
    td_status s;
    if ((s = engine->upload(model->parameter[0].value, values, bytes, err)) ||
        (s = model->zero_gradients(model->self, err)) ||
        (s = model->forward(model->self, b->tokens, b->targets, b->B, b->T, &counted, err)) ||
        (s = model->loss(model->self, loss, err)) || (s = model->backward(model->self, b->scale, NULL, NULL, err)))
        return s;
    return engine->download(gradients, model->parameter[0].gradient, bytes, err);
}

double td_gpt_bound_worst(const td_gpt_bound *b, double loss, const float *gradients, const char **where) {
    double worst = fabs(loss - b->loss) / b->loss_tolerance;
    *where = "loss";
    int64_t at = 0;
    for (int i = 0; i < b->parameters; i++) {
        double sum = 0;
        for (int64_t k = 0; k < b->parameter[i].count; k++, at++)
            sum += ((double)gradients[at] - b->gradient[at]) * ((double)gradients[at] - b->gradient[at]);
        double ratio = sqrt(sum) / b->gradient_tolerance[i];
        if (!(ratio <= worst)) worst = ratio, *where = b->parameter[i].name;
        if (!(ratio <= worst)) break; /* NaN: nothing is worse */
    }
    return worst;
}

float td_to_tf32(float x) {
    if (x == 0) return 0;
    float ulp = ldexpf(1, ilogbf(x) - 10);
    return rintf(x / ulp) * ulp;
}
