/* Sharded by parameter: each has one owner, which holds its m and v, updates it and broadcasts it. */
#include "shards.h"
#include <stdlib.h>

typedef struct item {
    int64_t count;
    int parameter;
} item;

static int larger_first(const void *a, const void *b) {
    const item *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count ? 1 : -1) : x->parameter - y->parameter;
}

/* The largest goes first, each to the rank that has least so far: no rank ends with more than 4/3 of the least that is
 * possible (Graham 1969). Ties go to the lower number, so that all ranks come to the same. */
static td_status choose_owners(const td_adam *adam, int *owner, td_error *err) {
    item *items = calloc((size_t)adam->n + 1, sizeof *items);
    int64_t *load = calloc((size_t)adam->ranks, sizeof *load);
    if (items && load) {
        for (int i = 0; i < adam->n; i++) items[i] = (item){adam->parameter[i].count, i};
        qsort(items, (size_t)adam->n, sizeof *items, larger_first);
        for (int k = 0; k < adam->n; k++) {
            int least = 0;
            if (adam->parameter[items[k].parameter].frozen) continue;
            for (int r = 1; r < adam->ranks; r++)
                if (load[r] < load[least]) least = r;
            owner[items[k].parameter] = least;
            load[least] += items[k].count;
        }
    }
    const int missing = !items || !load;
    free(items), free(load);
    return missing ? td_fail(err, TD_NO_MEMORY, "Adam: no memory to choose owners") : TD_OK;
}

static td_status divide(td_adam *adam, td_error *err) {
    int *owner = calloc((size_t)adam->n + 1, sizeof *owner);
    adam->shards = calloc((size_t)adam->n + 1, sizeof(td_work *));
    td_status status = owner && adam->shards ? choose_owners(adam, owner, err)
                                             : td_fail(err, TD_NO_MEMORY, "Adam: no memory to choose owners");
    if (!status) status = td_adam_stage_begin(adam, err);
    for (int i = 0; i < adam->n && !status; i++)
        if (!adam->parameter[i].frozen) status = td_adam_part_add(adam, i, owner[i], 0, adam->parameter[i].count, err);
    free(owner);
    return status;
}

/* All broadcasts are started before the first is awaited. */
static td_status start_values(td_adam *adam, int stage, td_error *err) {
    td_work **work = adam->shards;
    td_status status = TD_OK;
    for (int k = adam->stage[stage].first; k < adam->stage[stage].end && !status; k++) {
        const td_adam_part *part = &adam->part[k];
        const td_call call = {.what = TD_BROADCAST,
                              .dtype = adam->dtype,
                              .root = part->owner,
                              .count = part->count,
                              .out = td_adam_value(adam, part),
                              .label = adam->parameter[part->parameter].name};
        status = td_adam_start(adam, &call, &work[k], err);
    }
    return status;
}

static td_status await_values(td_adam *adam, int stage, td_error *err) {
    td_work **work = adam->shards;
    td_status status = TD_OK;
    for (int k = adam->stage[stage].first; k < adam->stage[stage].end; k++) {
        td_status one = td_adam_await(adam, &work[k], status ? NULL : err);
        if (!status) status = one;
    }
    return status;
}

static void close(td_adam *adam) {
    free(adam->shards);
}

const td_adam_plan td_adam_by_parameter = {
    .divide = divide, .start_values = start_values, .await_values = await_values, .close = close, .reduced_before = 1};
