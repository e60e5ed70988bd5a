/* Rotating sets of buffers, and the checks around each run. */
#include "bench_sets.h"
#include "ceilings.h"
#include "memory.h"
#include "tandem/philox.h"
#include <string.h>
#include <unistd.h>

enum { SAMPLE = 32 };
static const double oracle_flops = 1e8; /* that a check may cost: about a tenth of a second */

static td_status add_set(td_bench_sets *sets, const td_trial_plan *plan, const td_allocator *allocator, td_error *err) {
    td_trial *trial = &sets->trial[sets->count];
    td_status status = td_trial_new(trial, sets->variant, &sets->problem, plan, allocator, err);
    if (status) return status;
    /* Other memory is what rotating is for, and each run gets a new row: drawing every set anew would only take long.
     */
    sets->count++;
    if (sets->count == 1) return td_trial_draw(trial, TD_FIXTURE_NORMAL, 1, sets->variant->dtype, err);
    td_trial_take(trial, sets->trial[0].tensors);
    return TD_OK;
}

/* A machine that runs out of memory kills a process, this one or another: half of it is the limit. A device says no. */
static td_status measured_set(td_bench_sets *sets, const td_trial_plan *plan, size_t *bytes, td_error *err) {
    size_t half = (size_t)sysconf(_SC_PHYS_PAGES) / 2 * (size_t)sysconf(_SC_PAGESIZE);
    td_memory *host = td_memory_new(half);
    td_memory *there = sets->device ? td_memory_over(&sets->device->allocator, 0) : host;
    td_status status = TD_NO_MEMORY;
    if (host && there) {
        td_allocator counting = td_memory_allocator(host);
        td_device counted = sets->device ? *sets->device : (td_device){.backend = TD_CPU};
        counted.allocator = td_memory_allocator(there);
        td_trial trial;
        status = td_trial_new_on(sets->device ? &counted : NULL, &trial, sets->variant, &sets->problem, plan, &counting,
                                 err);
        *bytes = td_memory_peak_total(there, NULL);
        if (!status) td_trial_free(&trial);
    } else
        td_fail(err, status, "no memory for the counting allocator");
    if (there != host) td_memory_delete(there);
    td_memory_delete(host);
    return status;
}

td_status td_bench_sets_new(td_bench_sets *sets, const td_variant *variant, const td_problem *problem,
                            size_t *set_bytes, td_error *err) {
    td_trial_plan plan;
    td_machine machine;
    td_allocator allocator = td_plain_allocator();
    memset(sets, 0, sizeof *sets);
    sets->variant = variant;
    sets->problem = *problem;
    sets->every_element = variant->flops(problem) <= oracle_flops || td_rows(problem) == 0;
    td_machine_read(&machine);
    td_trial_plan_layout(&plan, variant, problem, TD_LAYOUT_CONTIGUOUS, variant->dtype);
    td_status status = td_device_for(variant->backend, &sets->device, err);
    if (status || (status = measured_set(sets, &plan, set_bytes, err))) return status;
    size_t cache = sets->device            ? sets->device->cache_bytes
                   : machine.llc_bytes > 0 ? (size_t)machine.llc_bytes
                                           : (size_t)32 << 20;
    size_t wanted = 2 * cache / *set_bytes + 1;
    for (size_t i = 0; i < wanted && i < TD_BENCH_MOST_SETS && !status; i++)
        status = add_set(sets, &plan, &allocator, err);
    if (status) td_bench_sets_free(sets);
    return status;
}

void td_bench_sets_free(td_bench_sets *sets) {
    for (int i = 0; i < sets->count; i++) td_trial_free(&sets->trial[i]);
    sets->count = 0;
    sets->current = NULL;
}

/* Elements of `t` (contiguous) that still hold the poison, all bits one. */
static int64_t unwritten(const td_tensor *t) {
    static const unsigned char poison[8] = {255, 255, 255, 255, 255, 255, 255, 255};
    size_t size = td_dtype_size(t->dtype);
    int64_t left = 0, count = td_count(t);
#pragma omp parallel for reduction(+ : left) if (count > 100000)
    for (int64_t k = 0; k < count; k++)
        left += !memcmp((const unsigned char *)t->data + (size_t)k * size, poison, size);
    return left;
}

