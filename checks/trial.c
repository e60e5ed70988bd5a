/* Trials: allocate, fill, poison, run, verify. */
#include "trial.h"
#include "../gpu/range.h"
#include <string.h>

td_dtype td_trial_dtype(const td_variant *variant, int tensor, td_dtype others) {
    if (!td_op_is_attention(variant->op) || tensor != TD_LSE) return others;
    return variant->dtype == TD_F64 ? TD_F64 : TD_F32;
}

void td_trial_plan_layout(td_trial_plan *plan, const td_variant *variant, const td_problem *problem, td_layout layout,
                          td_dtype output_dtype) {
    const td_operation *operation = td_operation_of(problem->op);
    *plan = (td_trial_plan){0};
    for (int k = 0; k < operation->tensors; k++) {
        const td_tensor_role *role = &operation->role[k];
        int64_t n[4];
        operation->shape(problem, role->index, n);
        td_dtype dtype = td_trial_dtype(variant, role->index, role->is_output ? output_dtype : variant->dtype);
        td_tensor *view = &plan->view[role->index];
        *view = td_contiguous(NULL, dtype, n[0], n[1], n[2], n[3]);
        if (layout == TD_LAYOUT_TRANSPOSED || layout == TD_LAYOUT_PADDED) {
            int64_t row = layout == TD_LAYOUT_PADDED ? n[3] / 8 * 8 + 8 : n[3] + 3;
            view->stride[1] = row, view->stride[2] = n[1] * row, view->stride[0] = n[2] * n[1] * row;
        }
        if (layout == TD_LAYOUT_TRANSPOSED || layout == TD_LAYOUT_SHIFTED) plan->lead[role->index] = 1;
        if (layout == TD_LAYOUT_INTERLEAVED)
            for (int dim = 0; dim < 4; dim++) view->stride[dim] *= 2;
        if (layout == TD_LAYOUT_BROADCAST && (role->index == TD_K || role->index == TD_V) && !role->is_output)
            view->stride[0] = 0;
    }
}

/* Elements from the lowest to the highest offset that a view touches; *low is the (never positive) lowest. */
static int64_t extent(const td_tensor *t, int64_t *low) {
    int64_t high = 0;
    *low = 0;
    if (td_count(t) == 0) return 0;
    for (int k = 0; k < 4; k++) {
        int64_t reach = (t->size[k] - 1) * t->stride[k];
        *(reach < 0 ? low : &high) += reach;
    }
    return high - *low + 1;
}

void td_trial_plan_like(td_trial_plan *plan, const td_variant *variant, const td_problem *problem,
                        const td_tensor *tensors) {
    const td_operation *operation = td_operation_of(problem->op);
    td_trial_plan_layout(plan, variant, problem, TD_LAYOUT_CONTIGUOUS, variant->dtype);
    for (int k = 0; k < operation->tensors; k++) {
        int index = operation->role[k].index;
        const td_tensor *t = &tensors[index];
        td_tensor *view = &plan->view[index];
        if (!t->data || td_count(t) == 0) continue;
        memcpy(view->stride, t->stride, sizeof t->stride);
        if (operation->role[k].is_output) view->dtype = t->dtype;
        int64_t low, line = 64 / (int64_t)td_dtype_size(t->dtype);
        extent(t, &low);
        int64_t at = (int64_t)((uintptr_t)t->data % 64) / (int64_t)td_dtype_size(t->dtype) + low % line;
        plan->lead[index] = (at + line) % line;
    }
}

/* The twins of buffers that are there already. */
static td_status mirror_buffers(td_trial *trial, size_t workspace_bytes, td_error *err) {
    td_status s = td_mirror_new(&trial->workspace_mirror, &trial->workspace, workspace_bytes,
                                trial->variant->workspace_tag, trial->device, err);
    for (int k = 0; k < trial->operation->tensors && s == TD_OK; k++) {
        int index = trial->operation->role[k].index;
        s = td_mirror_new(&trial->mirror[index], &trial->buffer[index], trial->buffer[index].bytes, TD_MEM_DATA,
                          trial->device, err);
    }
    return s;
}

td_status td_trial_new_on(const td_device *device, td_trial *trial, const td_variant *variant,
                          const td_problem *problem, const td_trial_plan *plan, const td_allocator *allocator,
                          td_error *err) {
    const td_operation *operation = td_operation_of(problem->op);
    size_t workspace_bytes = variant->workspace_bytes(problem);
    *trial = (td_trial){
        .variant = variant, .operation = operation, .problem = *problem, .allocator = *allocator, .device = device};
    td_status s = td_guard_new(&trial->workspace, "workspace", device ? 0 : workspace_bytes, allocator,
                               variant->workspace_tag, err);
    for (int k = 0; k < operation->tensors && s == TD_OK; k++) {
        int index = operation->role[k].index;
        td_tensor *t = &trial->tensors[index];
        *t = plan->view[index];
        int64_t low, size = (int64_t)td_dtype_size(t->dtype), n = extent(t, &low), lead = plan->lead[index];
        s = td_guard_new(&trial->buffer[index], operation->role[k].name, n ? (size_t)((lead + n) * size) : 0, allocator,
                         TD_MEM_DATA, err);
        if (s == TD_OK) t->data = (char *)trial->buffer[index].data + (n ? (lead - low) * size : 0);
    }
    if (s == TD_OK && device) s = mirror_buffers(trial, workspace_bytes, err);
    if (s) td_trial_free(trial);
    return s;
}

