/* A row checked by itself: every row of a right answer passes; one changed element fails its own row and no other. */
#include "../../checks/memory.h"
#include "../../checks/row.h"
#include "../../checks/trial.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static td_problem attention(td_mask mask, int64_t Tq, int64_t Tk) {
    td_problem p = {.op = TD_OP_ATTENTION_FORWARD};
    p.attention = (td_attention_problem){2, 4, 2, Tq, Tk, 3, 0.7, mask, 2};
    return p;
}

static void solved(td_trial *trial, const td_variant *v, const td_problem *p) {
    td_trial_plan plan;
    td_allocator allocator = td_plain_allocator();
    td_trial_plan_layout(&plan, v, p, TD_LAYOUT_TRANSPOSED, v->dtype);
    cr_assert_eq(td_trial_new(trial, v, p, &plan, &allocator, NULL), TD_OK);
    cr_assert_eq(td_trial_draw(trial, TD_FIXTURE_NORMAL, 3, v->dtype, NULL), TD_OK);
    cr_assert_eq(td_trial_run(trial, NULL), TD_OK);
}

static td_verdict verdict_of(const td_trial *trial, td_row row) {
    td_verdict verdict = TD_SKIP;
    char reason[200];
    cr_assert_eq(td_row_check(&trial->problem, trial->tensors, row, &trial->variant->rounding, &verdict, reason,
                              sizeof reason, NULL),
                 TD_OK);
    return verdict;
}

static void every_row_and_only_the_changed_one(const td_variant *v, const td_problem *p, int output) {
    td_trial trial;
    solved(&trial, v, p);
    int64_t rows = td_rows(p);
    const td_tensor *out = &trial.tensors[output];
    for (int64_t n = 0; n < rows; n++) cr_assert_leq(verdict_of(&trial, td_row_at(p, n)), TD_MARGINAL);
    for (int64_t n = 0; n < rows; n += 3) {
        td_row row = td_row_at(p, n);
        int64_t h = p->op == TD_OP_ATTENTION_FORWARD ? row.kv * 2 + 1 : 0;
        double kept = td_get(out, row.b, h, row.i, 0);
        td_set(out, row.b, h, row.i, 0, 2 * kept + 1);
        for (int64_t m = 0; m < rows; m++)
            cr_assert_eq(verdict_of(&trial, td_row_at(p, m)) == TD_FAIL, m == n, "rows %ld, %ld", (long)n, (long)m);
        td_set(out, row.b, h, row.i, 0, kept);
    }
    td_trial_free(&trial);
}

Test(row, attention_rows_stand_alone_under_every_mask) {
    const int64_t size[][2] = {{1, 1}, {3, 5}, {5, 3}, {4, 0}};
    for (int mask = 0; mask < TD_MASKS; mask++)
        for (int s = 0; s < 4; s++) {
            td_problem p = attention((td_mask)mask, size[s][0], size[s][1]);
            every_row_and_only_the_changed_one(td_variant_find("online_f32"), &p, TD_O);
        }
}

Test(row, a_head_of_backward_is_checked_with_its_dk_and_dv) {
    td_problem p = attention(TD_MASK_CAUSAL_BOTTOM_RIGHT, 5, 7);
    p.op = TD_OP_ATTENTION_BACKWARD;
    td_trial trial;
    td_verdict verdict;
    char reason[200] = "";
    solved(&trial, td_variant_find("backward_two_pass_f32"), &p);
    const td_rounding *rounding = &trial.variant->rounding;
    for (int output = TD_DQ; output <= TD_DV; output++) {
        int64_t h = output == TD_DQ ? 2 : 1; /* of key/value head 1, the second of two */
        double kept = td_get(&trial.tensors[output], 1, h, 4, 2);
        for (int wrong = 0; wrong < 2; wrong++) {
            td_set(&trial.tensors[output], 1, h, 4, 2, wrong ? 2 * kept + 1 : kept);
            for (int kv = 0; kv < 2; kv++) {
                cr_assert_eq(td_heads_check(&p, trial.tensors, (td_row){1, kv, 0}, rounding, &verdict, reason,
                                            sizeof reason, NULL),
                             TD_OK);
                cr_assert_eq(verdict == TD_FAIL, wrong && kv == 1);
            }
        }
        cr_assert(strstr(reason, output == TD_DQ ? "dQ is wrong at (1,2,4,2)" : "is wrong at (1,1,4,2)"), "%s", reason);
        td_set(&trial.tensors[output], 1, h, 4, 2, kept);
    }
    td_trial_free(&trial);
}