static void look_for_poison(td_bench_sets *sets) {
    const td_trial *trial = sets->current;
    for (int k = 0; k < trial->operation->tensors && !sets->fault[0]; k++) {
        const td_tensor_role *role = &trial->operation->role[k];
        int64_t left = role->is_output ? unwritten(&trial->tensors[role->index]) : 0;
        if (left)
            snprintf(sets->fault, sizeof sets->fault, "a run returned before %lld of %lld elements of %s were written",
                     (long long)left, (long long)td_count(&trial->tensors[role->index]), role->name);
    }
}

/* In this order: what is not written yet may still be on its way, and must be looked for first. */
void td_bench_sets_inspect(td_bench_sets *sets) {
    td_error err = {TD_OK, ""};
    td_verdict verdict = TD_PASS;
    if (!sets->current || sets->fault[0]) return;
    if (td_trial_fetch(sets->current, &err)) snprintf(sets->fault, sizeof sets->fault, "in a run, %.180s", err.message);
    if (!sets->fault[0]) look_for_poison(sets);
    if (!sets->fault[0] && td_trial_verify(sets->current, &err))
        snprintf(sets->fault, sizeof sets->fault, "in a run, %.180s", err.message);
    if (!sets->fault[0] && td_rows(&sets->problem) > 0 &&
        td_row_check(&sets->problem, sets->current->tensors, sets->row, &sets->variant->rounding, &verdict, sets->fault,
                     sizeof sets->fault, &err))
        snprintf(sets->fault, sizeof sets->fault, "%.190s", err.message);
}

void td_bench_sets_turn(td_bench_sets *sets, int run) {
    td_bench_sets_inspect(sets);
    td_trial *trial = sets->current = &sets->trial[run % sets->count];
    int64_t rows = td_rows(&sets->problem);
    td_error err = {TD_OK, ""};
    if (rows > 0) {
        uint64_t seed = UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)run;
        sets->row = td_row_at(&sets->problem, (int64_t)(td_uniform(seed, 0, 1) * (double)rows));
        err.status = td_row_renew(&sets->problem, trial->tensors, sets->row, seed, &err);
    }
    td_trial_seal(trial);
    if ((err.status || td_trial_prepare(trial, &err)) && !sets->fault[0])
        snprintf(sets->fault, sizeof sets->fault, "%.190s", err.message);
}

td_status td_bench_sets_run(td_bench_sets *sets, td_error *err) {
    if (sets->fault[0]) return td_fail(err, TD_WRONG, "%s", sets->fault);
    return td_trial_launch(sets->current, err);
}

td_status td_bench_sets_check(td_bench_sets *sets, td_verdict *verdict, td_error *err) {
    const td_tensor *tensors = sets->current->tensors;
    const td_rounding *rounding = &sets->variant->rounding;
    int64_t rows = td_rows(&sets->problem);
    td_verdict one = sets->fault[0] ? TD_FAIL : TD_PASS;
    td_status status = TD_OK;
    *verdict = one;
    if (sets->every_element && one != TD_FAIL)
        return td_outputs_check(&sets->problem, tensors, rounding, verdict, sets->fault, sizeof sets->fault, err);
    if (sets->problem.op == TD_OP_ATTENTION_BACKWARD && one != TD_FAIL) {
        status =
            td_heads_check(&sets->problem, tensors, sets->row, rounding, &one, sets->fault, sizeof sets->fault, err);
        *verdict = one;
    }
    for (int k = 0; k < SAMPLE && !status && one != TD_FAIL; k++) {
        /* the last row, where a tail can be lost, and others anywhere */
        int64_t n = k == 0 ? rows - 1 : (int64_t)(td_uniform(7, 0, (uint64_t)k) * (double)rows);
        status = td_row_check(&sets->problem, tensors, td_row_at(&sets->problem, n), rounding, &one, sets->fault,
                              sizeof sets->fault, err);
        if (!status && one > *verdict) *verdict = one;
    }
    return status;
}
