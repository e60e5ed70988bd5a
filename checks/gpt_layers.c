/* A check of one layer: inputs made, the double operation and its trials, the device's run, and their distance. */
#include "gpt_layers.h"
#include "gpt_layer_rig.h"
#include "tandem/philox.h"
#include <math.h>
#include <stdlib.h>

enum { TRIALS = 4, LAMBDA = 4, SEED = 31, MOST = 160 };

/* Everything allocated for a check, on the host and on the device, freed together. */
typedef struct holder {
    const td_device *device;
    void *host[MOST], *on_device[MOST];
    int hosts, devices;
    td_status status;
    td_error *err;
} holder;

static void *hold_host(holder *h, size_t bytes) {
    void *p = h->status || h->hosts == MOST ? NULL : calloc(1, bytes + 1);
    if (p) return h->host[h->hosts++] = p;
    if (!h->status) h->status = td_fail(h->err, TD_NO_MEMORY, "layer: no memory for %zu bytes on the host", bytes);
    return NULL;
}

static void *hold_device(holder *h, size_t bytes, td_tag tag) {
    const td_allocator *a = &h->device->allocator;
    void *p = h->status || h->devices == MOST ? NULL : a->alloc(a->context, bytes, tag);
    if (p) return h->on_device[h->devices++] = p;
    if (!h->status) h->status = td_fail(h->err, TD_NO_MEMORY, "layer: no memory for %zu bytes on the device", bytes);
    return NULL;
}

static void release(holder *h) {
    for (int i = 0; i < h->hosts; i++) free(h->host[i]);
    for (int i = 0; i < h->devices; i++) h->device->allocator.free(h->device->allocator.context, h->on_device[i]);
}

static double *doubles(holder *h, int64_t count) {
    return hold_host(h, (size_t)count * sizeof(double));
}

/* `count` values into device memory of a dtype, or back. */
static void upload(holder *h, void *to, const double *from, const td_layer_array *a) {
    size_t bytes = (size_t)a->count * td_dtype_size(a->dtype);
    void *host = hold_host(h, bytes);
    if (h->status) return;
    td_tensor view = td_contiguous(host, a->dtype, 1, 1, 1, a->count);
    for (int64_t k = 0; k < a->count; k++) td_store(&view, k, from[k]);
    h->status = h->device->upload(to, host, bytes, h->err);
}

static void download(holder *h, double *to, const void *from, const td_layer_array *a) {
    size_t bytes = (size_t)a->count * td_dtype_size(a->dtype);
    void *host = hold_host(h, bytes);
    if (h->status || (h->status = h->device->download(host, from, bytes, h->err))) return;
    td_tensor view = td_contiguous(host, a->dtype, 1, 1, 1, a->count);
    for (int64_t k = 0; k < a->count; k++) to[k] = td_load(&view, k);
}

static void make_inputs(holder *h, const td_layer_rig *r, double **in) {
    for (int i = 0; i < r->inputs; i++) {
        if (!(in[i] = doubles(h, r->in[i].count))) return;
        for (int64_t k = 0; k < r->in[i].count; k++)
            in[i][k] = td_round_to(r->in[i].mean + td_normal(SEED, (uint64_t)i, (uint64_t)k), r->in[i].dtype);
    }
}

static void make_batch(holder *h, td_layer_rig *r) {
    size_t bytes = (size_t)r->N * sizeof(int32_t);
    int32_t *tokens = hold_host(h, bytes), *targets = hold_host(h, bytes);
    void *on_device[2] = {hold_device(h, bytes, TD_MEM_DATA), hold_device(h, bytes, TD_MEM_DATA)};
    if (h->status) return;
    for (int64_t n = 0; n < r->N; n++) { /* among half of the vocabulary, so that tokens repeat */
        tokens[n] = (int32_t)((double)(r->s.vocab + 1) / 2 * td_uniform(SEED, 100, (uint64_t)n));
        targets[n] = n % 5 == 2 ? -1 : (int32_t)((double)r->s.vocab * td_uniform(SEED, 101, (uint64_t)n));
    }
    h->status = h->device->upload(on_device[0], tokens, bytes, h->err);
    if (!h->status) h->status = h->device->upload(on_device[1], targets, bytes, h->err);
    r->tokens = tokens, r->targets = targets;
    r->device_tokens = on_device[0], r->device_targets = on_device[1];
}

/* The double operation on inputs times 1 + s·z. */
static void evaluate(holder *h, td_layer_rig *r, const td_layer *layer, double *const *exact, double s, uint64_t trial,
                     double **out) {
    double *in[TD_LAYER_ARRAYS];
    for (int i = 0; i < r->inputs; i++) {
        if (!(in[i] = doubles(h, r->in[i].count))) return;
        for (int64_t k = 0; k < r->in[i].count; k++)
            in[i][k] = exact[i][k] * (s > 0 ? 1 + s * td_normal(50 + trial, (uint64_t)i, (uint64_t)k) : 1);
    }
    for (int i = 0; i < r->outputs; i++) {
        if (!(out[i] = doubles(h, r->out[i].count))) return;
        for (int64_t k = 0; r->out[i].from >= 0 && k < r->out[i].count; k++) out[i][k] = in[r->out[i].from][k];
    }
    if (!(r->scratch_host = doubles(h, r->scratch))) return;
    layer->reference(r, in, out);
}

