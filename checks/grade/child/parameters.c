#include "parameters.h"

td_status td_child_parameters(td_wire_reader *request, int with_values, td_ranks_call *call, td_parameter *parameter,
                              td_error *err) {
    if (!td_wire_get(request, call, sizeof *call) || call->parameters < 0 || call->parameters > TD_CHILD_PARAMETERS)
        return td_fail(err, TD_INTERNAL, "the request's head cannot be read");
    for (int i = 0; i < call->parameters; i++) {
        td_ranks_parameter p;
        if (!td_wire_get(request, &p, sizeof p))
            return td_fail(err, TD_INTERNAL, "the request ends before parameter %d", i);
        parameter[i] =
            (td_parameter){.count = p.count, .decay = p.decay, .dtype = TD_F32, .uses = p.uses, .frozen = p.frozen};
        snprintf(parameter[i].name, sizeof parameter[i].name, "p%d", i);
    }
    for (int i = 0; i < call->parameters; i++) {
        char name[32];
        const size_t bytes = (size_t)parameter[i].count * sizeof(float);
        td_wire_reader same = *request;
        snprintf(name, sizeof name, "p%d's gradient", i);
        parameter[i].gradient = td_child_array(request, name, bytes, 1, err);
        snprintf(name, sizeof name, "p%d's value", i);
        if (with_values) parameter[i].value = td_child_array(&same, name, bytes, 1, err);
        if (!parameter[i].gradient || (with_values && !parameter[i].value)) return TD_INTERNAL;
    }
    return TD_OK;
}
