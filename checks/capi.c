/* The C interface: validate everything, bring what a variant needs, run it. */
#include "memory.h"
#include "operations.h"
#include "tandem/tandem.h"
#include "trial.h"

const char *td_version(void) {
    return TD_VERSION;
}

const char *td_variant_name(td_op op, int i) {
    const td_variant *v;
    for (int k = 0; i >= 0 && (v = td_variant_at(k)); k++)
        if (v->op == op && !v->mistake && i-- == 0) return v->name;
    return NULL;
}

int td_variant_count(td_op op) {
    int n = 0;
    while (td_variant_name(op, n)) n++;
    return n;
}

/* Replace an input of another dtype by a contiguous copy, which *copy also points at. */
static td_status convert(td_tensor *t, const char *name, td_dtype dtype, const td_allocator *allocator, void **copy,
                         td_error *err) {
    int64_t count = td_count(t);
    if (t->dtype == dtype || count == 0) return TD_OK;
    *copy = allocator->alloc(allocator->context, (size_t)count * td_dtype_size(dtype), TD_MEM_DATA);
    if (!*copy) return td_fail(err, TD_NO_MEMORY, "%s: no memory for a copy in %s", name, td_dtype_name(dtype));
    td_tensor view = td_contiguous(*copy, dtype, t->size[0], t->size[1], t->size[2], t->size[3]);
    td_tensor_copy(&view, t);
    *t = view;
    return TD_OK;
}

/* A GPU variant works on the caller's own device memory, in which nothing is converted. */
static td_status run_on_gpu(const td_variant *v, const td_problem *problem, const td_tensor *tensors,
                            const td_allocator *allocator, td_error *err) {
    const td_operation *operation = td_operation_of(problem->op);
    const td_device *device;
    td_status s = td_device_for(v->backend, &device, err);
    if (s) return s;
    for (int k = 0; k < operation->tensors; k++) {
        const td_tensor_role *role = &operation->role[k];
        const td_tensor *t = &tensors[role->index];
        td_dtype dtype = td_trial_dtype(v, role->index, v->dtype);
        if (!role->is_output && t->dtype != dtype && td_count(t) > 0)
            return td_fail(err, TD_UNSUPPORTED, "%s: is %s, but %s takes %s, and converts nothing on the GPU",
                           role->name, td_dtype_name(t->dtype), v->name, td_dtype_name(dtype));
    }
    const td_allocator *a = allocator ? allocator : &device->allocator;
    size_t bytes = v->workspace_bytes(problem);
    void *workspace = bytes ? a->alloc(a->context, bytes, v->workspace_tag) : NULL;
    if (bytes && !workspace)
        return td_fail(err, TD_NO_MEMORY, "workspace: no memory for its %zu bytes on %s", bytes, device->name);
    s = v->run(problem, tensors, workspace, device->stream, err);
    td_status late = device->synchronize(s ? NULL : err);
    if (workspace) a->free(a->context, workspace);
    return s ? s : late;
}

/* An emulated variant sees memory of the emulator alone: a trial lends it some. */
static td_status run_in_trial(const td_variant *v, const td_problem *problem, const td_tensor *tensors,
                              const td_allocator *allocator, td_error *err) {
    td_trial_plan plan;
    td_trial trial;
    td_trial_plan_like(&plan, v, problem, tensors);
    td_status s = td_trial_new(&trial, v, problem, &plan, allocator, err);
    if (s) return s;
    td_trial_take(&trial, tensors);
    s = td_trial_run(&trial, err);
    for (int k = 0; k < trial.operation->tensors && s == TD_OK; k++) {
        const td_tensor_role *role = &trial.operation->role[k];
        const td_tensor *out = &tensors[role->index];
        if (role->is_output && out->data) td_tensor_copy(out, &trial.tensors[role->index]);
    }
    td_trial_free(&trial);
    return s;
}

