/* Exercise of lesson 4: what a submission's forward kernel is asked. A kernel chooses its own tiles, so that lengths
 * lie around 16, 32, 64 and 128; on an emulator each case must be small, too. */
#include "kernels.h"
#include <math.h>

#define FULL TD_MASK_NONE
#define LEFT TD_MASK_CAUSAL_TOP_LEFT
#define RIGHT TD_MASK_CAUSAL_BOTTOM_RIGHT

/* ex2.approx, __expf's base, is within 4 ulp; the judgement is of the kernel, not of it. */
static const td_attention_task of_O = {TD_OP_ATTENTION_FORWARD, 0, {TD_F32, TD_F32, TD_F32, 4}, 1u << TD_O, 20};
static const td_attention_task of_both = {TD_OP_ATTENTION_FORWARD, 0, {TD_F32, TD_F32, TD_F32, 4}, 0, 20};

static const td_attention_case shapes[] = {
    {.name = "64 x 64, d 64", .problem = {1, 1, 1, 64, 64, 64, 0.125, FULL, 0}},
    {.name = "batch and heads, 256 keys", .problem = {2, 2, 2, 32, 256, 32, 0.17677669529663687, FULL, 0}},
    {.name = "secret", .problem = {1, 2, 2, 96, 128, 128, 0.0884, FULL, 0}, .secret = 1},
    {.name = NULL},
};

static const td_attention_case ragged[] = {
    {.name = "15 x 17, d 1", .problem = {1, 1, 1, 15, 17, 1, 0.7, FULL, 0}},
    {.name = "1 x 31, d 46", .problem = {1, 2, 2, 1, 31, 46, 0.15, FULL, 0}},
    {.name = "33 x 1, d 63", .problem = {1, 1, 1, 33, 1, 63, 0.126, FULL, 0}},
    {.name = "17 x 33, d 64", .problem = {1, 2, 2, 17, 33, 64, 0.1, FULL, 0}},
    {.name = "16 x 130, d 65", .problem = {1, 1, 1, 16, 130, 65, 0.12, FULL, 0}},
    {.name = "31 x 16, d 128", .problem = {1, 1, 1, 31, 16, 128, 0.0884, LEFT, 0}, .secret = 1},
    {.name = "129 x 67, d 46", .problem = {1, 1, 1, 129, 67, 46, 0.2, FULL, 0}, .secret = 1},
    {.name = NULL},
};

static const td_attention_case masks[] = {
    {.name = "top-left, square", .problem = {1, 2, 2, 66, 66, 16, 0.3, LEFT, 0}},
    {.name = "top-left, Tq < Tk", .problem = {1, 1, 1, 19, 70, 16, 0.3, LEFT, 0}},
    {.name = "top-left, Tq > Tk", .problem = {1, 1, 1, 70, 19, 16, 0.3, LEFT, 0}},
    {.name = "bottom-right, Tq < Tk", .problem = {1, 1, 1, 40, 100, 16, 0.3, RIGHT, 0}},
    {.name = "secret", .problem = {2, 1, 1, 50, 141, 24, 0.3, RIGHT, 0}, .secret = 1},
    {.name = NULL},
};

static const td_attention_case empty_rows[] = {
    {.name = "bottom-right, Tq > Tk", .problem = {1, 2, 2, 70, 40, 16, 0.3, RIGHT, 0}},
    {.name = "no keys", .problem = {1, 2, 2, 5, 0, 8, 0.3, FULL, 0}},
    {.name = "no queries", .problem = {1, 2, 2, 0, 5, 8, 0.3, FULL, 0}},
    {.name = "secret", .problem = {1, 1, 1, 100, 33, 16, 0.3, RIGHT, 0}, .secret = 1},
    {.name = NULL},
};

static const td_attention_case gqa[] = {
    {.name = "4 heads on 2", .problem = {1, 4, 2, 20, 40, 16, 0.25, FULL, 0}},
    {.name = "6 heads on 2, causal", .problem = {2, 6, 2, 17, 17, 8, 0.35, LEFT, 0}},
    {.name = "secret", .problem = {2, 6, 3, 18, 36, 16, 0.25, RIGHT, 0}, .secret = 1},
    {.name = NULL},
};

static const td_attention_case strides[] = {
    {.name = "transposed, padded rows",
     .problem = {2, 3, 3, 20, 40, 16, 0.25, FULL, 0},
     .layout = TD_LAYOUT_TRANSPOSED},
    {.name = "K and V for all batches", .problem = {3, 2, 1, 20, 40, 16, 0.25, LEFT, 0}, .layout = TD_LAYOUT_BROADCAST},
    {.name = "an order each", .problem = {2, 4, 2, 17, 22, 14, 0.3, RIGHT, 0}, .mixed = 1},
    {.name = "one element off", .problem = {1, 2, 2, 36, 40, 64, 0.125, FULL, 0}, .at_start = 1},
    {.name = "secret",
     .problem = {2, 4, 2, 25, 37, 23, 0.2, RIGHT, 0},
     .layout = TD_LAYOUT_TRANSPOSED,
     .at_start = 1,
     .secret = 1},
    {.name = NULL},
};