Test(row, a_changed_lse_fails_too) {
    td_problem p = attention(TD_MASK_CAUSAL_TOP_LEFT, 3, 3);
    every_row_and_only_the_changed_one(td_variant_find("online_f64"), &p, TD_LSE);
}

Test(row, rows_of_matrices_stand_alone) {
    const char *const name[] = {"gemm_naive_f32", "softmax_f32", "gelu_f32"};
    const int output[] = {TD_C, TD_Y, TD_Y};
    for (int k = 0; k < 3; k++) {
        const td_variant *v = td_variant_find(name[k]);
        td_problem p = {.op = v->op, .matrix = {5, 3, k == 0 ? 4 : 0}};
        every_row_and_only_the_changed_one(v, &p, output[k]);
    }
}

Test(row, an_empty_problem_has_no_rows) {
    td_problem p = attention(TD_MASK_NONE, 0, 4);
    cr_assert_eq(td_rows(&p), 0);
    p.op = TD_OP_ATTENTION_BACKWARD;
    cr_assert_eq(td_rows(&p), 0);
    p.attention.Tq = 4;
    p.attention.Tk = 0;
    cr_assert_eq(td_rows(&p), 0);
}

Test(row, renewing_changes_the_row_itself_in_q_and_one_row_that_it_reads) {
    td_problem p = attention(TD_MASK_NONE, 3, 5);
    td_trial trial;
    solved(&trial, td_variant_find("dense_f64"), &p);
    td_row row = {1, 1, 2};
    const int64_t size[] = {3, 5, 5};
    double before[3][2][4][5][3];
    for (int t = 0; t < 3; t++)
        for (int b = 0; b < 2; b++)
            for (int h = 0; h < trial.tensors[t].size[1]; h++)
                for (int i = 0; i < size[t]; i++)
                    for (int j = 0; j < 3; j++) before[t][b][h][i][j] = td_get(&trial.tensors[t], b, h, i, j);
    cr_assert_eq(td_row_renew(&p, trial.tensors, row, 99, NULL), TD_OK);
    for (int t = 0; t < 3; t++) {
        int changed = 0;
        for (int b = 0; b < 2; b++)
            for (int h = 0; h < trial.tensors[t].size[1]; h++)
                for (int i = 0; i < size[t]; i++)
                    for (int j = 0; j < 3; j++) {
                        int differs = td_get(&trial.tensors[t], b, h, i, j) != before[t][b][h][i][j];
                        changed += differs;
                        if (differs) cr_assert(b == 1 && (t == TD_Q ? h >= 2 && i == 2 : h == 1));
                    }
        cr_assert_eq(changed, t == TD_Q ? 6 : 3); /* the two query heads of the group, or its one key/value head */
    }
    cr_assert_eq(verdict_of(&trial, row), TD_FAIL, "the old answer is wrong now");
    td_trial_free(&trial);
}

static td_problem backward(td_mask mask, int64_t Tq, int64_t Tk) {
    td_problem p = attention(mask, Tq, Tk);
    p.op = TD_OP_ATTENTION_BACKWARD;
    return p;
}

/* How many rows FAIL when one element of an output is changed. */
static int64_t failing(const td_trial *trial, int output, int64_t h, int64_t i) {
    const td_tensor *out = &trial->tensors[output];
    double kept = td_get(out, 1, h, i, 2);
    int64_t rows = td_rows(&trial->problem), n = 0;
    td_set(out, 1, h, i, 2, kept + fabs(kept) + 1);
    for (int64_t k = 0; k < rows; k++) n += verdict_of(trial, td_row_at(&trial->problem, k)) == TD_FAIL;
    td_set(out, 1, h, i, 2, kept);
    return n;
}

