#include "tandem/exercise/ddp.h"
#include <stdlib.h>
#include <string.h>

typedef struct bucket {
    int first, last; /* parameters first, first - 1, ... last */
    int64_t count;
    float *data;
    int members; /* not frozen */
    int waiting; /* members that are not ready yet */
    td_work *work;
} bucket;

struct exercise_ddp {
    td_comm *comm;
    const td_parameter *parameter;
    int n;
    int buckets, next; /* next: the first bucket that has not been started */
    bucket *bucket;
    int *of;   /* the bucket of each parameter */
    int *left; /* uses still to come */
};

td_status exercise_ddp_new(exercise_ddp **out, td_comm *comm, const td_parameter *parameters, int n, size_t cap_bytes,
                           td_error *err) {
    *out = NULL;
    exercise_ddp *ddp = calloc(1, sizeof *ddp);
    if (!ddp) return td_fail(err, TD_NO_MEMORY, "no memory");
    ddp->comm = comm;
    ddp->parameter = parameters;
    ddp->n = n;
    ddp->bucket = calloc((size_t)n + 1, sizeof *ddp->bucket);
    ddp->of = calloc((size_t)n + 1, sizeof *ddp->of);
    ddp->left = calloc((size_t)n + 1, sizeof *ddp->left);
    if (!ddp->bucket || !ddp->of || !ddp->left) {
        exercise_ddp_delete(ddp);
        return td_fail(err, TD_NO_MEMORY, "no memory");
    }
    bucket *now = NULL;
    for (int i = n - 1; i >= 0; i--) {
        if (parameters[i].frozen) continue;
        size_t bytes = (size_t)parameters[i].count * sizeof(float);
        if (!now || (size_t)now->count * sizeof(float) + bytes > cap_bytes) {
            now = &ddp->bucket[ddp->buckets++];
            now->first = i;
        }
        now->last = i;
        now->count += parameters[i].count;
        now->members++;
        ddp->of[i] = ddp->buckets - 1;
    }
    for (int k = 0; k < ddp->buckets; k++) {
        ddp->bucket[k].data = malloc((size_t)(ddp->bucket[k].count + 1) * sizeof(float));
        if (!ddp->bucket[k].data) {
            exercise_ddp_delete(ddp);
            return td_fail(err, TD_NO_MEMORY, "no memory for a bucket");
        }
    }
    *out = ddp;
    return TD_OK;
}

td_status exercise_ddp_begin(exercise_ddp *ddp, td_error *err) {
    (void)err;
    ddp->next = 0;
    for (int i = 0; i < ddp->n; i++) ddp->left[i] = ddp->parameter[i].uses;
    for (int k = 0; k < ddp->buckets; k++) ddp->bucket[k].waiting = ddp->bucket[k].members;
    return TD_OK;
}

static td_status start(exercise_ddp *ddp, bucket *b, td_error *err) {
    float *to = b->data;
    for (int i = b->first; i >= b->last; i--) {
        const td_parameter *p = &ddp->parameter[i];
        if (p->frozen) continue;
        memcpy(to, p->gradient, (size_t)p->count * sizeof(float));
        to += p->count;
    }
    td_call call = {TD_ALL_REDUCE, TD_F32, TD_SUM, 0, b->count, NULL, b->data, "bucket"};
    return ddp->comm->start(ddp->comm, &call, &b->work, err);
}

td_status exercise_ddp_ready(exercise_ddp *ddp, int parameter, td_error *err) {
    if (--ddp->left[parameter] > 0) return TD_OK;
    ddp->bucket[ddp->of[parameter]].waiting--;
    while (ddp->next < ddp->buckets && ddp->bucket[ddp->next].waiting == 0) {
        td_status status = start(ddp, &ddp->bucket[ddp->next], err);
        if (status) return status;
        ddp->next++;
    }
    return TD_OK;
}

td_status exercise_ddp_finish(exercise_ddp *ddp, double factor, td_error *err) {
    for (; ddp->next < ddp->buckets; ddp->next++) {
        td_status status = start(ddp, &ddp->bucket[ddp->next], err);
        if (status) return status;
    }
    for (int k = 0; k < ddp->buckets; k++) {
        bucket *b = &ddp->bucket[k];
        td_status status = ddp->comm->await(ddp->comm, b->work, err);
        if (status) return status;
        const float *from = b->data;
        for (int i = b->first; i >= b->last; i--) {
            const td_parameter *p = &ddp->parameter[i];
            if (p->frozen) continue;
            float *g = p->gradient;
            for (int64_t e = 0; e < p->count; e++) g[e] = (float)(factor * from[e]);
            from += p->count;
        }
    }
    return TD_OK;
}

void exercise_ddp_delete(exercise_ddp *ddp) {
    if (!ddp) return;
    for (int k = 0; ddp->bucket && k < ddp->buckets; k++) free(ddp->bucket[k].data);
    free(ddp->bucket), free(ddp->of), free(ddp->left);
    free(ddp);
}

td_status exercise_ddp_factor(td_comm *comm, int64_t counted, double *factor, td_error *err) {
    double total = (double)counted;
    td_status status = td_comm_agree(comm, TD_SUM, &total, 1, "tokens", err);
    if (status) return status;
    *factor = total > 0 ? 1.0 / total : 0.0;
    return TD_OK;
}
