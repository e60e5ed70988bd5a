/* Exercise of lesson 7: steps of Adam, on this rank. Each step's gradients come from the parent, a piece at a time, so
 * that memory beside the submission's own stays small; values go back the same way. */
#include "parameters.h"
#include "tandem/exercise/sharded_adam.h"
#include <malloc.h>

static td_parameter parameter[TD_CHILD_PARAMETERS];

static td_status fetch_gradient(int i, td_error *err) {
    const int64_t bytes = parameter[i].count * (int64_t)sizeof(float);
    for (int64_t at = 0, piece; at < bytes; at += piece) {
        const td_ask_parameter ask = {at, i, 0};
        td_wire_reader answer;
        td_status status = td_child_ask_world(TD_ASK_GRADIENT, &ask, sizeof ask, &answer, err);
        if (status) return status;
        piece = bytes - at < TD_RANKS_PIECE ? bytes - at : TD_RANKS_PIECE;
        if (!td_wire_get(&answer, (char *)parameter[i].gradient + at, (size_t)piece))
            return td_fail(err, TD_INTERNAL, "%s: its gradient is too short", parameter[i].name);
    }
    return TD_OK;
}

static td_status send_value(int i, td_error *err) {
    const int64_t bytes = parameter[i].count * (int64_t)sizeof(float);
    for (int64_t at = 0, piece; at < bytes; at += piece) {
        const td_ask_parameter ask = {at, i, 0};
        td_wire_reader answer;
        piece = bytes - at < TD_RANKS_PIECE ? bytes - at : TD_RANKS_PIECE;
        const char *values = (const char *)parameter[i].value + at;
        td_status status = td_child_ask_with(TD_ASK_VALUE, &ask, sizeof ask, values, piece, &answer, err);
        if (status) return status;
    }
    return TD_OK;
}

/* Values are sent when the parent wants to see them. */
static td_status steps(const td_ranks_call *call, exercise_adam *adam, td_error *err) {
    td_status status = TD_OK;
    for (int step = 0; !status && step <= call->steps; step++) {
        td_wire_reader answer;
        int32_t wanted;
        if ((status = td_child_ask_world(TD_ASK_STEP, NULL, 0, &answer, err))) return status;
        if (!td_wire_get(&answer, &wanted, sizeof wanted)) return td_fail(err, TD_INTERNAL, "a step cannot be read");
        for (int i = 0; wanted && !status && i < call->parameters; i++) status = send_value(i, err);
        if (step == call->steps) return status;
        for (int i = 0; !status && i < call->parameters; i++) status = fetch_gradient(i, err);
        if (!status && adam) status = exercise_adam_step(adam, err);
    }
    return status;
}

td_status td_child_serve(uint32_t what, td_wire_reader *request, td_wire_buffer *reply, td_error *err) {
    td_ranks_call call;
    exercise_adam *adam = NULL;
    (void)reply;
#ifdef __GLIBC__
    mallopt(M_PERTURB, 0x80); /* whatever is allocated is also written: what it takes shows, though nobody uses it */
#endif
    td_status status = td_child_parameters(request, 1, &call, parameter, err);
    if (status || what == TD_ADAM_IDLE) return status ? status : steps(&call, NULL, err);
    const td_exercise_adam_config config = {call.config[0], call.config[1], call.config[2], call.config[3],
                                            call.config[4]};
    status = exercise_adam_new(&adam, td_child_comm(call.rank, call.ranks), parameter, call.parameters, &config, err);
    if (!status && !adam) return td_fail(err, TD_WRONG, "exercise_adam_new returned TD_OK and no exercise_adam");
    if (!status) status = steps(&call, adam, err);
    if (!status) exercise_adam_delete(adam);
    return status;
}