static td_status run_with_copies(const td_variant *v, const td_problem *problem, td_tensor *tensors,
                                 const td_allocator *allocator, td_error *err) {
    const td_operation *operation = td_operation_of(problem->op);
    void *copies[TD_MAX_TENSORS] = {NULL};
    td_status s = TD_OK;
    for (int k = 0; k < operation->tensors && s == TD_OK; k++) {
        const td_tensor_role *role = &operation->role[k];
        td_dtype dtype = td_trial_dtype(v, role->index, v->dtype);
        if (!role->is_output) s = convert(&tensors[role->index], role->name, dtype, allocator, &copies[k], err);
    }
    size_t bytes = v->workspace_bytes(problem);
    void *workspace = s == TD_OK ? allocator->alloc(allocator->context, bytes, v->workspace_tag) : NULL;
    if (s == TD_OK && !workspace) s = td_fail(err, TD_NO_MEMORY, "workspace: no memory for its %zu bytes", bytes);
    if (s == TD_OK) s = v->run(problem, tensors, workspace, NULL, err);
    if (workspace) allocator->free(allocator->context, workspace);
    for (int k = 0; k < TD_MAX_TENSORS; k++)
        if (copies[k]) allocator->free(allocator->context, copies[k]);
    return s;
}

/* Nothing is asked for, though there would be something to write. */
static int nothing_wanted(const td_problem *problem, const td_tensor *tensors) {
    const td_operation *operation = td_operation_of(problem->op);
    int elements = 0;
    for (int k = 0; k < operation->tensors; k++) {
        int64_t n[4];
        if (!operation->role[k].is_output) continue;
        if (tensors[operation->role[k].index].data) return 0;
        operation->shape(problem, operation->role[k].index, n);
        elements |= n[0] > 0 && n[1] > 0 && n[2] > 0;
    }
    return elements;
}

/* `given` are the tensors by their numbers; an output may be NULL. `outputs` names them for a message. */
static td_status attend(td_op op, const char *variant, const td_attention_problem *problem,
                        const td_tensor *const *given, const char *outputs, const td_allocator *allocator,
                        td_error *err) {
    td_allocator plain = td_plain_allocator();
    const td_allocator *a = allocator ? allocator : &plain;
    const td_operation *operation = td_operation_of(op);
    const td_variant *v;
    td_tensor tensors[TD_MAX_TENSORS] = {{.data = NULL}};
    if (!problem) return td_fail(err, TD_BAD_PARAM, "problem: must not be NULL");
    for (int k = 0; k < operation->tensors; k++) {
        const td_tensor_role *role = &operation->role[k];
        if (given[role->index])
            tensors[role->index] = *given[role->index];
        else if (!role->is_output)
            return td_fail(err, TD_BAD_PARAM, "%s: must not be NULL", role->name);
    }
    if (!a->alloc || !a->free) return td_fail(err, TD_BAD_PARAM, "allocator: alloc and free must not be NULL");
    td_problem p = {.op = op, .attention = *problem};
    td_status s;
    if ((s = td_variant_get(variant, op, &v, err)) || (s = td_problem_validate(&p, err)) ||
        (s = td_tensors_validate(&p, tensors, err)))
        return s;
    if (nothing_wanted(&p, tensors)) return td_fail(err, TD_BAD_PARAM, "%s: at least one must be wanted", outputs);
    if (v->supports && (s = v->supports(&p, err))) return s;
    return v->backend == TD_CUDA       ? run_on_gpu(v, &p, tensors, allocator, err)
           : v->backend == TD_EMULATED ? run_in_trial(v, &p, tensors, a, err)
                                       : run_with_copies(v, &p, tensors, a, err);
}

td_status td_attention_forward(const char *variant, const td_attention_problem *problem, const td_tensor *Q,
                               const td_tensor *K, const td_tensor *V, const td_tensor *O, const td_tensor *LSE,
                               const td_allocator *allocator, td_error *err) {
    const td_tensor *const given[] = {[TD_Q] = Q, [TD_K] = K, [TD_V] = V, [TD_O] = O, [TD_LSE] = LSE};
    return attend(TD_OP_ATTENTION_FORWARD, variant, problem, given, "O, LSE", allocator, err);
}

td_status td_attention_backward(const char *variant, const td_attention_problem *problem, const td_tensor *Q,
                                const td_tensor *K, const td_tensor *V, const td_tensor *O, const td_tensor *LSE,
                                const td_tensor *dO, const td_tensor *dQ, const td_tensor *dK, const td_tensor *dV,
                                const td_allocator *allocator, td_error *err) {
    const td_tensor *const given[] = {[TD_Q] = Q,   [TD_K] = K,   [TD_V] = V,   [TD_O] = O,  [TD_LSE] = LSE,
                                      [TD_DO] = dO, [TD_DQ] = dQ, [TD_DK] = dK, [TD_DV] = dV};
    return attend(TD_OP_ATTENTION_BACKWARD, variant, problem, given, "dQ, dK, dV", allocator, err);
}
