/* Sharded flat: all parameters end to end, cut into chunks, each chunk cut into equal slices, one a rank. Gradients are
 * reduce-scattered, each rank updates its slice, and the values are all-gathered. The last chunk is what is left; where
 * it cannot be cut equally it is padded at its end, in a copy, so that padding is in no parameter, norm or file. */
#include "shards.h"
#include <stdlib.h>

typedef struct chunk {
    int64_t count, slice;     /* slice · ranks ≥ count */
    char *gradients, *values; /* what the collectives take: the parameters' own arrays, or both the copy */
    char *copy;               /* NULL: worked on in place */
    td_work *work;
    char gradients_label[32], values_label[32];
} chunk;

static int64_t chunk_elements(const td_adam *adam, int64_t total) {
    const size_t bytes = adam->config.chunk_bytes ? adam->config.chunk_bytes : (size_t)64 << 20;
    const int64_t wanted = (int64_t)(bytes / td_dtype_size(adam->dtype)), ranks = adam->ranks;
    if (total <= wanted) return total;
    /* slices begin where vector loads may, but for chunks of next to nothing */
    const int64_t unit = wanted >= 16 * ranks ? 16 * ranks : ranks;
    return wanted < unit ? unit : wanted - wanted % unit;
}

/* Where the collectives work: in place if the chunk's parameters lie end to end and it is cut without a rest. */
static td_status place(td_adam *adam, chunk *chunk, const td_adam_stage *stage, td_error *err) {
    const size_t size = td_dtype_size(adam->dtype);
    int in_place = chunk->slice * adam->ranks == chunk->count;
    for (int k = stage->first; k < stage->end && in_place; k++) {
        const td_adam_part *part = &adam->part[k];
        const size_t before = k > stage->first ? (size_t)part[-1].count * size : 0;
        if (k == stage->first)
            chunk->gradients = part->gradient, chunk->values = td_adam_value(adam, part);
        else
            in_place = part[-1].gradient + before == part->gradient &&
                       td_adam_value(adam, part - 1) + before == td_adam_value(adam, part);
    }
    if (in_place) return TD_OK;
    const size_t bytes = (size_t)(chunk->slice * adam->ranks) * size;
    chunk->copy = adam->engine.allocator.alloc(adam->engine.allocator.context, bytes, TD_MEM_COMMUNICATION);
    if (!chunk->copy) return td_fail(err, TD_NO_MEMORY, "Adam: no memory for a chunk of %zu bytes", bytes);
    chunk->gradients = chunk->values = chunk->copy;
    return TD_OK;
}

/* Where the parts of the walk over the flat array have come to. */
typedef struct cursor {
    int parameter;
    int64_t first; /* of the parameter's elements */
} cursor;

/* The next `count` elements of the flat array go to `owner`. */
static td_status add_run(td_adam *adam, cursor *at, int owner, int64_t count, td_error *err) {
    td_status status = TD_OK;
    while (count > 0 && !status) {
        const td_parameter *p = &adam->parameter[at->parameter];
        int64_t left = p->frozen ? 0 : p->count - at->first, take = left < count ? left : count;
        if (take > 0) status = td_adam_part_add(adam, at->parameter, owner, at->first, take, err);
        count -= take, at->first += take;
        if (take == left) at->parameter++, at->first = 0;
    }
    return status;
}

static td_status add_chunk(td_adam *adam, chunk *chunk, cursor *at, td_error *err) {
    td_status status = td_adam_stage_begin(adam, err);
    for (int r = 0; r < adam->ranks && !status; r++) {
        int64_t left = chunk->count - r * chunk->slice;
        if (left > 0) status = add_run(adam, at, r, left < chunk->slice ? left : chunk->slice, err);
    }
    if (status) return status;
    td_adam_stage *stage = &adam->stage[adam->stages - 1];
    status = place(adam, chunk, stage, err);
    char *gradient = chunk->copy;
    for (int k = stage->first; k < stage->end && gradient && !status; k++) {
        adam->part[k].gradient = gradient;
        gradient += (size_t)adam->part[k].count * td_dtype_size(adam->dtype);
    }
    return status;
}

