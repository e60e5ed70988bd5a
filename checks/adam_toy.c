/* A few parameters with an optimizer over them, for the cases of Adam. */
#include "adam_case.h"
#include <math.h>
#include <string.h>

enum { GAP = 3 }; /* elements between parameters that lie apart */

const td_adam_variant td_adam_variant_alone = {"alone", TD_ADAM_FULL, 0, 0};
const td_toy_parameter td_toy_19[] = {{7, 1, 0, 0}, {1, 0, 0, 0}, {5, 1, 0, 1},
                                      {8, 1, 1, 0}, {3, 0, 1, 0}, {-1, 0, 0, 0}};

static td_status lay_out(td_toy *toy, const td_toy_parameter *list, td_error *err) {
    const td_allocator *a = &toy->engine.allocator;
    const size_t size = td_dtype_size(toy->dtype);
    const int64_t gap = toy->variant->apart ? GAP : 0;
    for (; list[toy->n].count >= 0; toy->n++) {
        toy->first[toy->n] = toy->count;
        toy->count += list[toy->n].count;
    }
    const size_t bytes = (size_t)(toy->count + toy->n * gap) * size;
    toy->values = a->alloc(a->context, bytes, TD_MEM_PARAMETERS);
    toy->gradients = a->alloc(a->context, bytes, TD_MEM_GRADIENTS);
    if (!toy->values || !toy->gradients) return td_fail(err, TD_NO_MEMORY, "no memory for a few parameters");
    for (int i = 0; i < toy->n; i++) {
        const size_t at = (size_t)(toy->first[i] + i * gap) * size;
        toy->parameter[i] = (td_parameter){.count = list[i].count,
                                           .value = toy->values + at,
                                           .gradient = toy->gradients + at,
                                           .decay = list[i].decay,
                                           .dtype = toy->dtype,
                                           .uses = 1,
                                           .frozen = list[i].frozen,
                                           .group = list[i].group};
        snprintf(toy->parameter[i].name, sizeof toy->parameter[i].name, "toy%d", i);
    }
    td_status status = toy->engine.zero(toy->values, bytes, err);
    return status ? status : toy->engine.zero(toy->gradients, bytes, err);
}

td_status td_toy_open(td_toy *toy, td_comm *comm, const td_engine *engine, const td_adam_variant *variant,
                      td_dtype dtype, const td_toy_parameter *list, const td_adam_config *config, td_error *err) {
    *toy = (td_toy){.comm = comm, .engine = *engine, .variant = variant, .dtype = dtype};
    td_adam_config chunked = *config;
    chunked.chunk_bytes = (size_t)variant->chunk * td_dtype_size(dtype);
    td_status status = lay_out(toy, list, err);
    if (!status)
        status = td_adam_new(&toy->adam, variant->sharding, toy->parameter, toy->n, dtype, &chunked, comm, engine, err);
    if (status) td_toy_close(toy);
    return status;
}

void td_toy_close(td_toy *toy) {
    const td_allocator *a = &toy->engine.allocator;
    td_adam_delete(toy->adam);
    if (toy->values) a->free(a->context, toy->values);
    if (toy->gradients) a->free(a->context, toy->gradients);
    toy->adam = NULL, toy->values = toy->gradients = NULL;
}

static td_status put(td_toy *toy, void *to, const double *from, int64_t count, td_error *err) {
    char rounded[sizeof(td_numbers)];
    td_tensor t = td_contiguous(rounded, toy->dtype, 1, 1, 1, count);
    for (int64_t k = 0; k < count; k++) td_store(&t, k, from[k]);
    return toy->engine.upload(to, rounded, (size_t)count * td_dtype_size(toy->dtype), err);
}

static td_status get(td_toy *toy, double *to, const void *from, int64_t count, td_error *err) {
    char raw[sizeof(td_numbers)];
    td_tensor t = td_contiguous(raw, toy->dtype, 1, 1, 1, count);
    td_status status = toy->comm ? td_comm_finish(toy->comm, err) : TD_OK;
    if (!status) status = toy->engine.download(raw, from, (size_t)count * td_dtype_size(toy->dtype), err);
    for (int64_t k = 0; k < count && !status; k++) to[k] = td_load(&t, k);
    return status;
}

