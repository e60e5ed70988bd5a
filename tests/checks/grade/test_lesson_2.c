/* Lesson 2's exercise: its answers against values worked out by hand, and its mistakes each by its own name. */
#include "../../../checks/grade/roofline_cases.h"
#include "../../../include/tandem/exercise/roofline.h"
#include "asked.h"
#include "whole.h"
#include <math.h>

static int64_t count(const td_asked *asked, td_roofline_question question) {
    td_roofline_answer answer;
    asked->respond(&question, 0, &answer);
    return answer.count;
}

static td_roofline_question attention(int64_t B, int64_t Hq, int64_t Hkv, int64_t Tq, int64_t Tk, int64_t d,
                                      td_mask mask, td_dtype dtype) {
    return (td_roofline_question){.attention = {B, Hq, Hkv, Tq, Tk, d, 1, mask, 0}, .dtype = dtype};
}

Test(grade_lesson_2, counts_by_hand) {
    td_roofline_question product = {.M = 2, .N = 3, .K = 5, .dtype = TD_BF16};
    cr_expect_eq(count(&td_asked_gemm_flops, product), 60);
    cr_expect_eq(count(&td_asked_gemm_bytes, product), 2 * (10 + 15 + 6));
    td_mask masks[] = {TD_MASK_NONE, TD_MASK_CAUSAL_TOP_LEFT, TD_MASK_CAUSAL_BOTTOM_RIGHT};
    int64_t wide[] = {12, 6, 9}, tall[] = {12, 9, 6}; /* 3 by 4, and 4 by 3 */
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(count(&td_asked_attention_flops, attention(2, 6, 3, 3, 4, 5, masks[i], TD_F32)),
                     4 * 5 * 12 * wide[i]);
        cr_expect_eq(count(&td_asked_attention_flops, attention(2, 6, 3, 4, 3, 5, masks[i], TD_F32)),
                     4 * 5 * 12 * tall[i]);
    }
    td_roofline_question grouped = attention(1, 4, 2, 3, 5, 2, TD_MASK_NONE, TD_FP16);
    cr_expect_eq(count(&td_asked_attention_bytes, grouped), 2 * (2 * 24 + 2 * 20) + 4 * 12);
    cr_expect_eq(count(&td_asked_dense_extra_bytes, grouped), 4 * 2 * 4 * 15);
    td_roofline_question huge = {.M = 1048575, .N = 1048573, .K = 1048571};
    cr_expect_eq(count(&td_asked_gemm_flops, huge), 2305823218052628450);
}

Test(grade_lesson_2, reals_by_hand) {
    td_roofline_answer a;
    td_roofline_question q = {.flops = 100, .bytes = 1000, .peak = 10, .bandwidth = 400, .intensity = 0.5};
    td_asked_floor.respond(&q, 0, &a);
    cr_expect_eq(a.real, 10);
    cr_expect_eq(a.bound, TD_EXERCISE_COMPUTE);
    td_asked_intensity.respond(&q, 0, &a);
    cr_expect_eq(a.real, 0.1);
    td_asked_roof.respond(&q, 0, &a);
    cr_expect_eq(a.real, 10);
    q.intensity = 0.0125;
    td_asked_roof.respond(&q, 0, &a);
    cr_expect_eq(a.real, 5);
    q.bytes = 0;
    td_asked_intensity.respond(&q, 0, &a);
    cr_expect_eq(a.real, 0);
}

Test(grade_lesson_2, a_real_may_be_off_by_roundings_alone) {
    td_roofline_question q = {.flops = 1000, .bytes = 7, .peak = 3, .bandwidth = 1};
    td_roofline_answer want, got;
    td_asked_floor.respond(&q, 0, &want);
    got = want;
    got.real *= 1 + 4 * 0x1p-52;
    cr_expect(td_asked_floor.agrees(&q, &got, &want));
    got.real *= 1 + 4 * 0x1p-52;
    cr_expect_not(td_asked_floor.agrees(&q, &got, &want));
    got = want, got.real = NAN;
    cr_expect_not(td_asked_floor.agrees(&q, &got, &want));
    got = want, got.bound = 7;
    cr_expect_not(td_asked_floor.agrees(&q, &got, &want));
}

/* All cases of one function, answered with one mistake; two seeds, as a public and a secret one. */
static int failed_with(const td_asked *asked, int mistake, uint64_t seed, td_suspects *suspects) {
    td_roofline_question questions[TD_ROOFLINE_QUESTIONS];
    int failed = 0;
    for (const td_roofline_case *c = td_roofline_cases; c->check; c++) {
        td_roofline_questions(c, seed, questions);
        int wrong = c->asked == asked ? mistake : 0;
        failed += asked_judged(c->asked, wrong, (const char *)questions, c->n, suspects);
    }
    return failed;
}

Test(grade_lesson_2, each_mistake_is_named_alone) {
    for (const td_asked *const *a = td_roofline_asked; *a; a++) {
        td_suspects right = {0};
        td_exercise_2.enter(&right);
        cr_expect_eq(failed_with(*a, 0, 1, &right), 0);
        cr_expect_eq(td_suspects_named(&right, (const td_suspect *[1]){NULL}, 1), 0);
        for (const td_answer_mistake *m = (*a)->mistakes; m->which; m++) {
            td_suspects suspects = {0};
            td_exercise_2.enter(&suspects);
            cr_expect_gt(failed_with(*a, m->which, 7, &suspects), 0, "%s is not found", m->name);
            asked_named_alone(&suspects, m->name);
        }
    }
}

Test(grade_lesson_2, what_is_not_written_is_no_suspect) {
    td_suspects suspects = {0};
    td_grade_result result = {.graded = TD_GRADED_PASS};
    td_roofline_question q = {.M = 2, .N = 3, .K = 4};
    td_roofline_answer got = {-1, NAN, -1};
    td_exercise_2.enter(&suspects);
    td_asked_judge(&td_asked_gemm_flops, "case", &q, &got, 1, &result, &suspects);
    cr_expect_eq(result.graded, TD_GRADED_WRONG);
    cr_expect_str_eq(result.message, "exercise_gemm_flops is not written yet");
    cr_expect_eq(suspects.cases, 0);
}

/* The whole of it is graded by make check-grader. */
Test(grade_lesson_2, solution_and_skeleton) {
    whole_solution_and_skeleton(2, "lessons/02_roofline/exercise", (const char *[]){"masks", "floor", NULL});
}
