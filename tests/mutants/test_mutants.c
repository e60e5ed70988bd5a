/* Every mutant must FAIL on every problem given with it, and be called by its name where it has one. */
#include "../../checks/check.h"
#include "../../checks/memory.h"
#include "student_backward.h"
#include <criterion/criterion.h>
#include <string.h>

static td_variant disguised(const mutant *m) {
    td_variant v = *td_variant_find(m->claims);
    v.name = m->name, v.run = m->run;
    return v;
}

static td_check_result checked(const mutant *m, int problem_number) {
    td_variant v = disguised(m);
    td_problem problem = {.op = v.op, .attention = student_problems[m->problems][problem_number]};
    td_check_options options = td_check_defaults(&v);
    td_check_result result;
    td_error err = {TD_OK, ""};
    cr_assert_eq(td_check(&v, &problem, &options, NULL, &result, &err), TD_OK, "%s: %s", m->name, err.message);
    return result;
}

static int caught_all(const mutant *table) {
    int n = 0;
    for (const mutant *m = table; m->name; m++, n++) {
        char registered[64];
        snprintf(registered, sizeof registered, "mistake_%s", m->mistake ? m->mistake : "");
        const td_variant *mistake = td_variant_find(registered);
        cr_assert(!m->mistake || mistake, "%s is not registered", registered);
        const char *right = mistake ? mistake->mistake : "nothing";
        for (int k = 0; k < 2; k++) {
            td_check_result r = checked(m, k);
            const char *said = r.diagnosis ? r.diagnosis : "nothing";
            int worst = td_check_worst(&r);
            cr_expect_eq(r.verdict, TD_FAIL, "%s as %s, problem %d: %s is %.3g of its bound: not caught", m->name,
                         m->claims, k, r.output_name[worst], r.output[worst].err_over_tol);
            cr_expect_str_eq(said, right, "%s as %s, problem %d: called \"%s\", not \"%s\"", m->name, m->claims, k,
                             said, right);
        }
    }
    return n;
}

Test(mutants, wrong_formulas_are_caught_and_named) {
    cr_assert_geq(caught_all(mutants_naive), 14);
    cr_assert_geq(caught_all(mutants_blockwise), 6);
}

Test(mutants, too_few_bits_are_caught) {
    cr_assert_geq(caught_all(mutants_imprecise), 4);
}

Test(mutants, answers_that_need_no_attention_are_caught) {
    cr_assert_geq(caught_all(mutants_lazy), 4);
}

Test(mutants, wrong_formulas_of_backward_are_caught_and_named) {
    cr_assert_geq(caught_all(mutants_backward_formula), 24);
    cr_assert_geq(caught_all(mutants_backward_blockwise), 12);
}

Test(mutants, too_few_bits_in_backward_are_caught) {
    cr_assert_geq(caught_all(mutants_backward_imprecise), 14);
}

Test(mutants, gradients_that_need_no_attention_are_caught) {
    cr_assert_geq(caught_all(mutants_backward_lazy), 8);
}

/* What is caught above is the bug, not the student's way of writing. */
Test(mutants, the_same_code_without_its_bug_passes) {
    const mutant *const tables[] = {mutants_all_right,      mutants_well_rescaled,      mutants_enough_bits,
                                    mutants_backward_right, mutants_backward_by_blocks, mutants_backward_enough_bits};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const mutant *m = tables[t]; m->name; m++)
            for (int k = 0; k < 2; k++) {
                td_check_result r = checked(m, k);
                int worst = td_check_worst(&r);
                cr_expect_leq(r.verdict, TD_MARGINAL, "%s as %s, table %zu, problem %d: %s, %s %.3g", m->name,
                              m->claims, t, k, td_verdict_name(r.verdict), r.output_name[worst],
                              r.output[worst].err_over_tol);
            }
}

/* Four queries, top-left, six keys: with row `row` of tensor number `tensor` full of NaN. */
static td_verdict verdict_with_nan(const mutant *m, int tensor, int64_t row) {
    td_variant v = disguised(m);
    td_problem problem = {.op = TD_OP_ATTENTION_FORWARD,
                          .attention = {1, 1, 1, 4, 6, 3, 0.5, TD_MASK_CAUSAL_TOP_LEFT, 2}};
    float values[TD_LSE + 1][18];
    td_tensor t[TD_ATTENTION_TENSORS];
    for (int k = TD_Q; k <= TD_LSE; k++) {
        t[k] = td_contiguous(values[k], TD_F32, 1, 1, k == TD_K || k == TD_V ? 6 : 4, k == TD_LSE ? 1 : 3);
        td_fixture_fill(TD_FIXTURE_NORMAL, 1, k, &t[k]);
    }
    for (int64_t c = 0; c < 3; c++) td_set(&t[tensor], 0, 0, row, c, NAN);
    td_check_result result;
    cr_assert_eq(td_check_tensors(&v, &problem, t, 0, NULL, &result, NULL), TD_OK);
    return result.verdict;
}

Test(mutants, a_nan_may_neither_vanish_nor_spread) {
    cr_assert_eq(verdict_with_nan(&mutant_nan_divided, TD_Q, 2), TD_FAIL);
    cr_assert_eq(verdict_with_nan(&mutant_nan_is_empty, TD_Q, 2), TD_FAIL);
    cr_assert_eq(verdict_with_nan(&mutant_mask_as_factor, TD_K, 5), TD_FAIL);
    cr_assert_eq(verdict_with_nan(&mutant_mask_as_factor, TD_V, 5), TD_FAIL, "0 times NaN");
    const mutant *right = &mutants_enough_bits[0];
    cr_assert_eq(verdict_with_nan(right, TD_Q, 2), TD_PASS);
    cr_assert_eq(verdict_with_nan(right, TD_K, 2), TD_PASS);
    cr_assert_eq(verdict_with_nan(right, TD_K, 5), TD_PASS, "no query reads key 5");
    cr_assert_eq(verdict_with_nan(right, TD_V, 5), TD_PASS);
}

/* At the length where sums average most, and where logits are large or cancel. */
Test(mutants, tf32_and_bf16_are_caught_among_many_keys_on_every_fixture) {
    static const td_fixture fixtures[] = {TD_FIXTURE_NORMAL, TD_FIXTURE_OUTLIER, TD_FIXTURE_OFFSET};
    for (const mutant *m = mutants_imprecise; m->name; m++) {
        int float32 = !strcmp(m->claims, "online_f32");
        if (!float32 || !(strstr(m->name, "TF32") || strstr(m->name, "P in bf16"))) continue;
        for (int f = 0; f < 3; f++) {
            td_variant v = disguised(m);
            td_problem problem = {.op = TD_OP_ATTENTION_FORWARD,
                                  .attention = {1, 1, 1, 4, 500, 64, 0.125, TD_MASK_NONE, 64}};
            td_check_options options = td_check_defaults(&v);
            td_check_result result;
            options.fixture = fixtures[f];
            cr_assert_eq(td_check(&v, &problem, &options, NULL, &result, NULL), TD_OK);
            cr_expect_eq(result.verdict, TD_FAIL, "%s, %s: O is %.3g of its bound, LSE %.3g", m->name,
                         td_fixture_name(fixtures[f]), result.output[0].err_over_tol, result.output[1].err_over_tol);
        }
    }
}
