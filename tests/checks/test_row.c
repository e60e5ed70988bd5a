/* A row checked by itself: every row of a right answer passes; one changed element fails its own row and no other. */
#include "../../checks/memory.h"
#include "../../checks/row.h"
#include "../../checks/trial.h"
#include <criterion/criterion.h>
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
        int64_t h = td_op_is_attention(p->op) ? row.kv * 2 + 1 : 0;
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

Test(row, backward_has_rows_of_dq_under_every_mask) {
    const int64_t size[][2] = {{1, 1}, {3, 5}, {5, 3}, {4, 0}};
    for (int mask = 0; mask < TD_MASKS; mask++)
        for (int s = 0; s < 4; s++) {
            td_problem p = attention((td_mask)mask, size[s][0], size[s][1]);
            p.op = TD_OP_ATTENTION_BACKWARD;
            every_row_and_only_the_changed_one(td_variant_find("backward_two_pass_f32"), &p, TD_DQ);
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
    td_row_renew(&p, trial.tensors, row, 99);
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
