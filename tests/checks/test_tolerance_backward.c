/* Bounds of attention backward, and what is left open by its inputs. */
#include "../../checks/answerable.h"
#include "../../checks/memory.h"
#include "../../checks/row.h"
#include "../../checks/tolerance_attention_backward.h"
#include "../../checks/trial.h"
#include "../mutants/student_backward.h"
#include "tandem/philox.h"
#include <criterion/criterion.h>
#include <string.h>

static td_allocator plain;

/* The variant's answer to drawn inputs times `factor`; O and LSE are forward's in `forward`, rounded to the variant's
 * types. */
static void solved_backward(td_trial *trial, const char *variant, td_attention_problem a, double factor,
                            const char *forward) {
    const td_variant *v = td_variant_find(variant);
    td_problem p = {.op = TD_OP_ATTENTION_BACKWARD, .attention = a};
    td_trial_plan plan;
    plain = td_plain_allocator();
    td_trial_plan_layout(&plan, v, &p, TD_LAYOUT_CONTIGUOUS, v->dtype);
    cr_assert_eq(td_trial_new(trial, v, &p, &plan, &plain, NULL), TD_OK);
    for (int k = 0; k < TD_DQ; k++)
        for (int64_t e = 0; k != TD_O && k != TD_LSE && e < td_count(&trial->tensors[k]); e++)
            td_store(&trial->tensors[k], e, factor * td_normal(11, (uint64_t)k, (uint64_t)e));
    td_trial f;
    p.op = TD_OP_ATTENTION_FORWARD;
    cr_assert_eq(td_trial_of(&f, td_variant_find(forward), &p, trial->tensors, &plain, NULL), TD_OK);
    for (int k = TD_O; k <= TD_LSE; k++) td_tensor_copy(&trial->tensors[k], &f.tensors[k]);
    td_trial_free(&f);
    td_trial_seal(trial);
    cr_assert_eq(td_trial_run(trial, NULL), TD_OK);
}

static td_verdict verdict_of_all(const td_trial *trial) {
    td_verdict verdict = TD_SKIP;
    char reason[200];
    cr_assert_eq(td_outputs_check(&trial->problem, trial->tensors, &trial->variant->rounding, &verdict, reason,
                                  sizeof reason, NULL),
                 TD_OK);
    return verdict;
}

static const td_attention_problem small = {1, 4, 2, 19, 23, 16, 0.25, TD_MASK_CAUSAL_BOTTOM_RIGHT, 8};

/* O and LSE as a forward pass of few bits leaves them: a variant that believes them is no worse for it, one that does
 * not look is none either, and an answer that is off by as much for another reason is wrong. */
Test(tolerance_backward, what_the_given_o_and_lse_are_off_by_is_allowed_and_no_more) {
    static const char *const variants[] = {"backward_recompute_f64", "backward_dense_f64", "backward_two_pass_f32"};
    for (int k = 0; k < 3; k++) {
        td_trial trial;
        solved_backward(&trial, variants[k], small, 1, "dense_bf16");
        cr_assert_eq(verdict_of_all(&trial), TD_PASS, "%s", variants[k]);
        td_trial exact;
        solved_backward(&exact, variants[k], small, 1, "dense_f64");
        cr_assert_eq(verdict_of_all(&exact), TD_PASS, "%s", variants[k]);
        for (int t = TD_DQ; t <= TD_DV; t++) td_tensor_copy(&exact.tensors[t], &trial.tensors[t]);
        cr_assert_eq(verdict_of_all(&exact), k == 1 ? TD_PASS : TD_FAIL, "%s", variants[k]);
        td_trial_free(&trial), td_trial_free(&exact);
    }
}

