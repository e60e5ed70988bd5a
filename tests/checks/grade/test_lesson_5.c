/* Exercise 5, in C: mistakes are told apart, and the solution gets its points. */
#include "../../../checks/grade/lesson_5.h"
#include "attention_suspected.h"
#include "whole.h"

#define FULL TD_MASK_NONE
#define LEFT TD_MASK_CAUSAL_TOP_LEFT
#define RIGHT TD_MASK_CAUSAL_BOTTOM_RIGHT

static const td_attention_case cases[] = {
    {.name = "empty rows", .problem = {1, 4, 2, 21, 19, 4, 0.4, RIGHT, 8}},
    {.name = "left", .problem = {2, 4, 2, 19, 23, 4, 0.4, LEFT, 8}},
    {.name = "right", .problem = {1, 2, 1, 9, 18, 3, 0.4, RIGHT, 8}},
    {.name = "full", .problem = {1, 2, 1, 17, 19, 4, 0.3, FULL, 8}},
    {.name = "long", .problem = {1, 1, 1, 140, 135, 2, 0.5, LEFT, 8}},
    {.name = "an order each", .problem = {2, 2, 1, 9, 10, 6, 0.3, LEFT, 4}, .mixed = 1},
    {.name = NULL},
};

Test(grade_lesson_5, every_mistake_is_named_and_nothing_else) {
    suspected_every_mistake(TD_OP_ATTENTION_BACKWARD, "mistake_backward_", cases);
}

static td_status right(const td_problem *p, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    return td_variant_find("backward_recompute_f64")->run(p, t, workspace, stream, err);
}

Test(grade_lesson_5, the_right_answer_is_no_mistake) {
    suspected_nothing(suspected(TD_OP_ATTENTION_BACKWARD, cases, right), 0);
}

static td_status two(const td_problem *p, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    td_status s = td_variant_find("mistake_backward_no_D")->run(p, t, workspace, stream, err);
    for (int64_t b = 0; b < t[TD_DV].size[0]; b++)
        for (int64_t h = 0; h < t[TD_DV].size[1]; h++)
            for (int64_t j = 0; j < t[TD_DV].size[2]; j++)
                for (int64_t c = 0; c < t[TD_DV].size[3]; c++)
                    td_set(&t[TD_DV], b, h, j, c, p->attention.scale * td_get(&t[TD_DV], b, h, j, c));
    return s;
}

Test(grade_lesson_5, two_mistakes_at_once_are_neither) {
    suspected_nothing(suspected(TD_OP_ATTENTION_BACKWARD, cases, two), 1);
}

Test(grade_lesson_5, solution_and_skeleton) {
    static const char *const checks[] = {"gqa", "deterministic", NULL};
    whole_solution_and_skeleton(5, "lessons/05_flash_backward/exercise", checks);
}
