/* All gradients have a place in one long buffer, in the order in which they become ready; a bucket is a range of it. */
#include "tandem/exercise/ddp.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct bucket {
    int64_t first, count; /* its elements in the buffer */
    int pending;          /* parameters of it that are not final yet */
    td_work *work;
} bucket;

struct exercise_ddp {
    td_comm *comm;
    const td_parameter *parameters;
    int n, buckets, started;
    int *uses_left, *bucket_of; /* by parameter; bucket -1: frozen */
    int64_t *place;             /* by parameter: where it lies in the buffer */
    float *buffer;
    bucket *bucket;
};

void exercise_ddp_delete(exercise_ddp *ddp) {
    if (!ddp) return;
    free(ddp->uses_left);
    free(ddp->bucket_of);
    free(ddp->place);
    free(ddp->buffer);
    free(ddp->bucket);
    free(ddp);
}

td_status exercise_ddp_new(exercise_ddp **out, td_comm *comm, const td_parameter *parameters, int n, size_t cap_bytes,
                           td_error *err) {
    exercise_ddp *ddp = calloc(1, sizeof *ddp);
    if (!ddp) return td_fail(err, TD_NO_MEMORY, "ddp");
    ddp->comm = comm, ddp->parameters = parameters, ddp->n = n;
    size_t room = (size_t)n + 1;
    ddp->uses_left = calloc(room, sizeof *ddp->uses_left);
    ddp->bucket_of = calloc(room, sizeof *ddp->bucket_of);
    ddp->place = calloc(room, sizeof *ddp->place);
    ddp->bucket = calloc(room, sizeof *ddp->bucket);
    if (!ddp->uses_left || !ddp->bucket_of || !ddp->place || !ddp->bucket) {
        exercise_ddp_delete(ddp);
        return td_fail(err, TD_NO_MEMORY, "plan of %d parameters", n);
    }
    int64_t total = 0;
    for (int i = n - 1; i >= 0; i--) {
        if (parameters[i].frozen) {
            ddp->bucket_of[i] = -1;
            continue;
        }
        int64_t count = parameters[i].count;
        bucket *last = ddp->buckets > 0 ? &ddp->bucket[ddp->buckets - 1] : NULL;
        if (!last || (size_t)(last->count + count) * sizeof(float) > cap_bytes) {
            last = &ddp->bucket[ddp->buckets++];
            last->first = total;
        }
        ddp->bucket_of[i] = ddp->buckets - 1;
        ddp->place[i] = total;
        last->count += count;
        total += count;
    }
    ddp->buffer = malloc((size_t)(total + 1) * sizeof(float));
    if (!ddp->buffer) {
        exercise_ddp_delete(ddp);
        return td_fail(err, TD_NO_MEMORY, "%lld gradients", (long long)total);
    }
    *out = ddp;
    return TD_OK;
}

td_status exercise_ddp_begin(exercise_ddp *ddp, td_error *err) {
    (void)err;
    ddp->started = 0;
    for (int k = 0; k < ddp->buckets; k++) ddp->bucket[k].pending = 0, ddp->bucket[k].work = NULL;
    for (int i = 0; i < ddp->n; i++) {
        ddp->uses_left[i] = ddp->parameters[i].uses;
        if (ddp->bucket_of[i] >= 0) ddp->bucket[ddp->bucket_of[i]].pending++;
    }
    return TD_OK;
}

static td_status start_bucket(exercise_ddp *ddp, int k, td_error *err) {
    bucket *b = &ddp->bucket[k];
    for (int i = 0; i < ddp->n; i++)
        if (ddp->bucket_of[i] == k)
            memcpy(ddp->buffer + ddp->place[i], ddp->parameters[i].gradient,
                   (size_t)ddp->parameters[i].count * sizeof(float));
    char label[32];
    snprintf(label, sizeof label, "bucket %d", k);
    td_call call = {TD_ALL_REDUCE, TD_F32, TD_SUM, 0, b->count, NULL, ddp->buffer + b->first, label};
    return ddp->comm->start(ddp->comm, &call, &b->work, err);
}

td_status exercise_ddp_ready(exercise_ddp *ddp, int parameter, td_error *err) {
    if (--ddp->uses_left[parameter] > 0) return TD_OK;
    ddp->bucket[ddp->bucket_of[parameter]].pending--;
    while (ddp->started < ddp->buckets && ddp->bucket[ddp->started].pending == 0) {
        td_status status = start_bucket(ddp, ddp->started, err);
        if (status != TD_OK) return status;
        ddp->started++;
    }
    return TD_OK;
}

td_status exercise_ddp_finish(exercise_ddp *ddp, double factor, td_error *err) {
    for (; ddp->started < ddp->buckets; ddp->started++) {
        td_status status = start_bucket(ddp, ddp->started, err);
        if (status != TD_OK) return status;
    }
    for (int k = 0; k < ddp->buckets; k++) {
        td_status status = ddp->comm->await(ddp->comm, ddp->bucket[k].work, err);
        if (status != TD_OK) return status;
    }
    for (int i = 0; i < ddp->n; i++) {
        if (ddp->bucket_of[i] < 0) continue;
        float *gradient = ddp->parameters[i].gradient;
        for (int64_t e = 0; e < ddp->parameters[i].count; e++)
            gradient[e] = (float)(factor * (double)ddp->buffer[ddp->place[i] + e]);
    }
    return TD_OK;
}

td_status exercise_ddp_factor(td_comm *comm, int64_t counted, double *factor, td_error *err) {
    double tokens = (double)counted;
    if (counted == 0) {
        *factor = 0;
        return TD_OK;
    }
    td_status status = td_comm_agree(comm, TD_SUM, &tokens, 1, "tokens", err);
    if (status != TD_OK) return status;
    *factor = tokens > 0 ? 1.0 / tokens : 0.0;
    return TD_OK;
}
