/* Exercise 3: mistakes are told apart, and the solution gets its points. */
#include "attention_suspected.h"
#include "whole.h"

#define FULL TD_MASK_NONE
#define LEFT TD_MASK_CAUSAL_TOP_LEFT
#define RIGHT TD_MASK_CAUSAL_BOTTOM_RIGHT

/* In each some mistakes show, in all together every one. */
static const td_attention_case cases[] = {
    {.name = "empty rows", .problem = {1, 4, 2, 21, 19, 4, 0.4, RIGHT, 8}},
    {.name = "left", .problem = {2, 4, 2, 19, 21, 4, 0.4, LEFT, 8}},
    {.name = "right", .problem = {1, 2, 1, 9, 18, 3, 0.4, RIGHT, 8}},
    {.name = "full", .problem = {1, 2, 1, 17, 19, 4, 0.3, FULL, 8}},
    {.name = "long", .problem = {1, 1, 1, 140, 135, 2, 0.5, LEFT, 8}},
    {.name = "wide", .problem = {1, 1, 1, 5, 9, 70, 0.1, FULL, 4}},
    {.name = "large", .problem = {1, 1, 1, 12, 43, 4, 24, FULL, 8}, .plant = td_plant_whole_numbers},
    {.name = "negative", .problem = {1, 1, 1, 9, 27, 4, -8, FULL, 8}, .plant = td_plant_whole_numbers},
    {.name = "rising", .problem = {1, 1, 1, 3, 32, 2, 10, FULL, 16}, .plant = td_plant_rising},
    {.name = "far below", .problem = {1, 1, 1, 5, 20, 4, 1, FULL, 8}, .plant = td_plant_far_below},
    {.name = "no keys", .problem = {1, 1, 1, 3, 0, 4, 0.4, FULL, 8}},
    {.name = "NaN in queries", .problem = {1, 2, 2, 5, 9, 4, 0.4, FULL, 4}, .plant = td_plant_in_query, .nonfinite = 1},
    {.name = "NaN unread", .problem = {1, 1, 1, 6, 11, 4, 0.4, LEFT, 4}, .plant = td_plant_unread, .nonfinite = 1},
    {.name = "-inf", .problem = {1, 1, 1, 5, 8, 4, 0.4, FULL, 2}, .plant = td_plant_minus_infinity, .nonfinite = 1},
    {.name = "tiles", .problem = {1, 1, 1, 70, 75, 1, 0.4, RIGHT, 8}},
    {.name = "an order each", .problem = {2, 2, 1, 9, 10, 6, 0.3, LEFT, 4}, .mixed = 1},
    {.name = NULL},
};

Test(grade_lesson_3, every_mistake_is_named_and_nothing_else) {
    suspected_every_mistake(TD_OP_ATTENTION_FORWARD, "mistake_", cases);
}

static td_status right(const td_problem *p, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    (void)stream, (void)workspace;
    double *room = malloc(td_variant_find("dense_f64")->workspace_bytes(p));
    td_status s = td_variant_find("dense_f64")->run(p, t, room, NULL, err);
    free(room);
    return s;
}

Test(grade_lesson_3, the_right_answer_is_no_mistake) {
    suspected_nothing(suspected(TD_OP_ATTENTION_FORWARD, cases, right), 0);
}

/* V where K's strides lead. */
static td_status misread(const td_problem *p, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    td_tensor wrong[TD_ATTENTION_TENSORS];
    memcpy(wrong, t, sizeof wrong);
    memcpy(wrong[TD_V].stride, t[TD_K].stride, 3 * sizeof *t->stride);
    return right(p, wrong, workspace, stream, err);
}

Test(grade_lesson_3, wrong_strides_are_named) {
    suspected_named(suspected(TD_OP_ATTENTION_FORWARD, cases, misread), "V_by_strides_of_K");
}

/* V with td_offset of K. */
static td_status wholly_misread(const td_problem *p, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    td_tensor wrong[TD_ATTENTION_TENSORS];
    memcpy(wrong, t, sizeof wrong);
    memcpy(wrong[TD_V].stride, t[TD_K].stride, sizeof t->stride);
    return right(p, wrong, workspace, stream, err);
}

Test(grade_lesson_3, all_strides_of_another_are_named) {
    suspected_named(suspected(TD_OP_ATTENTION_FORWARD, cases, wholly_misread), "V_by_all_strides_of_K");
}

/* A NaN comes out wrong, in no way that has a name. */
static td_status no_nan(const td_problem *p, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    td_status s = right(p, t, workspace, stream, err);
    for (int64_t b = 0; b < t[TD_O].size[0]; b++)
        for (int64_t h = 0; h < t[TD_O].size[1]; h++)
            for (int64_t i = 0; i < t[TD_O].size[2]; i++)
                if (isnan(td_get(&t[TD_O], b, h, i, 0))) td_set(&t[TD_O], b, h, i, 0, 0);
    return s;
}

Test(grade_lesson_3, a_lost_nan_is_unknown) {
    suspected_nothing(suspected(TD_OP_ATTENTION_FORWARD, cases, no_nan), 1);
}

static td_status two(const td_problem *p, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    td_status s = td_variant_find("mistake_no_scale")->run(p, t, workspace, stream, err);
    for (int64_t b = 0; b < t[TD_LSE].size[0]; b++)
        for (int64_t h = 0; h < t[TD_LSE].size[1]; h++)
            for (int64_t i = 0; i < t[TD_LSE].size[2]; i++)
                td_set(&t[TD_LSE], b, h, i, 0, td_get(&t[TD_LSE], b, h, i, 0) / log(2));
    return s;
}

Test(grade_lesson_3, two_mistakes_at_once_are_neither) {
    suspected_nothing(suspected(TD_OP_ATTENTION_FORWARD, cases, two), 1);
}

Test(grade_lesson_3, solution_and_skeleton) {
    static const char *const checks[] = {"masks", "strides", NULL};
    whole_solution_and_skeleton(3, "lessons/03_online_softmax/exercise", checks);
}