Test(tolerance_backward, gate_is_within_hard_and_0_where_the_reference_is_not_finite) {
    td_trial trial;
    solved_backward(&trial, "backward_dense_f64", small, 1, "dense_f64");
    enum { MOST = 4 * 19 * 16 };
    double gate[MOST], hard[MOST];
    td_bounds bounds = {gate, hard};
    const td_rounding rounding[] = {
        {TD_F32, TD_F32, TD_F32, 2}, {TD_F32, TD_F32, TD_BF16, 2}, {TD_F32, TD_FP16, TD_FP16, 2}};
    for (int r = 0; r < 3; r++)
        for (int output = TD_DQ; output <= TD_DV; output++) {
            td_tensor *t = &trial.tensors[output];
            td_store(t, 5, NAN), td_store(t, 7, INFINITY);
            cr_assert_eq(td_tolerance(&trial.problem, &rounding[r], trial.tensors, output, TD_F32, &bounds, NULL),
                         TD_OK);
            for (int64_t e = 0; e < td_count(t); e++)
                cr_assert(isfinite(td_load(t, e)) ? gate[e] > 0 && gate[e] <= hard[e] : gate[e] == 0 && hard[e] == 0);
        }
    cr_assert_eq(td_tolerance(&trial.problem, &rounding[0], trial.tensors, TD_O, TD_F32, &bounds, NULL), TD_BAD_PARAM);
    td_trial_free(&trial);
}

/* A key by itself, from the given LSE and O, is judged like the same key among all. */
Test(tolerance_backward, a_key_alone_has_the_truth_and_nearly_the_bound_that_it_has_among_all) {
    static const char *const variants[] = {"backward_two_pass_f32", "backward_two_pass_bf16"};
    for (int k = 0; k < 2; k++) {
        td_trial trial, truth;
        solved_backward(&trial, variants[k], small, 1, "dense_f64");
        const td_rounding *r = &trial.variant->rounding;
        cr_assert_eq(
            td_trial_of(&truth, td_variant_find("backward_dense_f64"), &trial.problem, trial.tensors, &plain, NULL),
            TD_OK);
        double gate[2 * 23 * 16], hard[2 * 23 * 16], want[16], alone[16];
        td_bounds bounds = {gate, hard};
        for (int output = TD_DK; output <= TD_DV; output++) {
            td_dtype stored = trial.tensors[output].dtype;
            cr_assert_eq(td_tolerance(&trial.problem, r, truth.tensors, output, stored, &bounds, NULL), TD_OK);
            for (int64_t j = 0; j < 23; j++) {
                cr_assert_eq(td_backward_key(&small, r, td_gate_lambda(), trial.tensors, output, stored, 0, 1, j, want,
                                             alone, NULL),
                             TD_OK);
                for (int64_t c = 0; c < 16; c++) {
                    double among = gate[(23 + j) * 16 + c], exact = td_get(&truth.tensors[output], 0, 1, j, c);
                    cr_assert_leq(fabs(want[c] - exact), alone[c] / 2);
                    cr_assert(alone[c] > among / 3 && alone[c] < among * 3, "%s, %d: %g, %g", variants[k], output,
                              alone[c], among);
                }
            }
        }
        td_trial_free(&trial), td_trial_free(&truth);
    }
}

/* Large logits in 16 bits: N(0,1)·3, d 128, causal. Nothing overflows, and what is sampled is right. */
Test(tolerance_backward, gradients_of_inputs_times_three_in_fp16_are_finite_and_right) {
    static const char *const twins[] = {"backward_dense_fp16", "backward_one_pass_fp16", "backward_two_pass_fp16"};
    for (int k = 0; k < 3; k++) {
        td_attention_problem a = {1, 1, 1, 64, 64, 128, 1 / sqrt(128), TD_MASK_CAUSAL_TOP_LEFT, 32};
        td_trial trial;
        solved_backward(&trial, twins[k], a, 3, "online_f32");
        cr_assert_leq(verdict_of_all(&trial), TD_MARGINAL, "%s", twins[k]);
        td_trial_free(&trial);
    }
    td_attention_problem full = {1, 1, 1, 1024, 1024, 128, 1 / sqrt(128), TD_MASK_CAUSAL_TOP_LEFT, 64};
    td_trial trial;
    solved_backward(&trial, "backward_two_pass_fp16", full, 3, "online_f32");
    for (int output = TD_DQ; output <= TD_DV; output++)
        for (int64_t e = 0; e < td_count(&trial.tensors[output]); e++)
            cr_assert(isfinite(td_load(&trial.tensors[output], e)));
    for (int64_t n = 0; n < 1024; n += 341) {
        td_verdict verdict;
        char reason[200] = "";
        cr_assert_eq(td_row_check(&trial.problem, trial.tensors, td_row_at(&trial.problem, n), &trial.variant->rounding,
                                  &verdict, reason, sizeof reason, NULL),
                     TD_OK);
        cr_assert_leq(verdict, TD_MARGINAL, "row %ld: %s", (long)n, reason);
    }
    td_trial_free(&trial);
}

