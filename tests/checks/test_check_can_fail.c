/* The harness against itself: on every variant there is, an error of a few tolerances in one element turns the verdict,
 * and a variant whose device is absent is skipped, not passed. */
#include "../../checks/check.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* What `spoil` does: the answer of `inner`, with one element of one output moved. */
static const td_variant *inner;
static int spoiled_tensor;
static int64_t spoiled_at[4];
static double spoiled_by;

static td_status spoil(const td_problem *p, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    td_status s = inner->run(p, t, workspace, stream, err);
    const int64_t *at = spoiled_at;
    const td_tensor *out = &t[spoiled_tensor];
    td_set(out, at[0], at[1], at[2], at[3], td_get(out, at[0], at[1], at[2], at[3]) + spoiled_by);
    return s;
}

static td_problem small_problem(td_op op) {
    if (td_op_is_attention(op))
        return (td_problem){.op = op, .attention = {2, 4, 2, 18, 21, 8, 0.35, TD_MASK_CAUSAL_BOTTOM_RIGHT, 8}};
    return (td_problem){.op = op, .matrix = {9, 11, op == TD_OP_GEMM ? 13 : 0}};
}

static td_check_result checked(const td_variant *v, td_fixture fixture) {
    td_problem p = small_problem(v->op);
    td_check_options o = td_check_defaults(v);
    td_check_result r;
    td_error err = {TD_OK, ""};
    o.fixture = fixture;
    cr_assert_eq(td_check(v, &p, &o, NULL, &r, &err), TD_OK, "%s: %s", v->name, err.message);
    return r;
}

static int tensor_named(td_op op, const char *name) {
    const td_operation *operation = td_operation_of(op);
    for (int k = 0; k < operation->tensors; k++)
        if (!strcmp(operation->role[k].name, name)) return operation->role[k].index;
    return -1;
}

Test(check_can_fail, one_element_off_by_three_tolerances_fails_in_every_variant) {
    int outputs = 0;
    for (int i = 0; (inner = td_variant_at(i)); i++) {
        if (inner->mistake || inner->backend != TD_CPU) continue;
        for (int b = 0; b < 2; b++) { /* by GATE, and by HARD */
            td_fixture f = b == 0 ? TD_FIXTURE_NORMAL : TD_FIXTURE_ONE_HOT;
            td_check_result right = checked(inner, f);
            if (right.verdict == TD_SKIP && strstr(right.reason, "it is the reference")) continue;
            cr_assert_eq(right.uses_hard, b);
            cr_assert(right.verdict == TD_PASS || right.verdict == TD_MARGINAL, "%s: %s", inner->name, right.reason);
            for (int k = 0; k < right.outputs; k++, outputs++) {
                const td_comparison *c = &right.output[k];
                cr_assert_gt(c->tol, 0, "%s: worst element of %s has no tolerance", inner->name, right.output_name[k]);
                spoiled_tensor = tensor_named(inner->op, right.output_name[k]);
                memcpy(spoiled_at, c->worst, sizeof spoiled_at);
                for (int sign = -1; sign <= 1; sign += 2) {
                    spoiled_by = sign * 3 * c->tol;
                    td_variant v = *inner;
                    v.run = spoil;
                    td_check_result r = checked(&v, f);
                    cr_assert(r.verdict == TD_FAIL && r.output[k].wrong == 1, "%s passes on %s with %s off by %g",
                              inner->name, td_fixture_name(f), right.output_name[k], spoiled_by);
                    cr_assert_eq(memcmp(r.output[k].worst, spoiled_at, sizeof spoiled_at), 0, "%s", inner->name);
                }
            }
        }
    }
    cr_assert_geq(outputs, 40);
}

static td_status no_device(const td_problem *p, td_error *why) {
    (void)p;
    return td_fail(why, TD_NO_DEVICE, "no GPU on this machine");
}

static td_status never(const td_problem *p, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    (void)p, (void)t, (void)workspace, (void)stream, (void)err;
    cr_assert_fail("ran without its device");
    return TD_OK;
}

Test(check_can_fail, an_absent_device_is_a_skip_with_its_reason) {
    td_variant v = *td_variant_find("dense_f32");
    v.backend = TD_CUDA;
    v.supports = no_device;
    v.run = never;
    td_check_result r = checked(&v, TD_FIXTURE_NORMAL);
    cr_assert_eq(r.verdict, TD_SKIP);
    cr_assert_str_eq(r.reason, "no GPU on this machine");
    cr_assert_eq(r.outputs, 0, "nothing was computed, so there are no numbers");
    cr_assert_str_eq(td_verdict_name(r.verdict), "SKIP");
}
