/* Exercise of lesson 3: what a submission's online softmax is asked. Few cases, each of which shows something that the
 * others do not. The block is given nearly everywhere: mistakes of the recurrence depend on it. */
#include "attention.h"

#define FULL TD_MASK_NONE
#define LEFT TD_MASK_CAUSAL_TOP_LEFT
#define RIGHT TD_MASK_CAUSAL_BOTTOM_RIGHT

/* Any libm's expf and exp2f are within 2 ulp; the judgement is of the recurrence, not of them. */
static const td_attention_task of_O = {TD_OP_ATTENTION_FORWARD, 0, {TD_F32, TD_F32, TD_F32, 4}, 1u << TD_O, 10};
static const td_attention_task of_both = {TD_OP_ATTENTION_FORWARD, 0, {TD_F32, TD_F32, TD_F32, 4}, 0, 10};

static const td_attention_case shapes[] = {
    {.name = "one head", .problem = {1, 1, 1, 32, 48, 16, 0.25, FULL, 16}},
    {.name = "batch and heads", .problem = {2, 3, 3, 24, 40, 32, 0.17677669529663687, FULL, 8}},
    {.name = "own block", .problem = {1, 2, 2, 40, 150, 24, 0.2, FULL, 0}, .unnamed = 1},
    {.name = "secret", .problem = {2, 2, 2, 40, 72, 48, 0.3, FULL, 24}, .secret = 1},
    {.name = NULL},
};

static const td_attention_case ragged[] = {
    {.name = "15 x 17, d 1", .problem = {1, 1, 1, 15, 17, 1, 0.7, FULL, 16}},
    {.name = "1 x 31, d 46", .problem = {1, 2, 2, 1, 31, 46, 0.15, FULL, 16}},
    {.name = "33 x 1, d 63", .problem = {1, 1, 1, 33, 1, 63, 0.126, FULL, 1}},
    {.name = "17 x 33, d 64", .problem = {1, 2, 2, 17, 33, 64, 0.1, FULL, 32}},
    {.name = "31 x 16, d 128", .problem = {1, 1, 1, 31, 16, 128, 0.0884, LEFT, 5}},
    {.name = "16 x 127, d 63", .problem = {1, 1, 1, 16, 127, 63, 0.2, FULL, 16}, .secret = 1},
    {.name = "127 x 31, d 46", .problem = {1, 1, 1, 127, 31, 46, 0.1, LEFT, 10}, .secret = 1},
    {.name = NULL},
};

static const td_attention_case masks[] = {
    {.name = "top-left, square", .problem = {1, 2, 2, 33, 33, 16, 0.3, LEFT, 8}},
    {.name = "top-left, Tq < Tk", .problem = {1, 1, 1, 19, 40, 16, 0.3, LEFT, 8}},
    {.name = "top-left, Tq > Tk", .problem = {1, 1, 1, 40, 19, 16, 0.3, LEFT, 8}},
    {.name = "bottom-right, Tq < Tk", .problem = {1, 1, 1, 21, 50, 16, 0.3, RIGHT, 8}},
    {.name = "secret", .problem = {2, 1, 1, 30, 37, 24, 0.3, RIGHT, 7}, .secret = 1},
    {.name = NULL},
};

static const td_attention_case empty_rows[] = {
    {.name = "bottom-right, Tq > Tk", .problem = {1, 2, 2, 37, 20, 16, 0.3, RIGHT, 8}},
    {.name = "no keys", .problem = {1, 2, 2, 5, 0, 8, 0.3, FULL, 8}},
    {.name = "no queries", .problem = {1, 2, 2, 0, 5, 8, 0.3, FULL, 8}},
    {.name = "secret", .problem = {1, 1, 1, 50, 33, 16, 0.3, RIGHT, 16}, .secret = 1},
    {.name = NULL},
};

static const td_attention_case gqa[] = {
    {.name = "4 heads on 2", .problem = {1, 4, 2, 20, 24, 16, 0.25, FULL, 8}},
    {.name = "6 heads on 2, causal", .problem = {2, 6, 2, 17, 17, 8, 0.35, LEFT, 8}},
    {.name = "secret", .problem = {2, 6, 3, 18, 26, 16, 0.25, RIGHT, 10}, .secret = 1},
    {.name = NULL},
};

static const td_attention_case strides[] = {
    {.name = "transposed, padded rows",
     .problem = {2, 3, 3, 20, 28, 16, 0.25, FULL, 8},
     .layout = TD_LAYOUT_TRANSPOSED},
    {.name = "K and V for all batches", .problem = {3, 2, 1, 20, 28, 16, 0.25, LEFT, 8}, .layout = TD_LAYOUT_BROADCAST},
    {.name = "an order each", .problem = {2, 4, 2, 17, 22, 14, 0.3, RIGHT, 8}, .mixed = 1},
    {.name = "one element off", .problem = {1, 2, 2, 19, 21, 13, 0.25, FULL, 8}, .at_start = 1},
    {.name = "secret",
     .problem = {2, 4, 2, 25, 33, 23, 0.2, RIGHT, 16},
     .layout = TD_LAYOUT_TRANSPOSED,
     .at_start = 1,
     .secret = 1},
    {.name = NULL},
};

