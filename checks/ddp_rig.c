#include "ddp_rig.h"
#include "tandem/philox.h"
#include "tandem/tensor.h"
#include "tolerance.h"
#include "tolerance_terms.h"
#include <stdlib.h>
#include <time.h>

void td_rig_wrong(td_rig *rig, const char *format, ...) {
    if (isinf(rig->worst)) return;
    va_list args;
    va_start(args, format);
    vsnprintf(rig->note, sizeof rig->note, format, args);
    va_end(args);
    rig->worst = INFINITY;
}

double td_rig_exact(const td_rig *rig, int rank, int i, int64_t k) {
    (void)rig;
    uint64_t mixed =
        ((uint64_t)k * 2654435761u + (uint64_t)i * 40503u + (uint64_t)rank * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    return ((double)(mixed >> 57) - 64) / 8;
}

double td_rig_normal(const td_rig *rig, int rank, int i, int64_t k) {
    (void)rig;
    return td_normal(77, (uint64_t)(rank * TD_RIG_PARAMETERS + i), (uint64_t)k);
}

double td_rig_zero(const td_rig *rig, int rank, int i, int64_t k) {
    (void)rig, (void)rank, (void)i, (void)k;
    return 0;
}

/* Offsets of the gradients in their block; returns the bytes in all. `reduced` counts the 16-bit ones' elements. */
static size_t lay_out(const td_rig_shape *shapes, int n, size_t *offset, int64_t *reduced) {
    size_t at = 0;
    *reduced = 0;
    for (int i = 0; i < n; i++) {
        size_t element = td_dtype_size(shapes[i].dtype);
        if (shapes[i].apart) at += 64;
        at = (at + element - 1) / element * element;
        offset[i] = at;
        at += (size_t)shapes[i].count * element;
        if (element == 2) *reduced += shapes[i].count;
    }
    return at;
}

td_status td_rig_open(td_rig *rig, const td_ddp_trial *trial, const td_ddp_config *caps, const td_rig_shape *shapes,
                      int n) {
    const td_allocator *allocator = &trial->engine->allocator;
    size_t offset[TD_RIG_PARAMETERS];
    int64_t wide;
    *rig = (td_rig){.trial = trial, .n = n};
    size_t bytes = lay_out(shapes, n, offset, &wide);
    rig->gradients = allocator->alloc(allocator->context, bytes, TD_MEM_GRADIENTS);
    rig->reduced = allocator->alloc(allocator->context, (size_t)wide * sizeof(float), TD_MEM_GRADIENTS);
    float *reduced = rig->reduced;
    for (int i = 0; i < n; i++) {
        td_parameter *p = &rig->parameter[i];
        *p = (td_parameter){.count = shapes[i].count,
                            .gradient = rig->gradients ? (char *)rig->gradients + offset[i] : NULL,
                            .dtype = shapes[i].dtype,
                            .uses = shapes[i].uses ? shapes[i].uses : 1,
                            .frozen = shapes[i].frozen};
        snprintf(p->name, sizeof p->name, "%c%d", 'A' + i, (int)shapes[i].count % 100);
        if (td_dtype_size(p->dtype) != 2 || !reduced) continue;
        p->reduced = reduced;
        reduced += p->count;
    }
    /* Without memory td_ddp_new refuses, on every rank. */
    td_error err = {0};
    td_status status =
        td_ddp_new(&rig->ddp, trial->way->scheme, trial->comm, trial->engine, rig->parameter, n, caps, &err);
    if (status) td_rig_wrong(rig, "%s", err.message);
    return status;
}

void td_rig_close(td_rig *rig) {
    const td_allocator *allocator = &rig->trial->engine->allocator;
    td_ddp_delete(rig->ddp);
    if (rig->gradients) allocator->free(allocator->context, rig->gradients);
    if (rig->reduced) allocator->free(allocator->context, rig->reduced);
}

/* Gradient i ← `keep` · itself + this rank's term. */
static void put(td_rig *rig, int i, td_rig_term term, int keep) {
    const td_parameter *p = &rig->parameter[i];
    const td_engine *engine = rig->trial->engine;
    td_error err = {0};
    size_t bytes = (size_t)p->count * td_dtype_size(p->dtype);
    void *host = malloc(bytes + 1);
    if (!host) {
        td_rig_wrong(rig, "no memory for %zu bytes", bytes);
        return;
    }
    td_tensor view = td_contiguous(host, p->dtype, 1, 1, 1, p->count);
    td_status status = keep ? engine->download(host, p->gradient, bytes, &err) : TD_OK;
    for (int64_t k = 0; !status && k < p->count; k++) {
        double x = td_round_to(term(rig, rig->trial->comm->rank, i, k), p->dtype);
        td_store(&view, k, keep ? td_load(&view, k) + x : x);
    }
    if (!status) status = engine->upload(p->gradient, host, bytes, &err);
    if (status) td_rig_wrong(rig, "%s", err.message);
    free(host);
}

void td_rig_put(td_rig *rig, int i, td_rig_term term) {
    put(rig, i, term, 0);
}

void td_rig_accumulate(td_rig *rig, int i, td_rig_term term) {
    put(rig, i, term, 1);
}

static int downwards(const td_rig *rig, int rank, int position) {
    (void)rank;
    return rig->n - 1 - position;
}

/* What backward does: each gradient is added to (term not NULL), then announced. */
static void run_backward(td_rig *rig, td_rig_order order, td_rig_term term) {
    if (!order) order = downwards;
    for (int at = 0; at < rig->n; at++) {
        int i = order(rig, rig->trial->comm->rank, at);
        td_error err;
        if (i < 0) continue;
        if (term && td_ddp_writable(rig->ddp, i, &err))
            td_rig_wrong(rig, "started before it was ready: %s", err.message);
        if (term) td_rig_accumulate(rig, i, term);
        for (int use = 0; use < rig->parameter[i].uses; use++) td_ddp_ready(rig->ddp, i);
    }
}

void td_rig_announce(td_rig *rig) {
    run_backward(rig, NULL, NULL);
}

static void sleep_seconds(double seconds) {
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    if (seconds > 0) nanosleep(&t, NULL);
}

void td_rig_step_run(td_rig *rig, const td_rig_step *step) {
    td_comm *comm = rig->trial->comm;
    td_error err = {0};
    if (!rig->ddp) return;
    for (int i = 0; i < rig->n; i++) td_rig_put(rig, i, td_rig_zero);
    for (int i = 0; i < rig->n && step->before; i++) td_rig_accumulate(rig, i, step->before);
    if (td_ddp_begin(rig->ddp, &err)) td_rig_wrong(rig, "%s", err.message);
    if (comm->rank == comm->ranks - 1) sleep_seconds(step->late);
    run_backward(rig, step->order, step->given ? step->given : step->term);
    double factor = step->given_factor != 0 ? step->given_factor : step->factor;
    if (td_ddp_finish(rig->ddp, factor, &err) || td_comm_finish(comm, &err)) td_rig_wrong(rig, "%s", err.message);
    for (int i = 0; i < rig->n; i++)
        if (!rig->parameter[i].frozen) td_rig_compare(rig, i, step->term, step->factor, step->exact);
}

void *td_rig_result(td_rig *rig, int i, td_dtype *dtype) {
    const td_parameter *p = &rig->parameter[i];
    int narrow = td_dtype_size(p->dtype) == 2;
    *dtype = narrow ? TD_F32 : p->dtype;
    td_error err = {0};
    size_t bytes = (size_t)p->count * td_dtype_size(*dtype);
    void *host = malloc(bytes + 1);
    if (!host || rig->trial->engine->download(host, narrow ? p->reduced : p->gradient, bytes, &err)) {
        td_rig_wrong(rig, "%s: %s", p->name, host ? err.message : "no memory to read it");
        free(host);
        return NULL;
    }
    return host;
}

/* The sum of N ranks' terms t_r in any order takes N − 1 additions, each rounded: HARD γ_(N−1)·Σ|t|; GATE λ·u·√(Σ S_k²)
 * over partial sums, natural order plus the mean over all orders (td_sum_variance, whose last term, for products
 * rounded before they are added, does not apply: terms are what the ranks hold). A factor other than 1 rounds once
 * more. Sums in double of the same terms err by 2⁻²⁹ of that, nothing beside it. */
static double tolerance(const td_sum *sum, td_dtype dtype, double factor) {
    double u = td_unit_roundoff(dtype);
    double hard = td_gamma(sum->n - 1, u) * sum->magnitude;
    double gate = td_gate_lambda() * u * sqrt(td_sum_variance(sum) - sum->squares);
    double rounded = factor == 1 ? 0 : td_half_ulp(factor * sum->sum, dtype);
    return fabs(factor) * fmin(gate, hard) + rounded;
}

void td_rig_compare(td_rig *rig, int i, td_rig_term term, double factor, int exact) {
    const td_parameter *p = &rig->parameter[i];
    td_dtype dtype;
    void *host = td_rig_result(rig, i, &dtype);
    if (!host) return;
    td_tensor got = td_contiguous(host, dtype, 1, 1, 1, p->count);
    for (int64_t k = 0; k < p->count; k++) {
        td_sum sum = {0};
        for (int r = 0; r < rig->trial->comm->ranks; r++) {
            double t = td_round_to(term(rig, r, i, k), p->dtype);
            if (exact)
                sum.sum += t;
            else
                td_sum_add(&sum, t);
        }
        double want = factor * sum.sum, x = td_load(&got, k), error = fabs(x - want);
        double ratio = error == 0 ? 0 : exact ? INFINITY : error / tolerance(&sum, dtype, factor);
        if (ratio <= 1) {
            if (ratio > rig->worst) rig->worst = ratio;
            continue;
        }
        td_rig_wrong(rig, "%s[%lld] is %.9g, must be %.9g%s", p->name, (long long)k, x, want,
                     exact ? "" : " within its bound");
    }
    free(host);
}