static td_status divide(td_adam *adam, td_error *err) {
    int64_t total = 0;
    for (int i = 0; i < adam->n; i++) total += adam->parameter[i].frozen ? 0 : adam->parameter[i].count;
    const int64_t elements = chunk_elements(adam, total), chunks = total ? (total + elements - 1) / elements : 0;
    chunk *all = calloc((size_t)chunks + 1, sizeof *all);
    adam->shards = all;
    if (!all) return td_fail(err, TD_NO_MEMORY, "Adam: no memory to list %lld chunks", (long long)chunks);
    cursor at = {0, 0};
    td_status status = TD_OK;
    for (int64_t c = 0; c < chunks && !status; c++) {
        int64_t left = total - c * elements, count = left < elements ? left : elements;
        all[c].count = count, all[c].slice = (count + adam->ranks - 1) / adam->ranks;
        snprintf(all[c].gradients_label, sizeof all[c].gradients_label, "gradients %d", (int)c);
        snprintf(all[c].values_label, sizeof all[c].values_label, "values %d", (int)c);
        status = add_chunk(adam, &all[c], &at, err);
    }
    return status;
}

/* Copy the gradients, or the own values, of a chunk into its copy; or all values back. */
typedef enum direction { GRADIENTS_IN, OWN_VALUES_IN, OTHERS_VALUES_OUT } direction;

static td_status copy_parts(td_adam *adam, int stage, direction direction, td_error *err) {
    const chunk *chunk = (struct chunk *)adam->shards + stage;
    const size_t size = td_dtype_size(adam->dtype);
    td_status status = TD_OK;
    char *at = chunk->copy;
    for (int k = adam->stage[stage].first; k < adam->stage[stage].end && at && !status; k++) {
        const td_adam_part *part = &adam->part[k];
        const char *gradient = (char *)adam->parameter[part->parameter].gradient + (size_t)part->first * size;
        const size_t bytes = (size_t)part->count * size;
        if (direction == GRADIENTS_IN)
            status = adam->engine.copy(at, gradient, bytes, err);
        else if (direction == OWN_VALUES_IN && td_adam_owns(adam, part))
            status = adam->engine.copy(at, td_adam_value(adam, part), bytes, err);
        else if (direction == OTHERS_VALUES_OUT && !td_adam_owns(adam, part))
            status = adam->engine.copy(td_adam_value(adam, part), at, bytes, err);
        at += bytes;
    }
    if (status || !at || direction == OTHERS_VALUES_OUT) return status;
    /* what is sent beyond the last part: no result depends on it, but it must be something */
    return adam->engine.zero(at, (size_t)(chunk->slice * adam->ranks - chunk->count) * size, err);
}

static td_status start_gradients(td_adam *adam, int stage, td_error *err) {
    chunk *chunk = (struct chunk *)adam->shards + stage;
    const size_t own = (size_t)(adam->rank * chunk->slice) * td_dtype_size(adam->dtype);
    const td_call call = {.what = TD_REDUCE_SCATTER,
                          .dtype = adam->dtype,
                          .reduce = TD_SUM,
                          .count = chunk->slice,
                          .in = chunk->gradients,
                          .out = chunk->gradients + own,
                          .label = chunk->gradients_label};
    td_status status = copy_parts(adam, stage, GRADIENTS_IN, err);
    return status ? status : td_adam_start(adam, &call, &chunk->work, err);
}

static td_status start_values(td_adam *adam, int stage, td_error *err) {
    chunk *chunk = (struct chunk *)adam->shards + stage;
    const size_t own = (size_t)(adam->rank * chunk->slice) * td_dtype_size(adam->dtype);
    const td_call call = {.what = TD_ALL_GATHER,
                          .dtype = adam->dtype,
                          .count = chunk->slice,
                          .in = chunk->values + own,
                          .out = chunk->values,
                          .label = chunk->values_label};
    td_status status = copy_parts(adam, stage, OWN_VALUES_IN, err);
    return status ? status : td_adam_start(adam, &call, &chunk->work, err);
}

static td_status await_gradients(td_adam *adam, int stage, td_error *err) {
    return td_adam_await(adam, &((chunk *)adam->shards)[stage].work, err);
}

static td_status await_values(td_adam *adam, int stage, td_error *err) {
    chunk *chunk = (struct chunk *)adam->shards + stage;
    if (!chunk->work) return TD_OK; /* it holds no values */
    td_status status = td_adam_await(adam, &chunk->work, err);
    return status ? status : copy_parts(adam, stage, OTHERS_VALUES_OUT, err);
}

static void close(td_adam *adam) {
    const td_allocator *a = &adam->engine.allocator;
    chunk *all = adam->shards;
    for (int i = 0; i < adam->stages; i++)
        if (all[i].copy) a->free(a->context, all[i].copy);
    free(all);
}

const td_adam_plan td_adam_flat = {.divide = divide,
                                   .start_gradients = start_gradients,
                                   .await_gradients = await_gradients,
                                   .start_values = start_values,
                                   .await_values = await_values,
                                   .close = close};
