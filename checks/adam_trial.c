/* Drawn tensors, an update of them all, and its reference on a sample. */
#include "adam_trial.h"
#include "../gpu/adam/rungs.h"
#include "memory.h"
#include "mirror.h"
#include "tandem/tandem.h"
#include "tolerance_adam.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE, GRADIENT, M, V, ARRAYS, GROUPS = 3, PER_TENSOR = 4, APART = 64 };

/* One parameter that is followed. */
typedef struct sample {
    int tensor;
    int64_t index;
    float of_cpu[ARRAYS];
    td_adam_bounded exact;
} sample;

struct td_adam_trial {
    td_engine engine;
    const td_device *device;
    const td_adam_rungs *rungs;
    int tensors, samples;
    int64_t count; /* of each array, with what keeps tensors apart */
    float *array[ARRAYS];
    td_adam_slice *slices;
    td_adam_table *table;
    td_adam_call call; /* of the latest step */
    sample *sample;
};

const char *td_adam_rung_name(td_adam_rung rung) {
    return rung == TD_ADAM_PER_TENSOR ? "per_tensor" : "fused";
}

const td_device *td_adam_trial_device(const td_adam_trial *trial) {
    return trial->device;
}

/* β₂ of a language model; three groups, as if embeddings and norms had rates of their own. */
static const td_adam_call first_call = {
    .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .factor = 0.7, .group = {{1e-3, 0.1}, {3e-3, 0}, {1e-2, 0.01}}};

static td_status allocate(td_adam_trial *t, td_error *err) {
    const td_allocator *a = &t->engine.allocator;
    static const td_tag tag[ARRAYS] = {TD_MEM_PARAMETERS, TD_MEM_GRADIENTS, TD_MEM_OPTIMIZER, TD_MEM_OPTIMIZER};
    t->slices = calloc((size_t)t->tensors, sizeof *t->slices);
    t->sample = calloc((size_t)t->tensors * PER_TENSOR, sizeof *t->sample);
    if (!t->slices || !t->sample) return td_fail(err, TD_NO_MEMORY, "no memory for %d tensors", t->tensors);
    for (int k = 0; k < ARRAYS; k++) {
        t->array[k] = a->alloc(a->context, (size_t)t->count * sizeof(float), tag[k]);
        if (!t->array[k])
            return td_fail(err, TD_NO_MEMORY, "no memory on the device for four arrays of %lld floats",
                           (long long)t->count);
    }
    return TD_OK;
}

static void fill_in(td_adam_trial *t, int64_t count) {
    int64_t each = count / t->tensors, at = 0;
    for (int i = 0; i < t->tensors; i++) {
        int64_t n = i == t->tensors - 1 ? count - each * i : each;
        t->slices[i] = (td_adam_slice){
            t->array[VALUE] + at, t->array[GRADIENT] + at, t->array[M] + at, t->array[V] + at, n, i % GROUPS};
        const int64_t chosen[PER_TENSOR] = {0, n - 1, (int64_t)(td_uniform(1, 0, (uint64_t)i) * (double)n),
                                            (int64_t)(td_uniform(1, 1, (uint64_t)i) * (double)n)};
        for (int k = 0; k < PER_TENSOR; k++) t->sample[t->samples++] = (sample){.tensor = i, .index = chosen[k]};
        at += (n + APART - 1) / APART * APART;
    }
}

td_status td_adam_trial_new(td_adam_trial **out, td_backend backend, int64_t count, int tensors, td_error *err) {
    *out = NULL;
    if (tensors < 1 || count < tensors)
        return td_fail(err, TD_BAD_PARAM, "COUNT=%lld TENSORS=%d: must be at least one parameter a tensor",
                       (long long)count, tensors);
    td_adam_trial *t = calloc(1, sizeof *t);
    if (!t) return td_fail(err, TD_NO_MEMORY, "no memory");
    *t = (td_adam_trial){.tensors = tensors, .count = count + (int64_t)tensors * APART};
    td_status s = td_device_for(backend, &t->device, err);
    if (!s) s = backend == TD_CUDA ? td_cuda_engine(&t->engine, NULL, err) : td_emulated_engine(&t->engine, NULL, err);
    t->rungs = backend == TD_CUDA ? &td_cuda_adam_rungs : &td_emulated_adam_rungs;
    if (!s) s = allocate(t, err);
    if (!s) {
        fill_in(t, count);
        s = t->engine.adam_table(&t->table, t->slices, tensors, TD_F32, err);
    }
    if (s)
        td_adam_trial_free(t);
    else
        *out = t;
    return s;
}

void td_adam_trial_free(td_adam_trial *t) {
    if (!t) return;
    const td_allocator *a = &t->engine.allocator;
    if (t->table) t->engine.adam_table_free(t->table);
    for (int k = 0; k < ARRAYS; k++)
        if (t->array[k]) a->free(a->context, t->array[k]);
    free(t->slices);
    free(t->sample);
    free(t);
}