td_status td_toy_set_values(td_toy *toy, const td_numbers values, td_error *err) {
    td_status status = TD_OK;
    for (int i = 0; i < toy->n && !status; i++)
        status = put(toy, toy->parameter[i].value, values + toy->first[i], toy->parameter[i].count, err);
    return status;
}

td_status td_toy_get_values(td_toy *toy, td_numbers values, td_error *err) {
    td_status status = TD_OK;
    for (int i = 0; i < toy->n && !status; i++)
        status = get(toy, values + toy->first[i], toy->parameter[i].value, toy->parameter[i].count, err);
    return status;
}

/* This rank's share of an element's gradient. */
static double share(const td_toy *toy, int64_t element, double sum, int exact) {
    if (!toy->comm || toy->variant->sharding != TD_ADAM_FLAT || !isfinite(sum)) return sum;
    const int ranks = toy->comm->ranks, rank = toy->comm->rank, most = (int)(element % ranks);
    if (rank != most) return exact ? (rank + 1) * 0x1p-6 : 0;
    return exact ? sum - (ranks * (ranks + 1) / 2 - (most + 1)) * 0x1p-6 : sum;
}

td_status td_toy_set_gradients(td_toy *toy, const td_numbers sum, int exact, td_error *err) {
    td_numbers own;
    td_status status = TD_OK;
    for (int64_t k = 0; k < toy->count; k++) own[k] = share(toy, k, sum[k], exact);
    for (int i = 0; i < toy->n && !status; i++)
        status = put(toy, toy->parameter[i].gradient, own + toy->first[i], toy->parameter[i].count, err);
    return status;
}

td_status td_toy_get_states(td_toy *toy, td_numbers m, td_numbers v, td_error *err) {
    td_status status = TD_OK;
    for (int64_t k = 0; k < toy->count; k++) m[k] = v[k] = toy->owned[k] = 0;
    for (int i = 0; i < toy->n && !status; i++)
        for (int piece = 0; !status; piece++) {
            const td_owned own = td_adam_owned(toy->adam, i, piece);
            if (own.count == 0) break;
            const int64_t at = toy->first[i] + own.first;
            memset(toy->owned + at, 1, (size_t)own.count);
            status = get(toy, m + at, own.m, own.count, err);
            if (!status) status = get(toy, v + at, own.v, own.count, err);
        }
    return status;
}

td_status td_toy_step(td_toy *toy, const td_numbers sum, int exact, td_error *err) {
    td_status status = td_toy_set_gradients(toy, sum, exact, err);
    return status ? status : td_adam_step(toy->adam, err);
}

void td_adam_fill(td_numbers x, const td_toy *toy, double (*value)(int64_t element)) {
    for (int64_t k = 0; k < toy->count; k++) x[k] = td_round_to(value(k), toy->dtype);
}

void td_adam_fill_gradients(td_numbers x, const td_toy *toy, double (*gradient)(int64_t element, int step), int step) {
    for (int64_t k = 0; k < toy->count; k++) x[k] = td_round_to(gradient(k, step), toy->dtype);
}

/* Both are bits of one dtype, held exactly. */
static void compare_bits(td_case *c, const td_toy *toy, const char *what, const double *got, const double *want,
                         const char *owned) {
    for (int64_t k = 0; k < toy->count; k++)
        if ((!owned || owned[k]) && memcmp(&got[k], &want[k], sizeof *got) && td_case_compare(c, INFINITY, 0))
            snprintf(c->note, sizeof c->note, "step %lld: %s[%lld] is %.9g, not %.9g",
                     (long long)td_adam_steps(toy->adam), what, (long long)k, got[k], want[k]);
}

td_status td_adam_compare_bits(td_case *c, td_toy *toy, td_toy *other, td_error *err) {
    td_numbers got[3], want[3];
    td_status status = td_toy_get_values(toy, got[0], err);
    if (!status) status = td_toy_get_states(toy, got[1], got[2], err);
    if (!status) status = td_toy_get_values(other, want[0], err);
    if (!status) status = td_toy_get_states(other, want[1], want[2], err);
    if (status) return status;
    compare_bits(c, toy, "p", got[0], want[0], NULL);
    compare_bits(c, toy, "m", got[1], want[1], toy->owned);
    compare_bits(c, toy, "v", got[2], want[2], toy->owned);
    return TD_OK;
}
