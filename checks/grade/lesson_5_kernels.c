/* Exercise of lesson 5, the part in CUDA: the same cases as in C, and kernels' own. */
#include "kernels.h"
#include "lesson_5.h"

static const td_attention_task task = {TD_OP_ATTENTION_BACKWARD, 0, {TD_F32, TD_F32, TD_F32, 4}, 0, 20};

/* Lengths beyond one tile of 64. */
static const td_attention_case tiles[] = {
    {.name = "129 x 67, d 46", .problem = {1, 1, 1, 129, 67, 46, 0.2, TD_MASK_NONE, 0}},
    {.name = "70 x 150, causal", .problem = {1, 2, 1, 70, 150, 16, 0.3, TD_MASK_CAUSAL_BOTTOM_RIGHT, 0}},
    {.name = "secret", .problem = {1, 2, 2, 100, 133, 128, 0.0884, TD_MASK_CAUSAL_TOP_LEFT, 0}, .secret = 1},
    {.name = NULL},
};

td_status td_backward_kernels(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err) {
    static const struct {
        const char *check;
        const td_attention_case *cases;
    } tables[] = {{"cuda_shapes", td_backward_shapes},
                  {"cuda_ragged", td_backward_ragged},
                  {"cuda_tiles", tiles},
                  {"cuda_masks", td_backward_masks},
                  {"cuda_empty_rows", td_backward_empty_rows},
                  {"cuda_gqa", td_backward_gqa},
                  {"cuda_strides", td_backward_strides},
                  {"cuda_extreme", td_backward_extreme}};
    size_t k = 0;
    while (strcmp(tables[k].check, check->name) != 0) k++;
    return td_attention_cases(run, check, &task, tables[k].cases, result, err);
}

td_status td_backward_kernels_repeat(td_grade_run *run, const td_grade_check *check, td_grade_result *result,
                                     td_error *err) {
    static const td_attention_case repeated = {.name = "T 130, 4 heads on 2",
                                               .problem = {1, 4, 2, 130, 130, 16, 0.25, TD_MASK_CAUSAL_TOP_LEFT, 0}};
    return td_attention_repeat(run, check, &task, &repeated, 4, result, err);
}

td_status td_backward_kernels_counts(td_grade_run *run, const td_grade_check *check, td_grade_result *result,
                                     td_error *err) {
    static const td_attention_case counted = {.name = "T 128, d 64",
                                              .problem = {1, 1, 1, 128, 128, 64, 0.125, TD_MASK_NONE, 0}};
    return td_kernels_counts(run, check, &task, &counted, result, err);
}
