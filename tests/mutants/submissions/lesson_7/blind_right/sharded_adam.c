#include "tandem/exercise/sharded_adam.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* All parameters end to end are cut into chunks; of each chunk every rank owns a slice. */
enum { SLICE = 2048 };

struct exercise_adam {
    td_comm *comm;
    const td_parameter *parameter;
    int n;
    td_exercise_adam_config config;
    int64_t step, total;
    float *m, *v;        /* of the own slices, one after another */
    float *chunk, *mine; /* a chunk, a slice */
};

td_status exercise_adam_new(exercise_adam **out, td_comm *comm, const td_parameter *parameters, int n,
                            const td_exercise_adam_config *config, td_error *err) {
    *out = NULL;
    exercise_adam *adam = calloc(1, sizeof *adam);
    if (!adam) return td_fail(err, TD_NO_MEMORY, "no memory");
    adam->comm = comm;
    adam->parameter = parameters;
    adam->n = n;
    adam->config = *config;
    for (int i = 0; i < n; i++) adam->total += parameters[i].count;
    size_t own = (size_t)(adam->total / comm->ranks + 2);
    adam->m = calloc(own, sizeof(float));
    adam->v = calloc(own, sizeof(float));
    adam->chunk = malloc((size_t)comm->ranks * SLICE * sizeof(float));
    adam->mine = malloc(SLICE * sizeof(float));
    if (!adam->m || !adam->v || !adam->chunk || !adam->mine) {
        exercise_adam_delete(adam);
        return td_fail(err, TD_NO_MEMORY, "no memory");
    }
    *out = adam;
    return TD_OK;
}

/* Copy elements [first, first + count) of all parameters, end to end, from gradients to `buffer`, or from it to values.
 */
static void copy(exercise_adam *adam, int64_t first, int64_t count, float *buffer, int to_values) {
    int64_t start = 0;
    for (int i = 0; i < adam->n; i++) {
        const td_parameter *p = &adam->parameter[i];
        int64_t lo = first > start ? first : start;
        int64_t hi = first + count < start + p->count ? first + count : start + p->count;
        if (lo < hi) {
            size_t bytes = (size_t)(hi - lo) * sizeof(float);
            if (to_values)
                memcpy((float *)p->value + (lo - start), buffer + (lo - first), bytes);
            else
                memcpy(buffer + (lo - first), (const float *)p->gradient + (lo - start), bytes);
        }
        start += p->count;
    }
}

/* Update elements [first, first + count), whose gradients stand in `g`, and leave the new values there. */
static void update(exercise_adam *adam, int64_t first, int64_t count, float *g, float *m, float *v) {
    const td_exercise_adam_config *c = &adam->config;
    double c1 = 1.0 - pow(c->beta1, (double)adam->step);
    double c2 = 1.0 - pow(c->beta2, (double)adam->step);
    int64_t start = 0;
    for (int i = 0; i < adam->n; i++) {
        const td_parameter *p = &adam->parameter[i];
        double decay = p->decay ? c->weight_decay : 0.0;
        const float *value = p->value;
        int64_t lo = first > start ? first : start;
        int64_t hi = first + count < start + p->count ? first + count : start + p->count;
        for (int64_t e = lo; e < hi; e++) {
            int64_t k = e - first;
            double old = value[e - start];
            m[k] = (float)(c->beta1 * m[k] + (1.0 - c->beta1) * g[k]);
            v[k] = (float)(c->beta2 * v[k] + (1.0 - c->beta2) * g[k] * g[k]);
            double m_hat = m[k] / c1;
            double v_hat = v[k] / c2;
            g[k] = (float)(old - c->lr * decay * old - c->lr * m_hat / (sqrt(v_hat) + c->eps));
        }
        start += p->count;
    }
}

td_status exercise_adam_step(exercise_adam *adam, td_error *err) {
    td_comm *comm = adam->comm;
    int64_t done = 0, owned = 0;
    adam->step++;
    while (done < adam->total) {
        int64_t rest = adam->total - done;
        int64_t slice = (rest + comm->ranks - 1) / comm->ranks;
        if (slice > SLICE) slice = SLICE;
        int64_t whole = slice * comm->ranks;
        int64_t used = whole < rest ? whole : rest;
        memset(adam->chunk, 0, (size_t)whole * sizeof(float));
        copy(adam, done, used, adam->chunk, 0);
        td_call reduce = {TD_REDUCE_SCATTER, TD_F32, TD_SUM, 0, slice, adam->chunk, adam->mine, "gradients"};
        td_status status = td_comm_run(comm, &reduce, err);
        if (status) return status;
        int64_t first = slice * comm->rank;
        int64_t count = used - first < slice ? used - first : slice;
        if (count < 0) count = 0;
        update(adam, done + first, count, adam->mine, adam->m + owned, adam->v + owned);
        td_call gather = {TD_ALL_GATHER, TD_F32, TD_SUM, 0, slice, adam->mine, adam->chunk, "values"};
        status = td_comm_run(comm, &gather, err);
        if (status) return status;
        copy(adam, done, used, adam->chunk, 1);
        owned += count;
        done += used;
    }
    return TD_OK;
}

void exercise_adam_delete(exercise_adam *adam) {
    if (!adam) return;
    free(adam->m), free(adam->v), free(adam->chunk), free(adam->mine);
    free(adam);
}
