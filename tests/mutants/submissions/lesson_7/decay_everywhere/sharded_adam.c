/* Every parameter is cut into as many pieces as there are ranks, and every rank owns one of each. So that it is not
 * always the same rank that has the full pieces of small parameters, rank r owns piece (r + i) % ranks of parameter i.
 */
#include "tandem/exercise/sharded_adam.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Shard {
    int64_t piece;        /* elements in a full piece */
    int64_t begin, count; /* of mine, inside the parameter */
    float *m, *v;
} Shard;

struct exercise_adam {
    td_comm *comm;
    const td_parameter *p;
    int n;
    td_exercise_adam_config c;
    Shard *shard;
    float *whole, *part;
    double power1, power2; /* beta1^t, beta2^t */
};

/* Where the piece of rank r begins in parameter i, and how much of it there is. */
static int64_t piece_of(const exercise_adam *a, int i, int rank, int64_t *count) {
    int64_t piece = a->shard[i].piece, begin = piece * ((rank + i) % a->comm->ranks), left = a->p[i].count - begin;
    *count = left < 0 ? 0 : left < piece ? left : piece;
    return begin;
}

td_status exercise_adam_new(exercise_adam **out, td_comm *comm, const td_parameter *parameters, int n,
                            const td_exercise_adam_config *config, td_error *err) {
    exercise_adam *a = calloc(1, sizeof(*a));
    if (a == NULL) return td_fail(err, TD_NO_MEMORY, "no memory");
    a->comm = comm;
    a->p = parameters;
    a->n = n;
    a->c = *config;
    a->power1 = 1.0;
    a->power2 = 1.0;
    a->shard = calloc((size_t)n + 1, sizeof(Shard));
    int64_t largest = 0;
    int ok = a->shard != NULL;
    for (int i = 0; ok && i < n; i++) {
        Shard *s = &a->shard[i];
        s->piece = parameters[i].count / comm->ranks + (parameters[i].count % comm->ranks != 0);
        s->begin = piece_of(a, i, comm->rank, &s->count);
        if (s->piece > largest) largest = s->piece;
        if (s->count == 0) continue;
        s->m = calloc((size_t)s->count, sizeof(float));
        s->v = calloc((size_t)s->count, sizeof(float));
        ok = s->m && s->v;
    }
    a->whole = calloc((size_t)(largest * comm->ranks + 1), sizeof(float));
    a->part = calloc((size_t)(largest + 1), sizeof(float));
    if (!ok || !a->whole || !a->part) {
        exercise_adam_delete(a);
        return td_fail(err, TD_NO_MEMORY, "no memory for states");
    }
    *out = a;
    return TD_OK;
}

void exercise_adam_delete(exercise_adam *a) {
    if (a == NULL) return;
    for (int i = 0; a->shard && i < a->n; i++) {
        free(a->shard[i].m);
        free(a->shard[i].v);
    }
    free(a->shard);
    free(a->whole);
    free(a->part);
    free(a);
}

static td_status sum_gradient(exercise_adam *a, int i, td_error *err) {
    int64_t piece = a->shard[i].piece, count;
    const float *gradient = a->p[i].gradient;
    memset(a->whole, 0, (size_t)(piece * a->comm->ranks) * sizeof(float));
    for (int r = 0; r < a->comm->ranks; r++) {
        int64_t begin = piece_of(a, i, r, &count);
        if (count > 0) memcpy(a->whole + r * piece, gradient + begin, (size_t)count * sizeof(float));
    }
    td_call call = {TD_REDUCE_SCATTER, TD_F32, TD_SUM, 0, piece, a->whole, a->part, a->p[i].name};
    return td_comm_run(a->comm, &call, err);
}

static td_status share_value(exercise_adam *a, int i, td_error *err) {
    int64_t piece = a->shard[i].piece, count;
    td_call call = {TD_ALL_GATHER, TD_F32, TD_SUM, 0, piece, a->part, a->whole, a->p[i].name};
    td_status status = td_comm_run(a->comm, &call, err);
    if (status != TD_OK) return status;
    float *value = a->p[i].value;
    for (int r = 0; r < a->comm->ranks; r++) {
        int64_t begin = piece_of(a, i, r, &count);
        if (count > 0) memcpy(value + begin, a->whole + r * piece, (size_t)count * sizeof(float));
    }
    return TD_OK;
}

static void adamw(exercise_adam *a, int i) {
    Shard *s = &a->shard[i];
    const float *value = (const float *)a->p[i].value + s->begin;
    double decay = a->c.weight_decay;
    double correct1 = 1.0 / (1.0 - a->power1), correct2 = 1.0 / (1.0 - a->power2);
    for (int64_t e = 0; e < s->count; e++) {
        double g = a->part[e];
        double m = a->c.beta1 * s->m[e] + (1.0 - a->c.beta1) * g;
        double v = a->c.beta2 * s->v[e] + (1.0 - a->c.beta2) * (g * g);
        double w = value[e];
        w = w - a->c.lr * decay * w;
        w = w - a->c.lr * (m * correct1) / (sqrt(v * correct2) + a->c.eps);
        s->m[e] = (float)m;
        s->v[e] = (float)v;
        a->part[e] = (float)w;
    }
}

td_status exercise_adam_step(exercise_adam *a, td_error *err) {
    a->power1 *= a->c.beta1;
    a->power2 *= a->c.beta2;
    for (int i = 0; i < a->n; i++) {
        td_status status = sum_gradient(a, i, err);
        if (status != TD_OK) return status;
        adamw(a, i);
        status = share_value(a, i, err);
        if (status != TD_OK) return status;
    }
    return TD_OK;
}
