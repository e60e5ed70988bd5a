/* Bucketed data parallelism. Each bucket has memory of its own, in which its parameters' gradients lie one after
 * another: they are copied there when the last of them is final, summed over ranks while backward goes on, and copied
 * back, scaled, when backward is over. */
#include "tandem/exercise/ddp.h"
#include <stdlib.h>
#include <string.h>

typedef struct bucket {
    int64_t count; /* elements, of all its parameters */
    float *data;
    int uses;      /* announcements that it takes until all its gradients are final */
    int missing;   /* of those, in this step */
    td_work *work; /* its all-reduce, once started */
    char label[32];
} bucket;

struct exercise_ddp {
    td_comm *comm;
    const td_parameter *parameter;
    int n;
    bucket *bucket;
    int buckets;
    int *bucket_of; /* of each parameter; −1: frozen */
    int64_t *place; /* where its elements begin in the bucket's data */
    int next;       /* the bucket to be started next: they are started in their own order, which all ranks share */
};

/* From the last parameter down: into the open bucket if it fits, else into a new one. */
static void plan(exercise_ddp *ddp, size_t cap_bytes) {
    bucket *open = NULL;
    for (int i = ddp->n - 1; i >= 0; i--) {
        const td_parameter *p = &ddp->parameter[i];
        ddp->bucket_of[i] = -1;
        if (p->frozen) continue;
        if (!open || (size_t)(open->count + p->count) * sizeof(float) > cap_bytes) {
            open = &ddp->bucket[ddp->buckets++];
            snprintf(open->label, sizeof open->label, "bucket %d", ddp->buckets - 1);
        }
        ddp->bucket_of[i] = (int)(open - ddp->bucket);
        ddp->place[i] = open->count;
        open->count += p->count;
        open->uses += p->uses;
    }
}

td_status exercise_ddp_new(exercise_ddp **out, td_comm *comm, const td_parameter *parameters, int n, size_t cap_bytes,
                           td_error *err) {
    exercise_ddp *ddp = calloc(1, sizeof *ddp);
    *out = NULL;
    if (!ddp) return td_fail(err, TD_NO_MEMORY, "no memory for the scheme");
    ddp->comm = comm, ddp->parameter = parameters, ddp->n = n;
    ddp->bucket = calloc((size_t)n + 1, sizeof *ddp->bucket); /* at most one a parameter */
    ddp->bucket_of = calloc((size_t)n + 1, sizeof *ddp->bucket_of);
    ddp->place = calloc((size_t)n + 1, sizeof *ddp->place);
    int enough = ddp->bucket && ddp->bucket_of && ddp->place;
    if (enough) plan(ddp, cap_bytes);
    for (int k = 0; enough && k < ddp->buckets; k++) {
        ddp->bucket[k].data = malloc((size_t)(ddp->bucket[k].count + 1) * sizeof(float));
        enough = ddp->bucket[k].data != NULL;
    }
    if (!enough) {
        exercise_ddp_delete(ddp);
        return td_fail(err, TD_NO_MEMORY, "no memory for the buckets");
    }
    *out = ddp;
    return TD_OK;
}

void exercise_ddp_delete(exercise_ddp *ddp) {
    if (!ddp) return;
    for (int k = 0; k < ddp->buckets; k++) free(ddp->bucket[k].data);
    free(ddp->bucket), free(ddp->bucket_of), free(ddp->place);
    free(ddp);
}

td_status exercise_ddp_begin(exercise_ddp *ddp, td_error *err) {
    (void)err;
    for (int k = 0; k < ddp->buckets; k++) ddp->bucket[k].missing = ddp->bucket[k].uses;
    ddp->next = 0;
    return TD_OK;
}

/* Pack the next bucket, and start its all-reduce. */
static td_status start_next(exercise_ddp *ddp, td_error *err) {
    const int k = ddp->next++;
    bucket *b = &ddp->bucket[k];
    for (int i = 0; i < ddp->n; i++) {
        const td_parameter *p = &ddp->parameter[i];
        if (ddp->bucket_of[i] != k || p->count == 0) continue;
        memcpy(b->data + ddp->place[i], p->gradient, (size_t)p->count * sizeof(float));
    }
    const td_call call = {TD_ALL_REDUCE, TD_F32, TD_SUM, 0, b->count, NULL, b->data, b->label};
    return ddp->comm->start(ddp->comm, &call, &b->work, err);
}

td_status exercise_ddp_ready(exercise_ddp *ddp, int parameter, td_error *err) {
    td_status status = TD_OK;
    ddp->bucket[ddp->bucket_of[parameter]].missing--;
    /* A bucket that is complete waits for those before it: a rank that skips a parameter must not change the order. */
    while (!status && ddp->next < ddp->buckets && ddp->bucket[ddp->next].missing == 0) status = start_next(ddp, err);
    return status;
}

td_status exercise_ddp_finish(exercise_ddp *ddp, double factor, td_error *err) {
    td_status status = TD_OK;
    while (!status && ddp->next < ddp->buckets) status = start_next(ddp, err);
    for (int k = 0; !status && k < ddp->buckets; k++) status = ddp->comm->await(ddp->comm, ddp->bucket[k].work, err);
    for (int i = 0; !status && i < ddp->n; i++) {
        if (ddp->bucket_of[i] < 0) continue;
        const float *sum = ddp->bucket[ddp->bucket_of[i]].data + ddp->place[i];
        float *gradient = ddp->parameter[i].gradient;
        for (int64_t j = 0; j < ddp->parameter[i].count; j++) gradient[j] = (float)(factor * sum[j]);
    }
    return status;
}

td_status exercise_ddp_factor(td_comm *comm, int64_t counted, double *factor, td_error *err) {
    double all = (double)counted;
    td_status status = td_comm_agree(comm, TD_SUM, &all, 1, "tokens", err);
    if (!status) *factor = all > 0 ? 1 / all : 0;
    return status;
}