/* Every query and every key is in some row, and no other row looks at them. */
Test(row, backward_has_a_row_for_each_query_and_each_key) {
    const int64_t size[][2] = {{1, 1}, {3, 5}, {5, 3}, {6, 6}};
    const char *const twins[] = {"backward_recompute_f64", "backward_two_pass_f32", "backward_one_pass_bf16"};
    for (int mask = 0; mask < TD_MASKS; mask++)
        for (int s = 0; s < 4; s++) {
            int64_t Tq = size[s][0], Tk = size[s][1], most = Tq > Tk ? Tq : Tk;
            td_problem p = backward((td_mask)mask, Tq, Tk);
            td_trial trial;
            solved(&trial, td_variant_find(twins[(mask + s) % 3]), &p);
            cr_assert_eq(td_rows(&p), 2 * 2 * most);
            for (int64_t n = 0; n < td_rows(&p); n++) cr_assert_eq(verdict_of(&trial, td_row_at(&p, n)), TD_PASS);
            int64_t queries = 0, keys = 0;
            for (int64_t i = 0; i < Tq; i++) {
                int64_t n = failing(&trial, TD_DQ, 3, i);
                cr_assert_geq(n, 1, "query %ld is in no row", (long)i);
                queries += n;
            }
            for (int output = TD_DK; output <= TD_DV; output++)
                for (int64_t j = 0; j < Tk; j++) {
                    int64_t n = failing(&trial, output, 1, j);
                    cr_assert_geq(n, 1, "key %ld is in no row", (long)j);
                    keys += n;
                }
            cr_assert(queries == most && keys == 2 * most);
            td_trial_free(&trial);
        }
}

Test(row, a_renewed_row_of_backward_fits_its_forward_and_makes_old_answers_wrong) {
    for (int mask = 0; mask < TD_MASKS; mask++) {
        td_problem p = backward((td_mask)mask, 7, 7);
        td_trial trial;
        solved(&trial, td_variant_find("backward_two_pass_f32"), &p);
        for (int64_t n = 0; n < td_rows(&p); n += 5) {
            td_row row = td_row_at(&p, n);
            cr_assert_eq(td_row_renew(&p, trial.tensors, row, (uint64_t)n, NULL), TD_OK);
            cr_assert_eq(verdict_of(&trial, row), TD_FAIL, "a replay");
            td_trial_seal(&trial);
            cr_assert_eq(td_trial_run(&trial, NULL), TD_OK);
            for (int64_t k = 0; k < td_rows(&p); k++)
                cr_assert_eq(verdict_of(&trial, td_row_at(&p, k)), TD_PASS, "row %ld after %ld", (long)k, (long)n);
        }
        td_trial_free(&trial);
    }
}

/* A replay of dK and dV alone: with the right dQ, the key's part must tell. */
Test(row, old_gradients_of_keys_are_wrong_after_renewing) {
    td_problem p = backward(TD_MASK_CAUSAL_TOP_LEFT, 9, 9);
    td_trial trial;
    solved(&trial, td_variant_find("backward_two_pass_f32"), &p);
    double old[2][2][9][3];
    for (int e = 0; e < 2 * 2 * 2 * 9 * 3; e++) {
        int k = e / 108, b = e / 54 % 2, h = e / 27 % 2, i = e / 3 % 9, c = e % 3;
        if (b == 0) old[k][h][i][c] = td_get(&trial.tensors[TD_DK + k], 0, h, i, c);
    }
    td_row row = td_row_at(&p, 4);
    cr_assert_eq(td_row_renew(&p, trial.tensors, row, 5, NULL), TD_OK);
    td_trial_seal(&trial);
    cr_assert_eq(td_trial_run(&trial, NULL), TD_OK);
    cr_assert_eq(verdict_of(&trial, row), TD_PASS);
    for (int k = 0; k < 2; k++) {
        for (int h = 0; h < 2; h++)
            for (int i = 0; i < 9; i++)
                for (int c = 0; c < 3; c++) td_set(&trial.tensors[TD_DK + k], 0, h, i, c, old[k][h][i][c]);
        cr_assert_eq(verdict_of(&trial, row), TD_FAIL);
        cr_assert_eq(td_trial_run(&trial, NULL), TD_OK);
    }
    td_trial_free(&trial);
}