td_status td_trial_new(td_trial *trial, const td_variant *variant, const td_problem *problem, const td_trial_plan *plan,
                       const td_allocator *allocator, td_error *err) {
    const td_device *device;
    td_status s = td_device_for(variant->backend, &device, err);
    return s ? s : td_trial_new_on(device, trial, variant, problem, plan, allocator, err);
}

void td_trial_free(td_trial *trial) {
    for (int k = 0; k < TD_MAX_TENSORS; k++) td_guard_free(&trial->buffer[k], &trial->allocator);
    td_guard_free(&trial->workspace, &trial->allocator);
    if (!trial->device) return;
    for (int k = 0; k < TD_MAX_TENSORS; k++) td_mirror_free(&trial->mirror[k], trial->device);
    td_mirror_free(&trial->workspace_mirror, trial->device);
}

/* Along a zero stride one place is written again and again: there the last must win, as it would in order. */
static int shares_places(const td_tensor *t) {
    for (int k = 0; k < 4; k++)
        if (t->stride[k] == 0 && t->size[k] > 1) return 1;
    return 0;
}

void td_tensor_copy(const td_tensor *dst, const td_tensor *src) {
    const int64_t *n = dst->size;
#pragma omp parallel for collapse(3) if (td_count(dst) > 100000 && !shares_places(dst))
    for (int64_t b = 0; b < n[0]; b++)
        for (int64_t h = 0; h < n[1]; h++)
            for (int64_t i = 0; i < n[2]; i++)
                for (int64_t j = 0; j < n[3]; j++) td_set(dst, b, h, i, j, td_get(src, b, h, i, j));
}

td_status td_trial_forward(td_trial *trial, td_error *err) {
    const td_variant *forward = td_variant_find(td_operation_of(TD_OP_ATTENTION_FORWARD)->reference);
    td_problem problem = {.op = TD_OP_ATTENTION_FORWARD, .attention = trial->problem.attention};
    td_trial truth;
    if (!forward) return td_fail(err, TD_UNSUPPORTED, "O, LSE: the reference of forward is not in this build");
    td_status s = td_trial_of(&truth, forward, &problem, trial->tensors, &trial->allocator, err);
    if (s) return s;
    for (int k = TD_O; k <= TD_LSE; k++) td_tensor_copy(&trial->tensors[k], &truth.tensors[k]);
    td_trial_free(&truth);
    return TD_OK;
}

td_status td_trial_draw(td_trial *trial, td_fixture fixture, uint64_t seed, td_dtype input_dtype, td_error *err) {
    int is_backward = trial->problem.op == TD_OP_ATTENTION_BACKWARD;
    for (int k = 0; k < trial->operation->tensors; k++) {
        const td_tensor_role *role = &trial->operation->role[k];
        if (role->is_output || (is_backward && (role->index == TD_O || role->index == TD_LSE))) continue;
        td_fixture_fill_rounded(fixture, seed, role->index, input_dtype, &trial->tensors[role->index]);
    }
    td_status s = is_backward ? td_trial_forward(trial, err) : TD_OK;
    if (s == TD_OK) td_trial_seal(trial);
    return s;
}

void td_trial_take(td_trial *trial, const td_tensor *inputs) {
    for (int k = 0; k < trial->operation->tensors; k++) {
        const td_tensor_role *role = &trial->operation->role[k];
        if (role->is_output) continue;
        td_tensor_copy(&trial->tensors[role->index], &inputs[role->index]);
    }
    td_trial_seal(trial);
}

void td_trial_seal(td_trial *trial) {
    for (int k = 0; k < trial->operation->tensors; k++)
        if (!trial->operation->role[k].is_output) td_guard_seal(&trial->buffer[trial->operation->role[k].index]);
    trial->uploaded = 0;
}

static td_status prepare_device(td_trial *trial, td_error *err) {
    const td_device *device = trial->device;
    const td_mirror *workspace = &trial->workspace_mirror;
    td_status s = device->poison(workspace->data, workspace->bytes, err);
    for (int k = 0; k < trial->operation->tensors && s == TD_OK; k++) {
        const td_tensor_role *role = &trial->operation->role[k];
        const td_mirror *mirror = &trial->mirror[role->index];
        if (role->is_output)
            s = device->poison(mirror->data, mirror->bytes, err);
        else if (!trial->uploaded)
            s = td_mirror_upload(mirror, &trial->buffer[role->index], device, err);
    }
    trial->uploaded = s == TD_OK;
    return s;
}

