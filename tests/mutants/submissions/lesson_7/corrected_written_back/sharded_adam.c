/* All parameters end to end in one long array, padded so that every rank owns a slice of the same length. */
#include "tandem/exercise/sharded_adam.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct exercise_adam {
    td_comm *comm;
    const td_parameter *parameters;
    int n;
    td_exercise_adam_config config;
    int64_t total, slice; /* elements of all parameters; of one rank, padding included */
    int64_t first, owned; /* what this rank owns: [first, first + owned), without padding */
    float *flat;          /* slice * ranks */
    float *mine;          /* slice */
    float *m, *v;         /* owned */
    int64_t step;
};

void exercise_adam_delete(exercise_adam *adam) {
    if (!adam) return;
    free(adam->flat);
    free(adam->mine);
    free(adam->m);
    free(adam->v);
    free(adam);
}

td_status exercise_adam_new(exercise_adam **out, td_comm *comm, const td_parameter *parameters, int n,
                            const td_exercise_adam_config *config, td_error *err) {
    exercise_adam *adam = calloc(1, sizeof *adam);
    if (!adam) return td_fail(err, TD_NO_MEMORY, "adam");
    adam->comm = comm, adam->parameters = parameters, adam->n = n, adam->config = *config;
    for (int i = 0; i < n; i++) adam->total += parameters[i].count;
    adam->slice = (adam->total + comm->ranks - 1) / comm->ranks;
    adam->first = adam->slice * comm->rank;
    if (adam->first > adam->total) adam->first = adam->total;
    adam->owned = adam->total - adam->first < adam->slice ? adam->total - adam->first : adam->slice;
    adam->flat = calloc((size_t)(adam->slice * comm->ranks + 1), sizeof(float));
    adam->mine = calloc((size_t)(adam->slice + 1), sizeof(float));
    adam->m = calloc((size_t)(adam->owned + 1), sizeof(float));
    adam->v = calloc((size_t)(adam->owned + 1), sizeof(float));
    if (!adam->flat || !adam->mine || !adam->m || !adam->v) {
        exercise_adam_delete(adam);
        return td_fail(err, TD_NO_MEMORY, "states");
    }
    *out = adam;
    return TD_OK;
}

static void update(exercise_adam *adam, float *value, const float *gradient, int64_t k, double decay) {
    const td_exercise_adam_config *c = &adam->config;
    double t = (double)adam->step, g = *gradient, p = *value;
    double m = c->beta1 * adam->m[k] + (1 - c->beta1) * g;
    double v = c->beta2 * adam->v[k] + (1 - c->beta2) * g * g;
    double m_hat = m / (1 - pow(c->beta1, t));
    double v_hat = v / (1 - pow(c->beta2, t));
    adam->m[k] = (float)m_hat;
    adam->v[k] = (float)v_hat;
    p -= c->lr * decay * p + c->lr * m_hat / (sqrt(v_hat) + c->eps);
    *value = (float)p;
}

td_status exercise_adam_step(exercise_adam *adam, td_error *err) {
    td_comm *comm = adam->comm;
    adam->step++;

    int64_t at = 0;
    for (int i = 0; i < adam->n; i++) {
        memcpy(adam->flat + at, adam->parameters[i].gradient, (size_t)adam->parameters[i].count * sizeof(float));
        at += adam->parameters[i].count;
    }
    memset(adam->flat + at, 0, (size_t)(adam->slice * comm->ranks - at) * sizeof(float));
    td_call scatter = {TD_REDUCE_SCATTER, TD_F32, TD_SUM, 0, adam->slice, adam->flat, adam->mine, "gradients"};
    td_status status = td_comm_run(comm, &scatter, err);
    if (status) return status;

    at = 0; /* where parameter i begins */
    for (int i = 0; i < adam->n; i++) {
        const td_parameter *p = &adam->parameters[i];
        for (int64_t e = 0; e < p->count; e++) {
            int64_t k = at + e - adam->first;
            if (k < 0 || k >= adam->owned) continue;
            float value = ((float *)p->value)[e];
            update(adam, &value, &adam->mine[k], k, p->decay ? adam->config.weight_decay : 0);
            adam->mine[k] = value;
        }
        at += p->count;
    }

    td_call gather = {TD_ALL_GATHER, TD_F32, TD_SUM, 0, adam->slice, adam->mine, adam->flat, "values"};
    status = td_comm_run(comm, &gather, err);
    if (status) return status;
    at = 0;
    for (int i = 0; i < adam->n; i++) {
        memcpy(adam->parameters[i].value, adam->flat + at, (size_t)adam->parameters[i].count * sizeof(float));
        at += adam->parameters[i].count;
    }
    return TD_OK;
}
