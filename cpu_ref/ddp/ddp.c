/* Data parallelism: a step's bookkeeping, the same for every scheme. When a bucket is started is the scheme's to say;
 * what was announced, what is in flight and what must be refused stands here. */
#include "ddp_inside.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const td_ddp_scheme *const td_ddp_schemes[] = {&td_ddp_naive, &td_ddp_flat, &td_ddp_overlapped, &td_ddp_bucketed, NULL};

/* What goes wrong while backward runs is kept for finish; the first thing counts. */
static void keep(td_ddp *ddp, td_status status, const td_error *err) {
    if (status && !ddp->trouble.status) {
        ddp->trouble = *err;
        ddp->trouble.status = status;
    }
}

static td_status validate(const td_parameter *parameters, int n, td_error *err) {
    for (int i = 0; i < n; i++) {
        const td_parameter *p = &parameters[i];
        if (p->frozen) continue;
        if (p->count < 0 || (p->count > 0 && !p->gradient))
            return td_fail(err, TD_BAD_PARAM, "%s: count = %lld, gradient %s: must be 0 or more, with an array",
                           p->name, (long long)p->count, p->gradient ? "given" : "NULL");
        if ((unsigned)p->dtype >= (unsigned)TD_DTYPES)
            return td_fail(err, TD_BAD_PARAM, "%s: dtype = %d: must be f64, f32, bf16 or fp16", p->name, (int)p->dtype);
        if (p->uses < 1) return td_fail(err, TD_BAD_PARAM, "%s: uses = %d: must be 1 or more", p->name, p->uses);
        if (td_dtype_size(p->dtype) == 2 && p->count > 0 && !p->reduced)
            return td_fail(err, TD_BAD_PARAM, "%s: a %s gradient needs `reduced`, float32, for its sum", p->name,
                           td_dtype_name(p->dtype));
    }
    return TD_OK;
}

/* Where the bucket lies if its gradients follow one another in memory: backward's order is the reverse of memory's, so
 * each member ends where the one before it starts. NULL if they do not. */
static void *where_they_are(const td_ddp *ddp, const td_ddp_bucket_state *b) {
    char *start = NULL;
    for (int m = b->first; m < b->first + b->members; m++) {
        const td_parameter *p = &ddp->parameter[ddp->member[m]];
        if (p->count == 0) continue;
        size_t bytes = (size_t)p->count * td_dtype_size(p->dtype);
        if (p->dtype != b->dtype || (start && (char *)p->gradient + bytes != start)) return NULL;
        start = p->gradient;
    }
    return start;
}

static td_status place_buckets(td_ddp *ddp, td_error *err) {
    size_t bytes = 0;
    for (int k = 0; k < ddp->buckets; k++) {
        td_ddp_bucket_state *b = &ddp->bucket[k];
        const char *only = ddp->parameter[ddp->member[b->first]].name;
        if (b->members == 1)
            snprintf(b->label, sizeof b->label, "%.47s", only);
        else
            snprintf(b->label, sizeof b->label, "bucket %d", k);
        b->data = b->packed ? NULL : where_they_are(ddp, b);
        b->packed = !b->data && b->count > 0;
        if (b->packed) bytes += ((size_t)b->count * td_dtype_size(b->dtype) + 63) & ~(size_t)63;
    }
    if (bytes == 0) return TD_OK;
    ddp->packed = ddp->engine.allocator.alloc(ddp->engine.allocator.context, bytes, TD_MEM_COMMUNICATION);
    if (!ddp->packed) return td_fail(err, TD_NO_MEMORY, "buckets: no memory for %zu bytes", bytes);
    char *place = ddp->packed;
    for (int k = 0; k < ddp->buckets; k++) {
        td_ddp_bucket_state *b = &ddp->bucket[k];
        if (!b->packed) continue;
        b->data = place;
        place += ((size_t)b->count * td_dtype_size(b->dtype) + 63) & ~(size_t)63;
    }
    return TD_OK;
}

static td_status prepare(td_ddp *ddp, const td_ddp_config *config, td_error *err) {
    const td_ddp_config given = config ? *config : (td_ddp_config){0, 0};
    ddp->config.cap_bytes = given.cap_bytes ? given.cap_bytes : (size_t)25 << 20;
    ddp->config.first_cap_bytes = given.first_cap_bytes ? given.first_cap_bytes : ddp->config.cap_bytes;
    if ((ddp->comm->backend == TD_CUDA) != (ddp->engine.backend == TD_CUDA))
        return td_fail(err, TD_BAD_PARAM, "engine, comm: one is of the GPU, the other is not");
    if (ddp->parameters < 0) return td_fail(err, TD_BAD_PARAM, "n = %d: must be 0 or more", ddp->parameters);
    td_status status = validate(ddp->parameter, ddp->parameters, err);
    if (status) return status;
    size_t n = (size_t)ddp->parameters + 1; /* never 0 */
    ddp->bucket = calloc(n, sizeof *ddp->bucket);
    ddp->member = calloc(n, sizeof *ddp->member);
    ddp->bucket_of = calloc(n, sizeof *ddp->bucket_of);
    ddp->left = calloc(n, sizeof *ddp->left);
    ddp->prints = calloc(2 * n, sizeof *ddp->prints);
    if (!ddp->bucket || !ddp->member || !ddp->bucket_of || !ddp->left || !ddp->prints)
        return td_fail(err, TD_NO_MEMORY, "plan: no memory for %d parameters", ddp->parameters);
    if ((status = ddp->scheme->plan(ddp, err))) return status;
    return place_buckets(ddp, err);
}

