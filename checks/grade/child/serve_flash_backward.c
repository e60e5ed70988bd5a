/* Lesson 5 in the child: one call of exercise_flash_backward. */
#include "child.h"
#include "tandem/exercise/flash_backward.h"

td_status td_child_serve(uint32_t what, td_wire_reader *request, td_wire_buffer *reply, td_error *err) {
    static const char *const names[TD_ATTENTION_TENSORS] = {"Q", "K", "V", "O", "LSE", "dO", "dQ", "dK", "dV"};
    td_attention_problem problem;
    td_tensor t[TD_ATTENTION_TENSORS];
    if (what != 0 || !td_wire_get(request, &problem, sizeof problem))
        return td_fail(err, TD_INTERNAL, "a request that is no problem of attention");
    for (int k = 0; k < TD_ATTENTION_TENSORS; k++) {
        td_status s = td_child_tensor(request, names[k], &t[k], err);
        if (s) return s;
    }
    td_status s = exercise_flash_backward(&problem, t, err);
    td_child_outputs(reply);
    return s;
}
