/* Naming a mistake: every known one is named from a float32 or bf16 run of it; an answer that is wrong in a way of its
 * own, or right, gets no name. */
#include "../../checks/check.h"
#include "../../cpu_ref/attention_forward/attention_forward.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const td_variant *copied; /* the mistake that `imitate` makes */

/* The mistake's answer with the rounding errors that a run in float32 would have. */
static td_status imitate(const td_problem *p, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    td_status s = copied->run(p, t, workspace, stream, err);
    int64_t n = 0;
    const td_operation *operation = td_operation_of(p->op);
    for (int k = 0; k < operation->tensors; k++)
        for (int64_t e = 0; operation->role[k].is_output && e < td_count(&t[k]); e++, n++)
            td_store(&t[k], e, td_load(&t[k], e) * (1 + (double)(n % 7 - 3) * 0x1p-24));
    return s;
}

static td_variant imitator(const td_variant *mistake, const char *dtype_twin) {
    copied = mistake;
    td_variant v = *td_variant_find(dtype_twin);
    v.name = "imitator";
    v.run = imitate;
    v.workspace_bytes = mistake->workspace_bytes;
    return v;
}

static td_check_result check_one(const td_variant *v, td_attention_problem a) {
    td_problem p = {.op = v->op, .attention = a};
    td_check_options o = td_check_defaults(v);
    td_check_result r;
    cr_assert_eq(td_check(v, &p, &o, NULL, &r, NULL), TD_OK);
    return r;
}

enum { MODERATE = 4 }; /* of the problems: those whose scale lets exp(S) fit float32, wrong normalisation or not */

/* Grouped heads and a ragged tail in all; rows without a key, large scores, a negative scale, no mask at all. */
static const td_attention_problem problems[] = {
    {1, 4, 2, 21, 19, 4, 0.4, TD_MASK_CAUSAL_BOTTOM_RIGHT, 8},
    {1, 4, 2, 19, 21, 4, 0.4, TD_MASK_CAUSAL_TOP_LEFT, 8},
    {1, 4, 2, 17, 19, 4, 0.4, TD_MASK_NONE, 8},
    {2, 4, 2, 9, 18, 3, 0.4, TD_MASK_CAUSAL_BOTTOM_RIGHT, 8},
    {1, 4, 2, 17, 19, 4, 40, TD_MASK_NONE, 8},
    {1, 4, 2, 17, 19, 4, -40, TD_MASK_NONE, 8},
    {1, 4, 2, 19, 21, 4, 4e4, TD_MASK_CAUSAL_TOP_LEFT, 8},
};

static void every_mistake_is_named(const td_variant *const *mistakes, const char *twin, size_t problem_count) {
    for (int m = 0; mistakes[m]; m++) {
        td_variant v = imitator(mistakes[m], twin);
        int named = 0;
        for (size_t k = 0; k < problem_count; k++) {
            td_check_result r = check_one(&v, problems[k]);
            if (r.verdict != TD_FAIL) {
                cr_assert_null(r.diagnosis);
                continue;
            }
            cr_assert_not_null(r.diagnosis, "%s as %s, problem %zu: no name", copied->name, twin, k);
            cr_assert_str_eq(r.diagnosis, copied->mistake, "%s as %s, problem %zu", copied->name, twin, k);
            named++;
        }
        cr_assert_geq(named, 1, "%s as %s never fails", copied->name, twin);
    }
}

Test(diagnose, every_known_mistake_is_named) {
    every_mistake_is_named(td_cpu_mistakes, "dense_f32", sizeof problems / sizeof *problems);
    every_mistake_is_named(td_cpu_mistakes, "dense_bf16", sizeof problems / sizeof *problems);
}

Test(diagnose, every_known_mistake_of_backward_is_named) {
    every_mistake_is_named(td_cpu_backward_mistakes, "backward_two_pass_f32", MODERATE);
    every_mistake_is_named(td_cpu_backward_mistakes, "backward_two_pass_bf16", MODERATE);
}

static td_status zeros(const td_problem *p, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    (void)p, (void)workspace, (void)stream, (void)err;
    for (int k = TD_O; k <= TD_LSE; k++)
        for (int64_t e = 0; e < td_count(&t[k]); e++) td_store(&t[k], e, 0);
    return TD_OK;
}

Test(diagnose, an_unknown_fault_gets_no_name) {
    td_variant v = *td_variant_find("dense_f32");
    v.run = zeros;
    for (size_t k = 0; k < sizeof problems / sizeof *problems; k++) {
        td_check_result r = check_one(&v, problems[k]);
        cr_assert_eq(r.verdict, TD_FAIL);
        cr_assert_null(r.diagnosis, "%s", r.diagnosis);
    }
}

static td_status two_mistakes(const td_problem *p, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    td_status s = imitate(p, t, workspace, stream, err);
    for (int64_t e = 0; e < td_count(&t[TD_LSE]); e++) td_store(&t[TD_LSE], e, td_load(&t[TD_LSE], e) / log(2));
    return s;
}

Test(diagnose, two_mistakes_at_once_are_neither_of_them) {
    td_variant v = imitator(td_variant_find("mistake_no_scale"), "dense_f32");
    v.run = two_mistakes;
    td_check_result r = check_one(&v, problems[2]);
    cr_assert_eq(r.verdict, TD_FAIL);
    cr_assert_null(r.diagnosis, "%s", r.diagnosis);
}

Test(diagnose, the_right_answer_fits_no_mistake) {
    for (size_t k = 0; k < sizeof problems / sizeof *problems; k++) {
        td_problem p = {.op = TD_OP_ATTENTION_FORWARD, .attention = problems[k]};
        _Alignas(64) char workspace[1 << 16];
        double storage[5][4 * 21 * 4];
        td_tensor t[TD_ATTENTION_TENSORS];
        const td_variant *right = td_variant_find("online_f64"), *fits[4];
        for (int i = TD_Q; i <= TD_LSE; i++) {
            int64_t n[4];
            td_operation_of(p.op)->shape(&p, i, n);
            t[i] = td_contiguous(storage[i], TD_F64, n[0], n[1], n[2], n[3]);
            if (i <= TD_V) td_fixture_fill(TD_FIXTURE_NORMAL, 1, i, &t[i]);
        }
        cr_assert_leq(right->workspace_bytes(&p), sizeof workspace);
        cr_assert_eq(right->run(&p, t, workspace, NULL, NULL), TD_OK);
        cr_assert_eq(td_diagnose(&p, t, &right->rounding, NULL, fits, 4), 0, "problem %zu: %s", k, fits[0]->name);
    }
}