static void run(holder *h, td_layer_rig *r, const td_layer *layer, double *const *exact, double **got) {
    void *in[TD_LAYER_ARRAYS], *out[TD_LAYER_ARRAYS];
    for (int i = 0; i < r->inputs; i++) {
        in[i] = hold_device(h, (size_t)r->in[i].count * td_dtype_size(r->in[i].dtype), TD_MEM_DATA);
        upload(h, in[i], exact[i], &r->in[i]);
    }
    for (int i = 0; i < r->outputs && !h->status; i++) {
        size_t bytes = (size_t)r->out[i].count * td_dtype_size(r->out[i].dtype);
        if (!(out[i] = hold_device(h, bytes, TD_MEM_DATA))) return;
        if (r->out[i].from >= 0)
            upload(h, out[i], exact[r->out[i].from], &r->out[i]);
        else
            h->status = h->device->poison(out[i], bytes, h->err);
    }
    r->scratch_device = hold_device(h, (size_t)r->scratch * sizeof(float), TD_MEM_WORKSPACE);
    void *workspace = hold_device(h, TD_PRODUCTS_WORKSPACE, TD_MEM_WORKSPACE);
    if (!h->status) h->status = r->layers->products_new(&r->products, workspace, TD_PRODUCTS_WORKSPACE, h->err);
    if (h->status) return;
    h->status = layer->run(r, in, out, h->err);
    for (int i = 0; i < r->outputs && !h->status; i++)
        if ((got[i] = doubles(h, r->out[i].count))) download(h, got[i], out[i], &r->out[i]);
    r->layers->products_delete(r->products);
}

static double distance(const double *a, const double *b, int64_t n) {
    double sum = 0;
    for (int64_t k = 0; k < n; k++) sum += (a[k] - (b ? b[k] : 0)) * (a[k] - (b ? b[k] : 0));
    return sqrt(sum);
}

static void judge(const td_layer_rig *r, double *const *want, double *trial[TRIALS][TD_LAYER_ARRAYS],
                  double *const *got, double *worst, const char **where) {
    *worst = -1, *where = "";
    for (int i = 0; i < r->outputs; i++) {
        int64_t n = r->out[i].count;
        double moved = 0;
        for (int t = 0; t < TRIALS; t++) moved = fmax(moved, distance(trial[t][i], want[i], n));
        double tolerance = LAMBDA * moved;
        if (r->out[i].dtype == TD_BF16) tolerance += td_unit_roundoff(TD_BF16) * distance(want[i], NULL, n);
        double ratio = distance(got[i], want[i], n) / tolerance;
        if (!(ratio <= *worst)) *worst = ratio, *where = r->out[i].name;
        if (!(ratio <= *worst)) return; /* NaN: nothing is worse */
    }
}

const char *td_layer_name(int i) {
    return td_layer_list[i].name;
}

td_status td_layer_check(int i, const td_gpt_layers *layers, const td_device *device, const td_layer_shape *shape,
                         td_dtype factor, double *worst, const char **where, td_error *err) {
    const td_layer *layer = &td_layer_list[i];
    holder h = {.device = device, .err = err};
    td_layer_rig r = {.s = *shape,
                      .N = shape->B * shape->T,
                      .C = shape->heads * shape->d,
                      .factor = factor,
                      .layers = layers,
                      .stream = device->stream};
    double *in[TD_LAYER_ARRAYS] = {0}, *want[TD_LAYER_ARRAYS] = {0}, *got[TD_LAYER_ARRAYS] = {0};
    double *trial[TRIALS][TD_LAYER_ARRAYS] = {{0}};
    *worst = 0, *where = "";
    layer->plan(&r);
    if (r.outputs == 0)
        return td_fail(err, TD_UNSUPPORTED, "%s: nothing to do with %s factors", layer->name, td_dtype_name(factor));
    double s = sqrt((double)(r.longest > 24 ? r.longest : 24) / 6) * td_unit_roundoff(TD_F32);
    make_inputs(&h, &r, in);
    make_batch(&h, &r);
    if (!h.status) evaluate(&h, &r, layer, in, 0, 0, want);
    for (int t = 0; t < TRIALS && !h.status; t++) evaluate(&h, &r, layer, in, s, (uint64_t)t, trial[t]);
    if (!h.status) run(&h, &r, layer, in, got);
    if (!h.status) judge(&r, want, trial, got, worst, where);
    release(&h);
    return h.status;
}
