/* Adam's life: made with its division over ranks, its settings, deleted. A step stands in step.c. */
#include "shards.h"
#include <math.h>
#include <stdlib.h>

td_status td_adam_validate_group(double lr, double weight_decay, td_error *err) {
    if (!(lr >= 0 && isfinite(lr))) return td_fail(err, TD_BAD_PARAM, "lr = %g: must be 0 or more", lr);
    if (!(weight_decay >= 0 && isfinite(weight_decay)))
        return td_fail(err, TD_BAD_PARAM, "weight_decay = %g: must be 0 or more", weight_decay);
    return TD_OK;
}

td_status td_adam_validate(const td_adam_config *c, td_error *err) {
    if (!(c->beta1 >= 0 && c->beta1 < 1))
        return td_fail(err, TD_BAD_PARAM, "beta1 = %g: must be at least 0 and below 1", c->beta1);
    if (!(c->beta2 >= 0 && c->beta2 < 1))
        return td_fail(err, TD_BAD_PARAM, "beta2 = %g: must be at least 0 and below 1", c->beta2);
    if (!(c->eps > 0 && isfinite(c->eps))) return td_fail(err, TD_BAD_PARAM, "eps = %g: must be above 0", c->eps);
    if (!(c->max_norm >= 0 && isfinite(c->max_norm)))
        return td_fail(err, TD_BAD_PARAM, "max_norm = %g: must be 0 (not clipped) or more", c->max_norm);
    return td_adam_validate_group(c->lr, c->weight_decay, err);
}

static td_status validate_parameters(const td_adam *adam, td_error *err) {
    for (int i = 0; i < adam->n; i++) {
        const td_parameter *p = &adam->parameter[i];
        if (p->count < 0)
            return td_fail(err, TD_BAD_PARAM, "%s: count = %lld: must be 0 or more", p->name, (long long)p->count);
        if (p->group < 0 || p->group >= TD_ADAM_USER_GROUPS)
            return td_fail(err, TD_BAD_PARAM, "%s: group = %d: legal are 0 to %d", p->name, p->group,
                           TD_ADAM_USER_GROUPS - 1);
    }
    return TD_OK;
}

static td_status validate_ranks(td_adam_sharding sharding, const td_comm *comm, const td_engine *engine,
                                td_error *err) {
    if ((unsigned)sharding > TD_ADAM_FLAT)
        return td_fail(err, TD_BAD_PARAM, "sharding = %d: legal are full, by parameter and flat (0 to 2)", sharding);
    if (!comm && sharding != TD_ADAM_FULL)
        return td_fail(err, TD_BAD_PARAM, "comm = NULL: only full Adam works without ranks");
    if (comm && sharding != TD_ADAM_FULL && (comm->backend == TD_CUDA) != (engine->backend == TD_CUDA))
        return td_fail(err, TD_BAD_PARAM, "comm %s cannot reach the engine's memory", comm->name);
    return TD_OK;
}

static td_status no_memory(td_error *err) {
    return td_fail(err, TD_NO_MEMORY, "Adam: no memory to list who owns what");
}

td_status td_adam_stage_begin(td_adam *adam, td_error *err) {
    td_adam_stage *longer = realloc(adam->stage, (size_t)(adam->stages + 1) * sizeof *longer);
    if (!longer) return no_memory(err);
    adam->stage = longer;
    longer[adam->stages++] = (td_adam_stage){.first = adam->parts, .end = adam->parts};
    return TD_OK;
}

td_status td_adam_part_add(td_adam *adam, int parameter, int owner, int64_t first, int64_t count, td_error *err) {
    if (adam->parts == adam->room) {
        adam->room = adam->room ? 2 * adam->room : 64;
        td_adam_part *longer = realloc(adam->part, (size_t)adam->room * sizeof *longer);
        if (!longer) return no_memory(err);
        adam->part = longer;
    }
    char *gradient = (char *)adam->parameter[parameter].gradient + (size_t)first * td_dtype_size(adam->dtype);
    adam->part[adam->parts++] = (td_adam_part){parameter, owner, first, count, gradient, NULL, NULL};
    adam->stage[adam->stages - 1].end = adam->parts;
    return TD_OK;
}

/* m and v of what this rank owns: nothing else takes memory of the optimizer's tag. */
static td_status make_states(td_adam *adam, td_error *err) {
    const td_allocator *a = &adam->engine.allocator;
    size_t bytes = 0, at = 0, size = td_dtype_size(adam->dtype);
    for (int k = 0; k < adam->parts; k++)
        if (td_adam_owns(adam, &adam->part[k])) bytes += (size_t)adam->part[k].count * size;
    adam->m = a->alloc(a->context, bytes, TD_MEM_OPTIMIZER);
    adam->v = a->alloc(a->context, bytes, TD_MEM_OPTIMIZER);
    if (!adam->m || !adam->v) return td_fail(err, TD_NO_MEMORY, "Adam: no memory for %zu bytes of m and v", 2 * bytes);
    for (int k = 0; k < adam->parts; k++) {
        if (!td_adam_owns(adam, &adam->part[k])) continue;
        adam->part[k].m = adam->m + at, adam->part[k].v = adam->v + at;
        at += (size_t)adam->part[k].count * size;
    }
    td_status status = adam->engine.zero(adam->m, bytes, err);
    return status ? status : adam->engine.zero(adam->v, bytes, err);
}

