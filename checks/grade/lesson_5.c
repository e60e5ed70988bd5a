/* Exercise of lesson 5: what a submission's attention backward is asked, in C; and the table with both parts. */
#include "lesson_5.h"

static const td_attention_task task = {TD_OP_ATTENTION_BACKWARD, 0, {TD_F32, TD_F32, TD_F32, 4}, 0, 10};

#define CASES(name)                                                                                                    \
    static td_status check_##name(td_grade_run *run, const td_grade_check *check, td_grade_result *result,             \
                                  td_error *err) {                                                                     \
        return td_attention_cases(run, check, &task, td_backward_##name, result, err);                                 \
    }
CASES(shapes)
CASES(ragged)
CASES(masks)
CASES(empty_rows)
CASES(gqa)
CASES(strides)
CASES(extreme)

static td_status check_deterministic(td_grade_run *run, const td_grade_check *check, td_grade_result *result,
                                     td_error *err) {
    static const td_attention_case repeated = {.name = "T 200, 4 heads on 2",
                                               .problem = {1, 4, 2, 200, 200, 16, 0.25, TD_MASK_CAUSAL_TOP_LEFT, 16}};
    return td_attention_repeat(run, check, &task, &repeated, 6, result, err);
}

static td_status check_memory(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err) {
    static const td_attention_case small = {
        .name = "T 64", .problem = {1, 1, 1, 64, 64, 8, 0.35, TD_MASK_NONE, 64}, .secret = TD_CASE_MEASURED};
    static const td_attention_case large = {.name = "T 2048",
                                            .problem = {1, 1, 1, 2048, 2048, 8, 0.35, TD_MASK_CAUSAL_TOP_LEFT, 64},
                                            .secret = TD_CASE_MEASURED};
    return td_attention_memory(run, check, &task, &small, &large, result, err);
}

static td_status check_speed(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err) {
    static const td_attention_case timed = {
        .name = "T 320, d 64", .problem = {1, 2, 2, 320, 320, 64, 0.125, TD_MASK_NONE, 32}, .secret = TD_CASE_MEASURED};
    return td_attention_speed(run, check, &task, &timed, 5, result, err);
}

static const td_grade_check checks[] = {
    {"shapes", 0, 0, check_shapes},
    {"ragged", 0, 0, check_ragged},
    {"masks", 0, 0, check_masks},
    {"empty_rows", 0, 0, check_empty_rows},
    {"gqa", 0, 0, check_gqa},
    {"strides", 0, 0, check_strides},
    {"extreme", 0, 0, check_extreme},
    {"deterministic", 0, 0, check_deterministic},
    {"memory", 0, TD_CHECK_LAST, check_memory},
    {"speed", 0, TD_CHECK_LAST | TD_CHECK_RATIO, check_speed},
    {"cuda_shapes", 1, 0, td_backward_kernels},
    {"cuda_ragged", 1, 0, td_backward_kernels},
    {"cuda_tiles", 1, 0, td_backward_kernels},
    {"cuda_masks", 1, 0, td_backward_kernels},
    {"cuda_empty_rows", 1, 0, td_backward_kernels},
    {"cuda_gqa", 1, 0, td_backward_kernels},
    {"cuda_strides", 1, 0, td_backward_kernels},
    {"cuda_extreme", 1, 0, td_backward_kernels},
    {"cuda_deterministic", 1, 0, td_backward_kernels_repeat},
    {"cuda_counts", 1, TD_CHECK_LAST, td_backward_kernels_counts},
    {NULL, 0, 0, NULL},
};

static void enter(td_suspects *suspects) {
    td_attention_enter(suspects, TD_OP_ATTENTION_BACKWARD);
}

const td_exercise td_exercise_5 = {
    .number = 5,
    .folder = "05_flash_backward",
    .part = {{"flash_backward.c", "flash_backward"}, {"flash_backward.cu", "flash_backward_kernels"}},
    .parts = 2,
    .checks = checks,
    .enter = enter};