td_status td_trial_prepare(td_trial *trial, td_error *err) {
    for (int k = 0; k < trial->operation->tensors; k++)
        if (trial->operation->role[k].is_output) td_guard_poison(&trial->buffer[trial->operation->role[k].index]);
    td_guard_poison(&trial->workspace);
    return trial->device ? prepare_device(trial, err) : TD_OK;
}

td_status td_trial_launch(td_trial *trial, td_error *err) {
    const td_variant *v = trial->variant;
    td_tensor there[TD_MAX_TENSORS];
    if (!trial->device) return v->run(&trial->problem, trial->tensors, trial->workspace.data, NULL, err);
    for (int k = 0; k < TD_MAX_TENSORS; k++) {
        there[k] = trial->tensors[k];
        if (trial->mirror[k].block)
            there[k].data = trial->mirror[k].data + ((char *)trial->tensors[k].data - (char *)trial->buffer[k].data);
    }
    td_range_push(v->name);
    td_status status = v->run(&trial->problem, there, trial->workspace_mirror.data, trial->device->stream, err);
    td_range_pop();
    return status;
}

td_status td_trial_fetch(td_trial *trial, td_error *err) {
    const td_device *device = trial->device;
    if (!device) return TD_OK;
    td_status s = device->synchronize(err);
    if (s == TD_OK) s = td_mirror_download(&trial->workspace_mirror, &trial->workspace, device, err);
    for (int k = 0; k < trial->operation->tensors && s == TD_OK; k++) {
        int index = trial->operation->role[k].index;
        s = td_mirror_download(&trial->mirror[index], &trial->buffer[index], device, err);
    }
    return s;
}

static td_status run_now(td_trial *trial, td_error *err) {
    td_status s;
    if ((s = td_trial_prepare(trial, err)) || (s = td_trial_launch(trial, err))) return s;
    return td_trial_fetch(trial, err);
}

/* A device has one stream: of several threads' trials each has it to itself. */
td_status td_trial_run(td_trial *trial, td_error *err) {
    td_status s;
    if (!trial->device) return run_now(trial, err);
#pragma omp critical(td_device_stream)
    s = run_now(trial, err);
    return s;
}

td_status td_trial_of(td_trial *trial, const td_variant *variant, const td_problem *problem, const td_tensor *inputs,
                      const td_allocator *allocator, td_error *err) {
    td_trial_plan plan;
    td_status s = variant->supports ? variant->supports(problem, err) : TD_OK;
    if (s) return s;
    td_trial_plan_layout(&plan, variant, problem, TD_LAYOUT_CONTIGUOUS, variant->dtype);
    if ((s = td_trial_new(trial, variant, problem, &plan, allocator, err))) return s;
    td_trial_take(trial, inputs);
    if ((s = td_trial_run(trial, err))) td_trial_free(trial);
    return s;
}

/* Bytes of an output's body that belong to no element must still be poison. */
static td_status gaps_untouched(const td_trial *trial, const td_tensor_role *role, td_error *err) {
    const td_tensor *t = &trial->tensors[role->index];
    const td_guarded *buffer = &trial->buffer[role->index];
    size_t size = td_dtype_size(t->dtype);
    if (buffer->bytes == (size_t)td_count(t) * size) return TD_OK;
    const td_allocator *a = &trial->allocator;
    unsigned char *owned = a->alloc(a->context, buffer->bytes, TD_MEM_DATA);
    if (!owned) return td_fail(err, TD_NO_MEMORY, "%s: no memory to look between its rows", role->name);
    memset(owned, 0, buffer->bytes);
    for (int64_t b = 0; b < t->size[0]; b++)
        for (int64_t h = 0; h < t->size[1]; h++)
            for (int64_t i = 0; i < t->size[2]; i++)
                for (int64_t j = 0; j < t->size[3]; j++) {
                    const char *element = (const char *)t->data + td_offset(t, b, h, i, j) * (int64_t)size;
                    memset(owned + (element - (const char *)buffer->data), 1, size);
                }
    size_t k = 0;
    while (k < buffer->bytes && (owned[k] || ((const unsigned char *)buffer->data)[k] == 0xFF)) k++;
    a->free(a->context, owned);
    if (k == buffer->bytes) return TD_OK;
    return td_fail(err, TD_WRONG, "%s: written between its elements, at byte %zu", role->name, k);
}

td_status td_trial_verify(const td_trial *trial, td_error *err) {
    td_status s = td_guard_check(&trial->workspace, err);
    for (int k = 0; k < trial->operation->tensors && s == TD_OK; k++) {
        const td_tensor_role *role = &trial->operation->role[k];
        s = td_guard_check(&trial->buffer[role->index], err);
        if (s == TD_OK && role->is_output) s = gaps_untouched(trial, role, err);
    }
    return s;
}