static void add_slice(td_adam *adam, const td_adam_part *part) {
    const td_parameter *p = &adam->parameter[part->parameter];
    /* a group of the caller's is two of the engine's: without decay, and with it */
    const int group = 2 * p->group + (p->decay != 0);
    adam->gradient[adam->slices] = (td_slice){part->gradient, part->count};
    adam->slice[adam->slices++] =
        (td_adam_slice){td_adam_value(adam, part), part->gradient, part->m, part->v, part->count, group};
}

/* What the engine is given in a step: made once. */
static td_status make_slices(td_adam *adam, td_error *err) {
    size_t room = adam->parts ? (size_t)adam->parts : 1;
    adam->slice = calloc(room, sizeof *adam->slice);
    adam->gradient = calloc(room, sizeof *adam->gradient);
    adam->look = calloc(room, sizeof *adam->look);
    adam->look_part = calloc(room, sizeof *adam->look_part);
    adam->squares = calloc((size_t)adam->ranks, sizeof *adam->squares);
    if (!adam->slice || !adam->gradient || !adam->look || !adam->look_part || !adam->squares) return no_memory(err);
    td_status status = TD_OK;
    for (int i = 0; i < adam->stages && !status; i++) {
        td_adam_stage *stage = &adam->stage[i];
        stage->first_slice = adam->slices;
        for (int k = stage->first; k < stage->end; k++) {
            const td_adam_part *part = &adam->part[k];
            if (td_adam_owns(adam, part)) add_slice(adam, part);
            if (!td_adam_owns(adam, part) && !adam->plan->reduced_before) continue;
            adam->look[adam->looks] = (td_slice){part->gradient, part->count};
            adam->look_part[adam->looks++] = k;
        }
        stage->end_slice = adam->slices;
        status = adam->engine.adam_table(&stage->table, adam->slice + stage->first_slice,
                                         stage->end_slice - stage->first_slice, adam->dtype, err);
    }
    return status;
}

td_status td_adam_new(td_adam **out, td_adam_sharding sharding, td_parameter *parameters, int n, td_dtype dtype,
                      const td_adam_config *config, td_comm *comm, const td_engine *engine, td_error *err) {
    static const td_adam_plan *const plans[] = {&td_adam_full, &td_adam_by_parameter, &td_adam_flat};
    *out = NULL;
    td_status status = td_adam_validate(config, err);
    if (!status) status = validate_ranks(sharding, comm, engine, err);
    if (status) return status;
    td_adam *adam = calloc(1, sizeof *adam);
    if (!adam) return no_memory(err);
    *adam = (td_adam){.plan = plans[sharding],
                      .parameter = parameters,
                      .n = n,
                      .dtype = dtype,
                      .config = *config,
                      .comm = comm,
                      .rank = comm ? comm->rank : 0,
                      .ranks = comm ? comm->ranks : 1,
                      .engine = *engine};
    for (int g = 0; g < TD_ADAM_USER_GROUPS; g++) adam->group[g] = (td_adam_group){config->lr, config->weight_decay};
    status = validate_parameters(adam, err);
    if (!status) status = adam->plan->divide(adam, err);
    if (!status) status = make_states(adam, err);
    if (!status) status = make_slices(adam, err);
    if (status)
        td_adam_delete(adam);
    else
        *out = adam;
    return status;
}

void td_adam_delete(td_adam *adam) {
    if (!adam) return;
    const td_allocator *a = &adam->engine.allocator;
    if (adam->plan->close) adam->plan->close(adam);
    for (int i = 0; i < adam->stages; i++)
        if (adam->stage[i].table) adam->engine.adam_table_free(adam->stage[i].table);
    if (adam->m) a->free(a->context, adam->m);
    if (adam->v) a->free(a->context, adam->v);
    free(adam->part), free(adam->stage), free(adam->slice), free(adam->gradient);
    free(adam->look), free(adam->look_part), free(adam->squares), free(adam);
}

td_status td_adam_set_group(td_adam *adam, int group, double lr, double weight_decay, td_error *err) {
    if (group < 0 || group >= TD_ADAM_USER_GROUPS)
        return td_fail(err, TD_BAD_PARAM, "group = %d: legal are 0 to %d", group, TD_ADAM_USER_GROUPS - 1);
    td_status status = td_adam_validate_group(lr, weight_decay, err);
    if (!status) adam->group[group] = (td_adam_group){lr, weight_decay};
    return status;
}

int64_t td_adam_steps(const td_adam *adam) {
    return adam->steps;
}

double td_adam_norm(const td_adam *adam) {
    return adam->norm;
}

td_owned td_adam_owned(const td_adam *adam, int i, int piece) {
    for (const td_adam_part *part = adam->part; part < adam->part + adam->parts; part++)
        if (part->parameter == i && td_adam_owns(adam, part) && part->count && piece-- == 0)
            return (td_owned){part->first, part->count, part->m, part->v};
    return (td_owned){0, 0, NULL, NULL};
}
