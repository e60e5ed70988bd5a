/* One step of Adam, whatever the sharding: gradients reduced, looked at, clipped; then, stage by stage, the update and
 * the values sent, so that the link carries one stage while the next is computed. No update starts before all gradients
 * have been looked at, on all ranks. */
#include "shards.h"
#include <math.h>

td_status td_adam_start(td_adam *adam, const td_call *call, td_work **work, td_error *err) {
    td_status status = adam->comm->start(adam->comm, call, work, err);
    if (status) *work = NULL;
    return status;
}

td_status td_adam_await(td_adam *adam, td_work **work, td_error *err) {
    td_status status = *work ? adam->comm->await(adam->comm, *work, err) : TD_OK;
    *work = NULL;
    return status;
}

/* Of every stage, after `status`; the first failure is the one told. */
static td_status await_stages(td_adam *adam, td_status (*await)(td_adam *adam, int stage, td_error *err),
                              td_status status, td_error *err) {
    for (int i = 0; i < adam->stages && await; i++) {
        td_status one = await(adam, i, status ? NULL : err);
        if (!status) status = one;
    }
    return status;
}

static td_status agree(td_adam *adam, td_reduce reduce, double *values, int count, const char *label, td_error *err) {
    return adam->comm ? td_comm_agree(adam->comm, reduce, values, count, label, err) : TD_OK;
}

/* Every rank refuses if one has to, and names the same element. */
static td_status refuse_if_not_finite(td_adam *adam, td_error *err) {
    int bad;
    int64_t k;
    double found[2] = {INFINITY, INFINITY}; /* parameter, its element */
    td_status status = adam->engine.first_not_finite(adam->look, adam->looks, adam->dtype, &bad, &k, err);
    if (!status && bad >= 0) {
        const td_adam_part *part = &adam->part[adam->look_part[bad]];
        found[0] = part->parameter, found[1] = (double)(part->first + k);
    }
    double first = found[0];
    if (!status) status = agree(adam, TD_MIN, &first, 1, "gradients finite", err);
    if (status || isinf(first)) return status;
    if (found[0] != first) found[1] = INFINITY;
    status = agree(adam, TD_MIN, &found[1], 1, "element not finite", err);
    if (status) return status;
    return td_fail(err, TD_WRONG, "gradient of %s, element %.0f, is not finite: step refused",
                   adam->parameter[(int)first].name, found[1]);
}

/* The norm over all ranks' shares, each rank's in its own place, then added in the order of ranks: the same bits on
 * every rank, however the reduction goes about it. */
static td_status clip(td_adam *adam, double *norm, double *factor, td_error *err) {
    *factor = 1, *norm = 0;
    if (adam->config.max_norm <= 0) return TD_OK;
    double sum;
    td_status status = adam->engine.sum_of_squares(adam->gradient, adam->slices, adam->dtype, &sum, err);
    if (!status && adam->plan->start_values) { /* full: every rank has it all */
        for (int r = 0; r < adam->ranks; r++) adam->squares[r] = r == adam->rank ? sum : 0;
        status = agree(adam, TD_SUM, adam->squares, adam->ranks, "norm of gradients", err);
        sum = 0;
        for (int r = 0; r < adam->ranks; r++) sum += adam->squares[r];
    }
    if (status) return status;
    *norm = sqrt(sum);
    if (isinf(*norm)) return td_fail(err, TD_WRONG, "the gradients' squares overflow: step refused");
    if (*norm > adam->config.max_norm) *factor = adam->config.max_norm / *norm;
    return TD_OK;
}

static td_status update(td_adam *adam, double factor, td_error *err) {
    td_adam_call call = {adam->config.beta1, adam->config.beta2, adam->config.eps, factor, adam->steps, {{0, 0}}};
    for (int g = 0; g < TD_ADAM_USER_GROUPS; g++) {
        call.group[2 * g] = (td_adam_group){adam->group[g].lr, 0};
        call.group[2 * g + 1] = adam->group[g];
    }
    td_status status = TD_OK;
    for (int i = 0; i < adam->stages && !status; i++) {
        status = adam->engine.adam(adam->stage[i].table, &call, err);
        if (!status && adam->plan->start_values) status = adam->plan->start_values(adam, i, err);
    }
    return await_stages(adam, adam->plan->await_values, status, err);
}

td_status td_adam_step(td_adam *adam, td_error *err) {
    const td_adam_plan *plan = adam->plan;
    double factor, norm;
    td_status status = TD_OK;
    for (int i = 0; i < adam->stages && !status && plan->start_gradients; i++)
        status = plan->start_gradients(adam, i, err);
    status = await_stages(adam, plan->await_gradients, status, err);
    if (!status && adam->comm) status = td_comm_finish(adam->comm, err);
    if (!status) status = refuse_if_not_finite(adam, err);
    if (!status) status = clip(adam, &norm, &factor, err);
    if (status) return status;
    adam->steps++, adam->norm = norm;
    return update(adam, factor, err);
}
