/* AdamW whose states are divided over ranks. All parameters, end to end, are cut into chunks, and each chunk into equal
 * slices, one a rank: a reduce-scatter gives each rank the sum of its slice's gradients, it updates the slice, and an
 * all-gather gives every rank the new values. Only one chunk is ever copied, so that what was saved on m and v is not
 * spent on copies. */
#include "tandem/exercise/sharded_adam.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SLICE = 16384 }; /* elements, at most */

struct exercise_adam {
    td_comm *comm;
    const td_parameter *parameter;
    int n;
    td_exercise_adam_config config;
    int64_t total; /* elements of all parameters */
    int64_t step;
    float *m, *v; /* of this rank's slices, one after another */
    float *chunk; /* room for one slice of each rank */
};

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* The slice of a rank in the chunk that begins at element `first`: equal for all, so that the last is padded. */
static int64_t slice_at(const exercise_adam *adam, int64_t first) {
    const int64_t ranks = adam->comm->ranks;
    return least(SLICE, (adam->total - first + ranks - 1) / ranks);
}

td_status exercise_adam_new(exercise_adam **out, td_comm *comm, const td_parameter *parameters, int n,
                            const td_exercise_adam_config *config, td_error *err) {
    exercise_adam *adam = calloc(1, sizeof *adam);
    *out = NULL;
    if (!adam) return td_fail(err, TD_NO_MEMORY, "no memory for Adam");
    adam->comm = comm, adam->parameter = parameters, adam->n = n, adam->config = *config;
    for (int i = 0; i < n; i++) adam->total += parameters[i].count;
    int64_t owned = 0;
    for (int64_t first = 0; first < adam->total; first += slice_at(adam, first) * comm->ranks)
        owned += slice_at(adam, first);
    adam->m = calloc((size_t)owned + 1, sizeof(float));
    adam->v = calloc((size_t)owned + 1, sizeof(float));
    adam->chunk = malloc((size_t)(slice_at(adam, 0) * comm->ranks + 1) * sizeof(float));
    if (!adam->m || !adam->v || !adam->chunk) {
        exercise_adam_delete(adam);
        return td_fail(err, TD_NO_MEMORY, "no memory for m and v");
    }
    *out = adam;
    return TD_OK;
}

void exercise_adam_delete(exercise_adam *adam) {
    if (!adam) return;
    free(adam->m), free(adam->v), free(adam->chunk);
    free(adam);
}

/* A run of elements that lie in one parameter, found among all elements. */
typedef struct run {
    const td_parameter *parameter;
    int64_t at, count; /* in the parameter; count 0: no element is left */
} run;

/* The run that begins with element `first`, of at most `most` elements. */
static run run_at(const exercise_adam *adam, int64_t first, int64_t most) {
    for (int i = 0; i < adam->n; i++) {
        const td_parameter *p = &adam->parameter[i];
        if (first < p->count) return (run){p, first, least(most, p->count - first)};
        first -= p->count;
    }
    return (run){NULL, 0, 0};
}

static void update(const exercise_adam *adam, const td_parameter *p, float *value, const float *gradient, float *m,
                   float *v, int64_t count) {
    const td_exercise_adam_config *c = &adam->config;
    const double correct_m = 1 - pow(c->beta1, (double)adam->step), correct_v = 1 - pow(c->beta2, (double)adam->step);
    const double decay = p->decay ? c->lr * c->weight_decay : 0;
    for (int64_t j = 0; j < count; j++) {
        const double g = gradient[j];
        m[j] = (float)(c->beta1 * m[j] + (1 - c->beta1) * g);
        v[j] = (float)(c->beta2 * v[j] + (1 - c->beta2) * g * g);
        const double step = c->lr * (m[j] / correct_m) / (sqrt(v[j] / correct_v) + c->eps);
        value[j] = (float)(value[j] - decay * value[j] - step);
    }
}

/* One chunk, of which this rank's states begin at `m` and `v`. */
static td_status step_chunk(exercise_adam *adam, int64_t first, int64_t slice, float *m, float *v, td_error *err) {
    td_comm *comm = adam->comm;
    float *chunk = adam->chunk, *own = chunk + comm->rank * slice;
    const int64_t own_first = first + comm->rank * slice, end = least(adam->total, first + slice * comm->ranks);
    memset(chunk, 0, (size_t)(slice * comm->ranks) * sizeof(float)); /* the padding too */
    for (int64_t e = first; e < end;) {
        const run r = run_at(adam, e, end - e);
        memcpy(chunk + (e - first), (float *)r.parameter->gradient + r.at, (size_t)r.count * sizeof(float));
        e += r.count;
    }
    const td_call scatter = {TD_REDUCE_SCATTER, TD_F32, TD_SUM, 0, slice, chunk, own, "gradients"};
    td_status status = td_comm_run(comm, &scatter, err);
    if (status) return status;

    for (int64_t e = own_first; e < least(end, own_first + slice);) {
        const run r = run_at(adam, e, least(end, own_first + slice) - e);
        const int64_t at = e - own_first;
        float *value = (float *)r.parameter->value + r.at;
        update(adam, r.parameter, value, own + at, m + at, v + at, r.count);
        memcpy(own + at, value, (size_t)r.count * sizeof(float));
        e += r.count;
    }
    const td_call gather = {TD_ALL_GATHER, TD_F32, TD_SUM, 0, slice, own, chunk, "values"};
    if ((status = td_comm_run(comm, &gather, err))) return status;
    for (int64_t e = first; e < end;) {
        const run r = run_at(adam, e, end - e);
        memcpy((float *)r.parameter->value + r.at, chunk + (e - first), (size_t)r.count * sizeof(float));
        e += r.count;
    }
    return TD_OK;
}

td_status exercise_adam_step(exercise_adam *adam, td_error *err) {
    td_status status = TD_OK;
    int64_t owned = 0;
    adam->step++;
    for (int64_t first = 0, slice; !status && first < adam->total; first += slice * adam->comm->ranks) {
        slice = slice_at(adam, first);
        status = step_chunk(adam, first, slice, adam->m + owned, adam->v + owned, err);
        owned += slice;
    }
    return status;
}
