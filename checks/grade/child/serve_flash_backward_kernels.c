/* Lesson 5's kernels in the child: one call of exercise_flash_backward_kernels. */
#include "kernels.h"
#include "tandem/exercise/flash_backward.h"

td_status td_child_kernels(const td_device *device, td_wire_reader *request, td_error *err) {
    static const char *const names[TD_ATTENTION_TENSORS] = {"Q", "K", "V", "O", "LSE", "dO", "dQ", "dK", "dV"};
    td_attention_problem problem;
    td_tensor t[TD_ATTENTION_TENSORS];
    void *D;
    if (!td_wire_get(request, &problem, sizeof problem))
        return td_fail(err, TD_INTERNAL, "a request that is no problem of attention");
    for (int k = 0; k < TD_ATTENTION_TENSORS; k++) {
        td_status s = td_child_device_tensor(device, request, names[k], &t[k], err);
        if (s) return s;
    }
    td_status s =
        td_child_device_room(device, "D", (size_t)(problem.B * problem.Hq * problem.Tq) * sizeof(float), &D, err);
    return s ? s : exercise_flash_backward_kernels(&problem, t, D, device->stream, err);
}
