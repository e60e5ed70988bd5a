/* One step of Adam, whatever the sharding: gradients reduced, looked at, clipped; the update; values sent. Stage by
 * stage, so that the link carries one while another is computed; but no update starts before all gradients have been
 * looked at, on all ranks. */
#include "shards.h"
#include <math.h>

static td_status agree(td_adam *adam, td_reduce reduce, double *values, int count, const char *label, td_error *err) {
    return adam->comm ? td_comm_agree(adam->comm, reduce, values, count, label, err) : TD_OK;
}

/* What looking found: the first gradient that is not finite, and this rank's share of Σ gradient². */
typedef struct findings {
    double parameter, element; /* INFINITY if all are finite */
    double squares;
} findings;

static td_status look(td_adam *adam, const td_adam_stage *stage, findings *found, td_error *err) {
    int bad = -1;
    int64_t element;
    td_status status = adam->engine.first_not_finite(
        adam->look + stage->first_look, stage->end_look - stage->first_look, adam->dtype, &bad, &element, err);
    if (!status && bad >= 0) {
        const td_adam_part *part = &adam->part[adam->look_part[stage->first_look + bad]];
        if (part->parameter < found->parameter)
            found->parameter = part->parameter, found->element = (double)(part->first + element);
    }
    if (status || adam->config.max_norm <= 0) return status;
    double squares;
    status = adam->engine.sum_of_squares(adam->gradient + stage->first_slice, stage->end_slice - stage->first_slice,
                                         adam->dtype, &squares, err);
    if (!status) found->squares += squares;
    return status;
}

/* Every rank refuses if one has to, and names the same element. */
static td_status refuse(td_adam *adam, findings *found, td_error *err) {
    double first = found->parameter;
    td_status status = agree(adam, TD_MIN, &first, 1, "gradients finite", err);
    if (status || isinf(first)) return status;
    if (found->parameter != first) found->element = INFINITY;
    status = agree(adam, TD_MIN, &found->element, 1, "element not finite", err);
    if (status) return status;
    return td_fail(err, TD_WRONG, "gradient of %s, element %.0f, is not finite: step refused",
                   adam->parameter[(int)first].name, found->element);
}

/* The norm over all ranks' shares, each rank's in its own place, then added in the order of ranks: the same bits on
 * every rank, however the reduction goes about it. */
static td_status clip(td_adam *adam, double squares, double *norm, double *factor, td_error *err) {
    *factor = 1;
    if (adam->config.max_norm <= 0) return TD_OK;
    const int everybody = adam->plan->start_values == NULL; /* full: every rank has the sum already */
    td_status status = TD_OK;
    if (!everybody) {
        for (int r = 0; r < adam->ranks; r++) adam->squares[r] = r == adam->rank ? squares : 0;
        status = agree(adam, TD_SUM, adam->squares, adam->ranks, "norm of gradients", err);
        squares = 0;
        for (int r = 0; r < adam->ranks; r++) squares += adam->squares[r];
    }
    *norm = sqrt(squares);
    if (*norm > adam->config.max_norm) *factor = adam->config.max_norm / *norm;
    return status;
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
    for (int i = 0; i < adam->stages && !status && adam->plan->await_values; i++)
        status = adam->plan->await_values(adam, i, err);
    return status;
}

td_status td_adam_step(td_adam *adam, td_error *err) {
    findings found = {INFINITY, INFINITY, 0};
    double factor, norm = 0;
    td_status status = TD_OK;
    for (int i = 0; i < adam->stages && !status && adam->plan->start_gradients; i++)
        status = adam->plan->start_gradients(adam, i, err);
    for (int i = 0; i < adam->stages && !status; i++) {
        if (adam->plan->await_gradients) status = adam->plan->await_gradients(adam, i, err);
        if (!status) status = look(adam, &adam->stage[i], &found, err);
    }
    if (!status) status = refuse(adam, &found, err);
    if (!status) status = clip(adam, found.squares, &norm, &factor, err);
    if (status) return status;
    adam->steps++, adam->norm = norm;
    return update(adam, factor, err);
}
