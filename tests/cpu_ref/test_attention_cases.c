/* Faults that people really hit in attention, each a small input with its right answer (checks/facts_forward.c,
 * facts_backward.c), against every variant of the CPU: alone (d = 1) and with neighbours. */
#include "../../checks/facts.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* How many of an operation's facts the variant ran, and that each of those holds. */
static int held(const td_variant *variant, int *all) {
    const td_fact *fact;
    int ran = 0;
    *all = 0;
    for (int i = 0; (fact = td_fact_at(variant->op, i)); i++)
        for (int n = 0; n < TD_FACT_NEIGHBOURS; n++, ++*all) {
            td_verdict verdict;
            char reason[200];
            td_error err = {TD_OK, ""};
            cr_assert_eq(td_fact_check(fact, n, variant, NULL, &verdict, reason, &err), TD_OK, "%s", err.message);
            cr_assert_neq(verdict, TD_FAIL, "%s, neighbour %d: %s: %s", fact->name, n, variant->name, reason);
            ran += verdict != TD_SKIP;
        }
    return ran;
}

static void hold_for_every_variant(td_op op) {
    int all;
    for (const td_variant *const *v = td_cpu_variants; *v; v++)
        if ((*v)->op == op) {
            int ran = held(*v, &all);
            cr_assert_geq(ran, all * 3 / 4, "%s ran %d of %d only", (*v)->name, ran, all);
        }
}

Test(attention_cases, hold_for_every_variant_of_forward) {
    hold_for_every_variant(TD_OP_ATTENTION_FORWARD);
}

Test(attention_cases, hold_for_every_variant_of_backward) {
    hold_for_every_variant(TD_OP_ATTENTION_BACKWARD);
}

static td_status lse_in_base_2(const td_problem *p, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    td_status s = td_variant_find("dense_f32")->run(p, t, workspace, stream, err);
    const td_tensor *L = &t[TD_LSE];
    for (int64_t i = 0; L->data && i < td_count(L); i++) td_store(L, i, td_load(L, i) / log(2));
    return s;
}

static td_status dk_lost(const td_problem *p, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    td_status s = td_variant_find("backward_dense_f32")->run(p, t, workspace, stream, err);
    for (int64_t i = 0; i < td_count(&t[TD_DK]); i++) td_store(&t[TD_DK], i, 0);
    return s;
}

Test(attention_cases, a_wrong_answer_contradicts_a_fact) {
    td_variant wrong[2] = {*td_variant_find("dense_f32"), *td_variant_find("backward_dense_f32")};
    wrong[0].run = lse_in_base_2, wrong[1].run = dk_lost;
    for (int k = 0; k < 2; k++) {
        const td_fact *fact;
        int failed = 0;
        for (int i = 0; (fact = td_fact_at(wrong[k].op, i)); i++) {
            td_verdict verdict;
            char reason[200];
            cr_assert_eq(td_fact_check(fact, 0, &wrong[k], NULL, &verdict, reason, NULL), TD_OK);
            failed += verdict == TD_FAIL;
            if (verdict == TD_FAIL) cr_assert(strstr(reason, k ? "dK" : "LSE"), "%s: %s", fact->name, reason);
        }
        cr_assert_geq(failed, 5);
    }
}