static const td_attention_case extreme[] = {
    {.name = "large scores", .problem = {1, 2, 2, 24, 150, 16, 8, FULL, 0}, .plant = td_plant_whole_numbers},
    {.name = "large offset",
     .problem = {1, 1, 1, 24, 80, 16, 0.25, LEFT, 0},
     .fixture = TD_FIXTURE_OFFSET,
     .unnamed = 1},
    {.name = "maximum first", .problem = {1, 1, 1, 3, 256, 4, 1, FULL, 0}, .plant = td_plant_falling},
    {.name = "maximum last", .problem = {1, 1, 1, 3, 256, 4, 1, FULL, 0}, .plant = td_plant_rising},
    {.name = "negative scale", .problem = {1, 1, 1, 24, 80, 16, -8, FULL, 0}, .plant = td_plant_whole_numbers},
    {.name = "far below 0", .problem = {1, 1, 1, 5, 80, 4, 1, FULL, 0}, .plant = td_plant_far_below},
    {.name = "scale 0", .problem = {1, 1, 1, 24, 80, 16, 0, LEFT, 0}},
    {.name = "secret",
     .problem = {1, 1, 1, 33, 145, 24, 25, RIGHT, 0},
     .fixture = TD_FIXTURE_OUTLIER,
     .secret = 1,
     .unnamed = 1},
    {.name = NULL},
};

static const td_attention_case nonfinite[] = {
    {.name = "NaN in a query",
     .problem = {1, 2, 2, 6, 39, 8, 0.35, FULL, 0},
     .plant = td_plant_in_query,
     .nonfinite = 1},
    {.name = "NaN that no query reads",
     .problem = {1, 1, 1, 6, 41, 8, 0.35, LEFT, 0},
     .plant = td_plant_unread,
     .nonfinite = 1},
    {.name = "NaN that some queries read",
     .problem = {1, 1, 1, 39, 39, 8, 0.35, LEFT, 0},
     .plant = td_plant_read_by_some,
     .nonfinite = 1},
    {.name = NULL},
};

static const td_attention_case lse[] = {
    {.name = "no mask", .problem = {1, 2, 2, 17, 133, 16, 0.3, FULL, 0}},
    {.name = "rows without a key", .problem = {1, 1, 1, 70, 40, 16, 0.3, RIGHT, 0}},
    {.name = "large scores", .problem = {1, 1, 1, 17, 33, 16, -8, LEFT, 0}, .plant = td_plant_whole_numbers},
    {.name = "secret", .problem = {2, 2, 1, 19, 80, 24, 0.5, RIGHT, 0}, .layout = TD_LAYOUT_TRANSPOSED, .secret = 1},
    {.name = NULL},
};

#define CASES(name, task)                                                                                              \
    static td_status check_##name(td_grade_run *run, const td_grade_check *check, td_grade_result *result,             \
                                  td_error *err) {                                                                     \
        return td_attention_cases(run, check, &task, name, result, err);                                               \
    }
CASES(shapes, of_O)
CASES(ragged, of_O)
CASES(masks, of_O)
CASES(empty_rows, of_O)
CASES(gqa, of_O)
CASES(strides, of_O)
CASES(extreme, of_O)
CASES(nonfinite, of_O)
CASES(lse, of_both)

/* The clock is the parent's, from the call to the reply, with the tensors' way to the device and back in it; so rows
 * are long: products grow with T², tensors with T. The reference would take minutes for all of them. */
static td_status check_speed(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err) {
    static const td_attention_case timed = {
        .name = "T 32768, d 64", .problem = {1, 1, 1, 32768, 32768, 64, 0.125, FULL, 0}, .secret = 1, .apart = 256};
    return td_attention_speed(run, check, &of_both, &timed, 5, result, err);
}

static td_status check_counts(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err) {
    static const td_attention_case counted = {.name = "T 128, d 64",
                                              .problem = {1, 1, 1, 128, 128, 64, 0.125, FULL, 0}};
    return td_kernels_counts(run, check, &of_both, &counted, result, err);
}

enum { ON_GPU = TD_CHECK_LAST | TD_CHECK_GPU | TD_CHECK_RATIO };
static const td_grade_check checks[] = {
    {"shapes", 0, 0, check_shapes},
    {"ragged", 0, 0, check_ragged},
    {"masks", 0, 0, check_masks},
    {"empty_rows", 0, 0, check_empty_rows},
    {"gqa", 0, 0, check_gqa},
    {"strides", 0, 0, check_strides},
    {"extreme", 0, 0, check_extreme},
    {"nonfinite", 0, 0, check_nonfinite},
    {"lse", 0, 0, check_lse},
    {"speed", 0, ON_GPU, check_speed},
    {"counts", 0, TD_CHECK_LAST, check_counts},
    {NULL, 0, 0, NULL},
};

static void enter(td_suspects *suspects) {
    td_attention_enter(suspects, TD_OP_ATTENTION_FORWARD);
}

const td_exercise td_exercise_4 = {.number = 4,
                                   .folder = "04_flash_forward",
                                   .part = {{"flash_forward.cu", "flash_forward"}},
                                   .parts = 1,
                                   .checks = checks,
                                   .enter = enter};
