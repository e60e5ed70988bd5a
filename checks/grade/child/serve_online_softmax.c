/* Lesson 3 in the child: one call of exercise_online_softmax. */
#include "child.h"
#include "tandem/exercise/online_softmax.h"

td_status td_child_serve(uint32_t what, td_wire_reader *request, td_wire_buffer *reply, td_error *err) {
    static const char *const names[] = {"Q", "K", "V", "O", "LSE"};
    td_attention_problem problem;
    td_tensor t[TD_LSE + 1];
    if (what != 0 || !td_wire_get(request, &problem, sizeof problem))
        return td_fail(err, TD_INTERNAL, "a request that is no problem of attention");
    for (int k = TD_Q; k <= TD_LSE; k++) {
        td_status s = td_child_tensor(request, names[k], &t[k], err);
        if (s) return s;
    }
    td_status s = exercise_online_softmax(&problem, &t[TD_Q], &t[TD_K], &t[TD_V], &t[TD_O], &t[TD_LSE], err);
    td_child_outputs(reply);
    return s;
}
