/* What rungs on the matrix units choose on the host, by which tensors are there and how each lies: every choice has an
 * answer. */
#include "../../checks/memory.h"
#include "../../checks/rungs.h"
#include "../../checks/trial.h"
#include <criterion/criterion.h>
#include <string.h>

static const td_attention_problem small = {1, 2, 1, 18, 21, 64, 0.125, TD_MASK_CAUSAL_BOTTOM_RIGHT, 0};

static const td_variant *right;
static unsigned unwanted; /* a bit an output, in the order of the operation's roles */

static td_status without_some(const td_problem *p, const td_tensor *t, void *w, void *stream, td_error *err) {
    const td_operation *operation = td_operation_of(p->op);
    td_tensor views[TD_MAX_TENSORS];
    memcpy(views, t, sizeof views);
    for (int k = 0, output = 0; k < operation->tensors; k++)
        if (operation->role[k].is_output && unwanted >> output++ & 1) views[operation->role[k].index].data = NULL;
    return right->run(p, views, w, stream, err);
}

Test(matrix_rungs, outputs_that_are_not_wanted_leave_the_others_right) {
    int checks = 0;
    for (const td_variant *const *v = td_emulated_variants; *v; v++) {
        if (!td_rung_on_matrix_units(*v)) continue;
        td_variant some = **v;
        some.run = without_some, right = *v;
        unsigned sets = some.op == TD_OP_ATTENTION_FORWARD ? 1 << 2 : 1 << 3;
        for (unwanted = 1; unwanted < sets; unwanted++, checks++) {
            td_rung_case c = {.problem = small, .wide_output = some.dtype == TD_FP16};
            td_check_result r;
            td_error err = {TD_OK, ""};
            cr_assert_eq(td_rung_check(&some, &c, NULL, &r, &err), TD_OK, "%s: %s", some.name, err.message);
            cr_assert(!r.reason[0], "%s without set %u: %s", some.name, unwanted, r.reason);
            for (int k = 0; k < r.outputs; k++)
                if (!(unwanted >> k & 1))
                    cr_assert_leq(r.output[k].verdict, TD_MARGINAL, "%s without set %u: %s err/tol %g", some.name,
                                  unwanted, r.output_name[k], r.output[k].err_over_tol);
        }
    }
    cr_assert_geq(checks, 20);
}

/* One element off in its address, or its rows 8 bytes further apart. */
static void displace(td_trial_plan *plan, int tensor, int by_rows) {
    td_tensor *view = &plan->view[tensor];
    if (!by_rows)
        plan->lead[tensor] = 1;
    else {
        int64_t row = view->size[3] + 4;
        view->stride[2] = row, view->stride[1] = view->size[2] * row;
        view->stride[0] = view->size[1] * view->stride[1];
    }
}

Test(matrix_rungs, one_tensor_that_16_byte_accesses_do_not_suit_changes_nothing) {
    td_allocator plain = td_plain_allocator();
    int checks = 0;
    for (const td_variant *const *v = td_emulated_variants; *v; v++) {
        if (!td_rung_on_matrix_units(*v)) continue;
        const td_operation *operation = td_operation_of((*v)->op);
        td_problem p = {.op = (*v)->op, .attention = small};
        for (int k = 0; k < operation->tensors; k++, checks++) {
            td_trial_plan plan;
            td_trial x; /* buffers for the tensors; the variant runs on others, like these */
            td_check_result r;
            td_error err = {TD_OK, ""};
            td_trial_plan_layout(&plan, *v, &p, TD_LAYOUT_CONTIGUOUS, (*v)->dtype);
            displace(&plan, operation->role[k].index, (*v)->dtype == TD_FP16);
            cr_assert_eq(td_trial_new_on(NULL, &x, *v, &p, &plan, &plain, &err), TD_OK, "%s", err.message);
            cr_assert_eq(td_trial_draw(&x, TD_FIXTURE_NORMAL, 1, (*v)->dtype, &err), TD_OK, "%s", err.message);
            cr_assert_eq(td_check_tensors(*v, &p, x.tensors, 0, NULL, &r, &err), TD_OK, "%s", err.message);
            cr_assert_leq(r.verdict, TD_MARGINAL, "%s, %s: %s err/tol %g", (*v)->name, operation->role[k].name,
                          r.reason, r.output[td_check_worst(&r)].err_over_tol);
            td_trial_free(&x);
        }
    }
    cr_assert_geq(checks, 50);
}
