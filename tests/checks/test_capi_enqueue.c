/* The C interface for callers with memory and a stream of their own. */
#include "../support.h"
#include "tandem/tandem.h"

static double x[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, o[12], want[12], room[16];
static td_problem problem = {.op = TD_OP_ATTENTION_FORWARD, .attention = {1, 1, 1, 4, 4, 3, 1, TD_MASK_NONE, 0}};

static void views(td_tensor *tensors, double *out) {
    for (int k = TD_Q; k <= TD_V; k++) tensors[k] = td_contiguous(x, TD_F64, 1, 1, 4, 3);
    tensors[TD_O] = td_contiguous(out, TD_F64, 1, 1, 4, 3);
    tensors[TD_LSE] = td_contiguous(NULL, TD_F64, 1, 1, 4, 1);
}

Test(capi_enqueue, gives_what_the_call_that_allocates_gives) {
    td_tensor tensors[TD_ATTENTION_TENSORS];
    td_error err = {TD_OK, ""};
    size_t bytes = 0;
    views(tensors, o);
    cr_assert_eq(td_workspace_bytes("dense_f64", &problem, &bytes, &err), TD_OK, "%s", err.message);
    cr_assert(bytes > 0 && bytes <= sizeof room);
    cr_assert_eq(td_enqueue("dense_f64", &problem, tensors, room, NULL, &err), TD_OK, "%s", err.message);
    tensors[TD_O].data = want;
    cr_assert_eq(td_attention_forward("dense_f64", &problem.attention, &tensors[TD_Q], &tensors[TD_K], &tensors[TD_V],
                                      &tensors[TD_O], NULL, NULL, &err),
                 TD_OK);
    cr_assert_arr_eq(o, want, sizeof o);
    cr_assert(o[11] > 0);
}

Test(capi_enqueue, refusals_name_the_parameter_and_leave_the_output) {
    td_tensor tensors[TD_ATTENTION_TENSORS];
    td_error err = {TD_OK, ""};
    size_t bytes = 7;
    views(tensors, o);
    o[0] = -1;
    cr_assert_eq(td_enqueue("dense_f64", &problem, tensors, NULL, NULL, &err), TD_BAD_PARAM);
    cr_assert(strstr(err.message, "workspace: must not be NULL"), "%s", err.message);
    cr_assert_eq(td_enqueue("dense_f64", NULL, tensors, room, NULL, &err), TD_BAD_PARAM);
    cr_assert_eq(td_enqueue("nothing", &problem, tensors, room, NULL, NULL), TD_BAD_PARAM);
    cr_assert_eq(td_enqueue("dense_f64", &problem, NULL, room, NULL, &err), TD_BAD_PARAM);
    cr_assert_eq(td_workspace_bytes("dense_f64", &problem, NULL, &err), TD_BAD_PARAM);
    td_problem odd = problem;
    odd.attention.scale = 1e300; /* beyond the float32 that this variant computes in */
    cr_assert_eq(td_workspace_bytes("dense_f32", &odd, &bytes, &err), TD_UNSUPPORTED);
    cr_assert(bytes == 7 && o[0] == -1);
}