static const td_attention_case extreme[] = {
    {.name = "large scores", .problem = {1, 2, 2, 24, 40, 16, 8, FULL, 8}, .plant = td_plant_whole_numbers},
    {.name = "negative scale", .problem = {1, 1, 1, 24, 40, 16, -8, FULL, 8}, .plant = td_plant_whole_numbers},
    {.name = "scale 0", .problem = {1, 1, 1, 24, 40, 16, 0, LEFT, 8}},
    {.name = "maximum first", .problem = {1, 1, 1, 3, 32, 4, 1, FULL, 16}, .plant = td_plant_falling},
    {.name = "maximum last", .problem = {1, 1, 1, 3, 32, 4, 10, FULL, 16}, .plant = td_plant_rising},
    {.name = "far below 0", .problem = {1, 1, 1, 5, 20, 4, 1, FULL, 8}, .plant = td_plant_far_below},
    {.name = "large offset",
     .problem = {1, 1, 1, 24, 40, 16, 0.25, LEFT, 8},
     .fixture = TD_FIXTURE_OFFSET,
     .unnamed = 1},
    {.name = "one-hot", .problem = {1, 1, 1, 24, 40, 16, 0.25, FULL, 8}, .fixture = TD_FIXTURE_ONE_HOT},
    {.name = "secret",
     .problem = {1, 1, 1, 33, 45, 24, 25, RIGHT, 8},
     .fixture = TD_FIXTURE_OUTLIER,
     .secret = 1,
     .unnamed = 1},
    {.name = NULL},
};

static const td_attention_case nonfinite[] = {
    {.name = "NaN in a query",
     .problem = {2, 12, 12, 5, 9, 8, 0.35, FULL, 4},
     .plant = td_plant_in_query,
     .nonfinite = 1},
    {.name = "NaN that no query reads",
     .problem = {1, 1, 1, 6, 11, 8, 0.35, LEFT, 4},
     .plant = td_plant_unread,
     .nonfinite = 1},
    {.name = "NaN that some queries read",
     .problem = {1, 1, 1, 9, 9, 8, 0.35, LEFT, 4},
     .plant = td_plant_read_by_some,
     .nonfinite = 1},
    {.name = "scores of -inf first",
     .problem = {1, 1, 1, 5, 8, 8, 0.35, FULL, 2},
     .plant = td_plant_minus_infinity,
     .nonfinite = 1},
    {.name = NULL},
};

static const td_attention_case blocks[] = {
    {.name = "block 1", .problem = {1, 1, 1, 20, 37, 16, 0.4, FULL, 1}},
    {.name = "block 7", .problem = {1, 1, 1, 20, 37, 16, 0.4, LEFT, 7}},
    {.name = "block 64 of 200 keys", .problem = {1, 1, 1, 20, 200, 16, 0.4, FULL, 64}},
    {.name = "a block beyond all keys", .problem = {1, 1, 1, 20, 37, 16, 0.4, FULL, 1000000}, .unnamed = 1},
    {.name = NULL},
};

static const td_attention_case lse[] = {
    {.name = "no mask", .problem = {1, 2, 2, 17, 33, 16, 0.3, FULL, 8}},
    {.name = "rows without a key", .problem = {1, 1, 1, 33, 20, 16, 0.3, RIGHT, 8}},
    {.name = "large scores", .problem = {1, 1, 1, 17, 33, 16, -8, LEFT, 8}, .plant = td_plant_whole_numbers},
    {.name = "secret", .problem = {2, 2, 1, 19, 40, 24, 0.5, RIGHT, 16}, .mixed = 1, .secret = 1},
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
CASES(blocks, of_O)
CASES(lse, of_both)

static td_status check_memory(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err) {
    static const td_attention_case small = {
        .name = "T 64", .problem = {1, 1, 1, 64, 64, 8, 0.35, LEFT, 64}, .secret = TD_CASE_MEASURED};
    static const td_attention_case large = {
        .name = "T 2048", .problem = {1, 1, 1, 2048, 2048, 8, 0.35, LEFT, 64}, .secret = TD_CASE_MEASURED};
    return td_attention_memory(run, check, &of_both, &small, &large, result, err);
}

static td_status check_speed(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err) {
    static const td_attention_case timed = {.name = "T 512, d 64",
                                            .problem = {1, 2, 2, 512, 512, 64, 0.125, FULL, 64},
                                            .secret = TD_CASE_MEASURED,
                                            .apart = 8};
    return td_attention_speed(run, check, &of_both, &timed, 7, result, err);
}

static const td_grade_check checks[] = {
    {"shapes", 0, 0, check_shapes},
    {"ragged", 0, 0, check_ragged},
    {"masks", 0, 0, check_masks},
    {"empty_rows", 0, 0, check_empty_rows},
    {"gqa", 0, 0, check_gqa},
    {"strides", 0, 0, check_strides},
    {"extreme", 0, 0, check_extreme},
    {"nonfinite", 0, 0, check_nonfinite},
    {"blocks", 0, 0, check_blocks},
    {"lse", 0, 0, check_lse},
    {"memory", 0, TD_CHECK_LAST, check_memory},
    {"speed", 0, TD_CHECK_LAST | TD_CHECK_RATIO, check_speed},
    {NULL, 0, 0, NULL},
};

static void enter(td_suspects *suspects) {
    td_attention_enter(suspects, TD_OP_ATTENTION_FORWARD);
}

const td_exercise td_exercise_3 = {.number = 3,
                                   .folder = "03_online_softmax",
                                   .part = {{"online_softmax.c", "online_softmax"}},
                                   .parts = 1,
                                   .checks = checks,
                                   .enter = enter};