/* TF32 where float32 is meant: forward is right, and gradients are off in their first digit. */
Test(tolerance_backward, tf32_in_a_float32_path_shows_in_the_gradients) {
    td_problem p = {.attention = {1, 1, 1, 48, 48, 64, 1, TD_MASK_NONE, 16}};
    td_check_result forward, backward;
    const mutant *m = mutants_backward_imprecise;
    while (strcmp(m->name, "all five products in TF32")) m++;
    td_variant tf32 = *td_variant_find(m->claims);
    tf32.run = m->run;
    const td_variant *right = td_variant_find("online_f32");
    td_check_options options = td_check_defaults(right);
    p.op = TD_OP_ATTENTION_FORWARD;
    cr_assert_eq(td_check(right, &p, &options, NULL, &forward, NULL), TD_OK);
    cr_assert_eq(forward.verdict, TD_PASS);
    p.op = TD_OP_ATTENTION_BACKWARD;
    cr_assert_eq(td_check(&tf32, &p, &options, NULL, &backward, NULL), TD_OK);
    cr_assert_eq(backward.verdict, TD_FAIL);
    double most = fmax(backward.output[0].max_abs, backward.output[1].max_abs);
    cr_assert(most > 0.1, "largest gradient error %g", most);
    cr_assert_null(backward.diagnosis, "%s", backward.diagnosis);
}

static td_status check_given(td_trial *trial, td_check_result *result, td_error *err) {
    return td_check_tensors(td_variant_find("backward_two_pass_f32"), &trial->problem, trial->tensors, 0, NULL, result,
                            err);
}

Test(tolerance_backward, forward_results_of_another_problem_are_refused_by_name) {
    td_trial trial;
    td_check_result result;
    td_error err = {TD_OK, ""};
    solved_backward(&trial, "backward_two_pass_f32", small, 1, "online_bf16");
    cr_assert_eq(check_given(&trial, &result, &err), TD_OK, "%s", err.message);
    cr_assert_eq(result.verdict, TD_PASS, "another kernel's forward");
    td_tensor *LSE = &trial.tensors[TD_LSE], *O = &trial.tensors[TD_O];
    double kept = td_load(LSE, 30);
    td_store(LSE, 30, kept * 1.4427);
    cr_assert_eq(check_given(&trial, &result, &err), TD_BAD_PARAM);
    cr_assert(strstr(err.message, "LSE: ") && strstr(err.message, "(0,1,11,0)"), "%s", err.message);
    td_store(LSE, 30, NAN);
    cr_assert_eq(check_given(&trial, &result, &err), TD_BAD_PARAM);
    td_store(LSE, 30, kept);
    td_store(O, 16, td_load(O, 16) + 1);
    cr_assert_eq(check_given(&trial, &result, &err), TD_BAD_PARAM);
    cr_assert(strstr(err.message, "O: ") && strstr(err.message, "(0,0,1,0)"), "%s", err.message);
    td_trial_free(&trial);
}

Test(tolerance_backward, gradients_beyond_fp16_are_skipped_with_the_reason) {
    td_trial trial;
    td_check_result result;
    solved_backward(&trial, "backward_two_pass_f32", small, 1, "online_f32");
    const td_variant *fp16 = td_variant_find("backward_two_pass_fp16"),
                     *bf16 = td_variant_find("backward_two_pass_bf16");
    for (int64_t e = 0; e < td_count(&trial.tensors[TD_DO]); e++)
        td_store(&trial.tensors[TD_DO], e, 30000 * td_load(&trial.tensors[TD_DO], e));
    cr_assert_eq(td_check_tensors(fp16, &trial.problem, trial.tensors, 0, NULL, &result, NULL), TD_OK);
    cr_assert(result.verdict == TD_SKIP && strstr(result.reason, "dS reaches"), "%s", result.reason);
    cr_assert_eq(td_check_tensors(bf16, &trial.problem, trial.tensors, 0, NULL, &result, NULL), TD_OK);
    cr_assert_leq(result.verdict, TD_MARGINAL, "%s", result.reason);
    td_trial_free(&trial);
}