td_status td_ddp_new(td_ddp **out, const td_ddp_scheme *scheme, td_comm *comm, const td_engine *engine,
                     td_parameter *parameters, int n, const td_ddp_config *config, td_error *err) {
    /* Every rank takes part in the comparison, whatever it met before: none is left waiting. */
    td_ddp nothing = {.comm = comm}, *ddp = calloc(1, sizeof *ddp);
    *out = NULL;
    if (!ddp) {
        td_fail(err, TD_NO_MEMORY, "data parallelism: no memory for %zu bytes", sizeof *ddp);
        return td_ddp_compare_plans(&nothing, TD_NO_MEMORY, err);
    }
    *ddp = (td_ddp){.scheme = scheme, .comm = comm, .engine = *engine, .parameter = parameters, .parameters = n};
    td_status status = td_ddp_compare_plans(ddp, prepare(ddp, config, err), err);
    if (status)
        td_ddp_delete(ddp);
    else
        *out = ddp;
    return status;
}

void td_ddp_delete(td_ddp *ddp) {
    if (!ddp) return;
    for (int k = 0; k < ddp->buckets; k++) td_ddp_await(ddp, k, NULL);
    if (ddp->packed) ddp->engine.allocator.free(ddp->engine.allocator.context, ddp->packed);
    free(ddp->bucket), free(ddp->member), free(ddp->bucket_of), free(ddp->left), free(ddp->prints);
    free(ddp);
}

td_status td_ddp_begin(td_ddp *ddp, td_error *err) {
    if (ddp->begun) return td_fail(err, TD_WRONG, "begin: the last step was not finished");
    if (ddp->broken) return td_fail(err, TD_WRONG, "begin: an all-reduce failed before: ranks are no longer in step");
    ddp->begun = 1;
    ddp->next = 0;
    for (int k = 0; k < ddp->buckets; k++) {
        td_ddp_bucket_state *b = &ddp->bucket[k];
        b->missing = b->members;
        b->started = b->landed = 0;
    }
    for (int i = 0; i < ddp->parameters; i++) ddp->left[i] = ddp->parameter[i].uses;
    return TD_OK;
}

static td_status announce(td_ddp *ddp, int i, td_error *err) {
    if (i < 0 || i >= ddp->parameters)
        return td_fail(err, TD_WRONG, "parameter %d announced: there are %d", i, ddp->parameters);
    const td_parameter *p = &ddp->parameter[i];
    if (p->frozen) return TD_OK;
    if (!ddp->begun)
        return td_fail(err, TD_WRONG, "%s announced before begin: only the last micro-batch announces", p->name);
    if (ddp->left[i] == 0)
        return td_fail(err, TD_WRONG, "%s announced once more than its %d use%s: its gradient may be in flight",
                       p->name, p->uses, p->uses == 1 ? "" : "s");
    if (--ddp->left[i] > 0) return TD_OK;
    ddp->bucket[ddp->bucket_of[i]].missing--;
    return ddp->scheme->ready ? ddp->scheme->ready(ddp, i, err) : TD_OK;
}

void td_ddp_ready(void *self, int parameter) {
    td_ddp *ddp = self;
    td_error err = {0};
    keep(ddp, announce(ddp, parameter, &err), &err);
}

td_status td_ddp_writable(const td_ddp *ddp, int parameter, td_error *err) {
    if (parameter < 0 || parameter >= ddp->parameters)
        return td_fail(err, TD_BAD_PARAM, "parameter = %d: must be 0 to %d", parameter, ddp->parameters - 1);
    int k = ddp->bucket_of[parameter];
    if (k < 0 || !ddp->begun || !ddp->bucket[k].started) return TD_OK;
    return td_fail(err, TD_WRONG,
                   "gradient of %s is in flight, in the all-reduce of %s: it may be written after finish",
                   ddp->parameter[parameter].name, ddp->bucket[k].label);
}

td_status td_ddp_finish(td_ddp *ddp, double factor, td_error *err) {
    td_error wrong = {0};
    if (!ddp->begun) {
        td_error early = ddp->trouble; /* announced without begin says more than this */
        ddp->trouble.status = TD_OK;
        return td_fail(err, TD_WRONG, "%s", early.status ? early.message : "finish: no step was begun");
    }
    if (!isfinite(factor)) keep(ddp, td_fail(&wrong, TD_BAD_PARAM, "factor = %g: must be finite", factor), &wrong);
    ddp->factor = factor;
    /* A wrong announcement is this rank's own trouble: it still takes part, so that no other rank waits for it. */
    keep(ddp, ddp->scheme->finish(ddp, &wrong), &wrong);
    for (int k = 0; k < ddp->buckets; k++) {
        keep(ddp, td_ddp_await(ddp, k, &wrong), &wrong);
        if (!ddp->trouble.status) keep(ddp, td_ddp_land(ddp, k, &wrong), &wrong);
    }
    ddp->begun = 0;
    td_error trouble = ddp->trouble;
    ddp->trouble.status = TD_OK;
    return trouble.status ? td_fail(err, trouble.status, "%s", trouble.message) : TD_OK;
}

int td_ddp_buckets(const td_ddp *ddp) {
    return ddp->buckets;
}

const int *td_ddp_bucket(const td_ddp *ddp, int k, int *count, size_t *bytes) {
    const td_ddp_bucket_state *b = &ddp->bucket[k];
    *count = b->members;
    *bytes = (size_t)b->count * td_dtype_size(b->dtype);
    return &ddp->member[b->first];
}

int td_ddp_bucket_packed(const td_ddp *ddp, int k) {
    return ddp->bucket[k].packed;
}
