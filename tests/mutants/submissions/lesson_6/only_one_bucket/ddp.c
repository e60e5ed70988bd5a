#include "tandem/exercise/ddp.h"
#include <stdbool.h>
#include <stdlib.h>

/* A bucket holds parameters high, high - 1, ..., low (frozen ones between them are jumped over). */
typedef struct {
    int high, low;
    long long elements;
    float *data;
    td_work *work;
    bool sent;
} Bucket;

struct exercise_ddp {
    td_comm *comm;
    const td_parameter *p;
    int n;
    int *seen; /* announcements of each parameter in this step */
    Bucket *list;
    int length;
};

static bool takes_part(const exercise_ddp *ddp, int i) {
    return !ddp->p[i].frozen;
}

static bool is_final(const exercise_ddp *ddp, int i) {
    return ddp->seen[i] >= ddp->p[i].uses;
}

static bool is_complete(const exercise_ddp *ddp, const Bucket *b) {
    for (int i = b->high; i >= b->low; --i)
        if (takes_part(ddp, i) && !is_final(ddp, i)) return false;
    return true;
}

static td_status send(exercise_ddp *ddp, Bucket *b, td_error *err) {
    float *to = b->data;
    for (int i = b->high; i >= b->low; --i) {
        if (!takes_part(ddp, i)) continue;
        const float *from = ddp->p[i].gradient;
        for (int64_t e = 0; e < ddp->p[i].count; ++e) *to++ = from[e];
    }
    td_call call = {.what = TD_ALL_REDUCE,
                    .dtype = TD_F32,
                    .reduce = TD_SUM,
                    .count = b->elements,
                    .out = b->data,
                    .label = "gradients"};
    b->sent = true;
    return ddp->comm->start(ddp->comm, &call, &b->work, err);
}

static td_status receive(exercise_ddp *ddp, Bucket *b, double factor, td_error *err) {
    td_status status = ddp->comm->await(ddp->comm, b->work, err);
    if (status) return status;
    const float *from = b->data;
    for (int i = b->high; i >= b->low; --i) {
        if (!takes_part(ddp, i)) continue;
        float *to = ddp->p[i].gradient;
        for (int64_t e = 0; e < ddp->p[i].count; ++e) to[e] = (float)(*from++ * factor);
    }
    return TD_OK;
}

td_status exercise_ddp_new(exercise_ddp **out, td_comm *comm, const td_parameter *parameters, int n, size_t cap_bytes,
                           td_error *err) {
    exercise_ddp *ddp = calloc(1, sizeof *ddp);
    if (!ddp) return td_fail(err, TD_NO_MEMORY, "calloc");
    ddp->comm = comm;
    ddp->p = parameters;
    ddp->n = n;
    ddp->seen = calloc((size_t)n + 1, sizeof(int));
    ddp->list = calloc((size_t)n + 1, sizeof(Bucket));
    bool ok = ddp->seen && ddp->list;
    Bucket *open = NULL;
    for (int i = n - 1; ok && i >= 0; --i) {
        if (!takes_part(ddp, i)) continue;
        size_t bytes = (size_t)parameters[i].count * sizeof(float);
        bool fits = open != NULL && (bytes > 0 || cap_bytes > 0);
        if (!fits) {
            open = &ddp->list[ddp->length++];
            open->high = i;
        }
        open->low = i;
        open->elements += parameters[i].count;
    }
    for (int k = 0; ok && k < ddp->length; ++k) {
        ddp->list[k].data = malloc((size_t)(ddp->list[k].elements + 1) * sizeof(float));
        ok = ddp->list[k].data != NULL;
    }
    if (!ok) {
        exercise_ddp_delete(ddp);
        return td_fail(err, TD_NO_MEMORY, "buckets");
    }
    *out = ddp;
    return TD_OK;
}

td_status exercise_ddp_begin(exercise_ddp *ddp, td_error *err) {
    (void)err;
    for (int i = 0; i < ddp->n; ++i) ddp->seen[i] = 0;
    for (int k = 0; k < ddp->length; ++k) ddp->list[k].sent = false;
    return TD_OK;
}

td_status exercise_ddp_ready(exercise_ddp *ddp, int parameter, td_error *err) {
    ddp->seen[parameter]++;
    for (int k = 0; k < ddp->length; ++k) {
        Bucket *b = &ddp->list[k];
        if (b->sent) continue;
        if (!is_complete(ddp, b)) break; /* the order is everybody's: never overtake */
        td_status status = send(ddp, b, err);
        if (status) return status;
    }
    return TD_OK;
}

td_status exercise_ddp_finish(exercise_ddp *ddp, double factor, td_error *err) {
    for (int k = 0; k < ddp->length; ++k) {
        if (ddp->list[k].sent) continue;
        td_status status = send(ddp, &ddp->list[k], err);
        if (status) return status;
    }
    for (int k = 0; k < ddp->length; ++k) {
        td_status status = receive(ddp, &ddp->list[k], factor, err);
        if (status) return status;
    }
    return TD_OK;
}

void exercise_ddp_delete(exercise_ddp *ddp) {
    if (ddp == NULL) return;
    for (int k = 0; ddp->list && k < ddp->length; ++k) free(ddp->list[k].data);
    free(ddp->list);
    free(ddp->seen);
    free(ddp);
}

td_status exercise_ddp_factor(td_comm *comm, int64_t counted, double *factor, td_error *err) {
    double all = (double)counted;
    td_status status = td_comm_agree(comm, TD_SUM, &all, 1, "counted tokens", err);
    if (status) return status;
    if (all == 0)
        *factor = 0;
    else
        *factor = 1 / all;
    return TD_OK;
}