static td_status draw(td_adam_trial *t, int array, int64_t step, td_error *err) {
    td_status s = TD_OK;
    for (int i = 0; !s && i < t->tensors; i++) {
        float *to = array == VALUE ? t->slices[i].value : (float *)t->slices[i].gradient;
        s = t->rungs->draw(to, t->slices[i].count, (uint64_t)step, (uint64_t)i, t->device->stream, err);
    }
    return s;
}

td_status td_adam_trial_step(td_adam_trial *t, td_adam_rung rung, td_error *err) {
    t->call.step++;
    return rung == TD_ADAM_FUSED ? t->engine.adam(t->table, &t->call, err)
                                 : t->rungs->per_tensor(t->slices, t->tensors, &t->call, t->device->stream, err);
}

static td_status begin(td_adam_trial *t, td_error *err) {
    td_status s = draw(t, VALUE, 0, err);
    if (!s) s = t->engine.zero(t->array[M], (size_t)t->count * sizeof(float), err);
    if (!s) s = t->engine.zero(t->array[V], (size_t)t->count * sizeof(float), err);
    t->call = first_call;
    for (int i = 0; i < t->samples; i++) {
        sample *x = &t->sample[i];
        float value = td_adam_drawn(0, (uint64_t)x->tensor, (uint64_t)x->index);
        x->of_cpu[VALUE] = value, x->of_cpu[M] = x->of_cpu[V] = 0;
        x->exact = (td_adam_bounded){.value = value};
    }
    return s;
}

/* The latest step, on the sample: in double, and by the CPU's float32 update. */
static td_status follow(td_adam_trial *t, const td_engine *cpu, td_error *err) {
    td_adam_slice *slices = malloc((size_t)t->samples * sizeof *slices);
    td_adam_table *table = NULL;
    if (!slices) return td_fail(err, TD_NO_MEMORY, "no memory for %d samples", t->samples);
    for (int i = 0; i < t->samples; i++) {
        sample *x = &t->sample[i];
        float *a = x->of_cpu;
        int group = t->slices[x->tensor].group;
        a[GRADIENT] = td_adam_drawn((uint64_t)t->call.step, (uint64_t)x->tensor, (uint64_t)x->index);
        td_adam_bounded_step(&x->exact, a[GRADIENT], &t->call, &t->call.group[group]);
        slices[i] = (td_adam_slice){&a[VALUE], &a[GRADIENT], &a[M], &a[V], 1, group};
    }
    td_status s = cpu->adam_table(&table, slices, t->samples, TD_F32, err);
    if (!s) s = cpu->adam(table, &t->call, err);
    if (table) cpu->adam_table_free(table);
    free(slices);
    return s;
}

td_status td_adam_trial_look(td_adam_trial *t, td_adam_seen *seen, td_error *err) {
    static const int arrays[] = {VALUE, M, V};
    static const char *const names[] = {"value", "m", "v"};
    *seen = (td_adam_seen){.step = t->call.step, .samples = t->samples, .err_over_tol = -1, .array = ""};
    for (int i = 0; i < t->samples; i++) {
        const sample *x = &t->sample[i];
        const double want[] = {x->exact.value, x->exact.m, x->exact.v};
        const double tol[] = {x->exact.value_error, x->exact.m_error, x->exact.v_error};
        int other = 0;
        for (int k = 0; k < 3; k++) {
            float got;
            const float *from = (const float *)t->slices[x->tensor].value - t->array[VALUE] + t->array[arrays[k]];
            td_status s = t->engine.download(&got, from + x->index, sizeof got, err);
            if (s) return s;
            double ratio = tol[k] < INFINITY ? fabs(got - want[k]) / tol[k] : NAN; /* no bound is no proof */
            other |= memcmp(&got, &x->of_cpu[arrays[k]], sizeof got) != 0;
            if (isnan(seen->err_over_tol) || ratio <= seen->err_over_tol) continue;
            seen->err_over_tol = ratio, seen->tensor = x->tensor, seen->index = x->index, seen->array = names[k];
            seen->got = got, seen->want = want[k], seen->tol = tol[k];
        }
        seen->other_bits += other;
    }
    return TD_OK;
}

td_status td_adam_trial_check(td_adam_trial *t, td_adam_rung rung, const int64_t *looks, int n, td_adam_seen *seen,
                              td_error *err) {
    td_allocator plain = td_plain_allocator();
    const td_engine cpu = td_cpu_engine(&plain);
    td_status s = begin(t, err);
    for (int k = 0; !s && k < n; k++) {
        while (!s && t->call.step < looks[k]) {
            s = draw(t, GRADIENT, t->call.step + 1, err);
            if (!s) s = td_adam_trial_step(t, rung, err);
            if (!s) s = follow(t, &cpu, err);
        }
        if (!s) s = td_adam_trial_look(t, &seen[k], err);
    }
    return s;
}
