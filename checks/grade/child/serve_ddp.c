/* Exercise of lesson 6: backward, on this rank. Its gradients come from the parent, one at a time, and each is
 * announced as soon as it stands in its array; then the step's results go back. */
#include "parameters.h"
#include "tandem/exercise/ddp.h"

static td_parameter parameter[TD_CHILD_PARAMETERS];

/* Backward adds to gradients, so they must be zero before, and in nobody else's hands now. */
static td_status backward_writes(const td_comm *comm, const td_parameter *p, int i, const float *values,
                                 td_error *err) {
    td_error held;
    td_wire_reader answer;
    if (comm->writable(comm, p->gradient, (size_t)p->count * sizeof(float), &held)) {
        td_ask_early early = {i, ""};
        snprintf(early.label, sizeof early.label, "%.47s", held.message);
        return td_child_ask_world(TD_ASK_EARLY, &early, sizeof early, &answer, err);
    }
    for (int64_t k = 0; k < p->count; k++) ((float *)p->gradient)[k] += values[k];
    return TD_OK;
}

static td_status backward(exercise_ddp *ddp, const td_comm *comm, int parameters, double *factor, td_error *err) {
    for (;;) {
        td_ddp_next next;
        td_wire_reader answer;
        td_status status = td_child_ask_world(TD_ASK_NEXT, NULL, 0, &answer, err);
        if (status) return status;
        if (!td_wire_get(&answer, &next, sizeof next) || next.parameter >= parameters)
            return td_fail(err, TD_INTERNAL, "the next gradient cannot be read");
        *factor = next.factor;
        if (next.parameter < 0) return TD_OK;
        const td_parameter *p = &parameter[next.parameter];
        const void *values = td_wire_take(&answer, (size_t)p->count * sizeof(float));
        if (!values) return td_fail(err, TD_INTERNAL, "%s: its gradient is too short", p->name);
        if ((status = backward_writes(comm, p, next.parameter, values, err)) ||
            (status = exercise_ddp_ready(ddp, next.parameter, err)))
            return status;
    }
}

static td_status one_step(exercise_ddp *ddp, const td_comm *comm, int parameters, td_error *err) {
    double factor = 0;
    td_wire_buffer results = {NULL, 0, 0, 0};
    td_wire_reader answer;
    for (int i = 0; i < parameters; i++)
        if (!parameter[i].frozen && parameter[i].count)
            memset(parameter[i].gradient, 0, (size_t)parameter[i].count * sizeof(float));
    td_status status = exercise_ddp_begin(ddp, err);
    if (!status) status = backward(ddp, comm, parameters, &factor, err);
    if (!status) status = exercise_ddp_finish(ddp, factor, err);
    if (status) return status;
    for (int i = 0; i < parameters; i++)
        td_wire_put(&results, parameter[i].gradient, (size_t)parameter[i].count * sizeof(float));
    status = results.failed ? td_fail(err, TD_NO_MEMORY, "no memory for the step's results")
                            : td_child_ask_world(TD_ASK_STEP_DONE, results.data, results.bytes, &answer, err);
    td_wire_free(&results);
    return status;
}

static td_status steps(td_wire_reader *request, td_error *err) {
    td_ranks_call call;
    exercise_ddp *ddp = NULL;
    td_status status = td_child_parameters(request, 0, &call, parameter, err);
    if (status) return status;
    td_comm *comm = td_child_comm(call.rank, call.ranks);
    status = exercise_ddp_new(&ddp, comm, parameter, call.parameters, (size_t)call.cap_bytes, err);
    if (!status && !ddp) return td_fail(err, TD_WRONG, "exercise_ddp_new returned TD_OK and no exercise_ddp");
    for (int step = 0; !status && step < call.steps; step++) status = one_step(ddp, comm, call.parameters, err);
    if (!status) exercise_ddp_delete(ddp);
    return status;
}

static td_status factor(td_wire_reader *request, td_wire_buffer *reply, td_error *err) {
    td_ranks_call call;
    double value;
    memset(&value, 0xFF, sizeof value);
    td_status status = td_child_parameters(request, 0, &call, parameter, err);
    if (!status) status = exercise_ddp_factor(td_child_comm(call.rank, call.ranks), call.counted, &value, err);
    td_wire_put(reply, &value, sizeof value);
    return status;
}

td_status td_child_serve(uint32_t what, td_wire_reader *request, td_wire_buffer *reply, td_error *err) {
    return what == TD_DDP_FACTOR ? factor(request, reply, err) : steps(request, err);
}
