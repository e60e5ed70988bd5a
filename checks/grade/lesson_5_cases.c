/* What backward is asked: small problems, each with something that the others do not have. */
#include "lesson_5.h"
#include <math.h>

#define FULL TD_MASK_NONE
#define LEFT TD_MASK_CAUSAL_TOP_LEFT
#define RIGHT TD_MASK_CAUSAL_BOTTOM_RIGHT

const td_attention_case td_backward_shapes[] = {
    {.name = "one head", .problem = {1, 1, 1, 32, 48, 16, 0.25, FULL, 16}},
    {.name = "batch and heads", .problem = {2, 2, 2, 24, 40, 32, 0.17677669529663687, FULL, 8}},
    {.name = "secret", .problem = {2, 2, 2, 40, 56, 24, 0.3, FULL, 16}, .secret = 1},
    {.name = NULL},
};

const td_attention_case td_backward_ragged[] = {
    {.name = "15 x 17, d 1", .problem = {1, 1, 1, 15, 17, 1, 0.7, FULL, 16}},
    {.name = "1 x 31, d 46", .problem = {1, 2, 2, 1, 31, 46, 0.15, FULL, 16}},
    {.name = "33 x 1, d 63", .problem = {1, 1, 1, 33, 1, 63, 0.126, FULL, 1}},
    {.name = "17 x 33, d 64", .problem = {1, 1, 1, 17, 33, 64, 0.1, FULL, 16}},
    {.name = "127 x 70, d 16", .problem = {1, 1, 1, 127, 70, 16, 0.3, FULL, 64}},
    {.name = "31 x 16, d 128", .problem = {1, 1, 1, 31, 16, 128, 0.0884, LEFT, 5}, .secret = 1},
    {.name = NULL},
};

const td_attention_case td_backward_masks[] = {
    {.name = "top-left, square", .problem = {1, 2, 2, 33, 33, 16, 0.3, LEFT, 8}},
    {.name = "top-left, Tq < Tk", .problem = {1, 1, 1, 19, 40, 16, 0.3, LEFT, 8}},
    {.name = "top-left, Tq > Tk", .problem = {1, 1, 1, 40, 19, 16, 0.3, LEFT, 8}},
    {.name = "bottom-right, Tq < Tk", .problem = {1, 1, 1, 21, 50, 16, 0.3, RIGHT, 8}},
    {.name = "secret", .problem = {2, 1, 1, 30, 37, 24, 0.3, RIGHT, 7}, .secret = 1},
    {.name = NULL},
};

/* Keys that no query reads. */
static void plant_unread(const td_attention_problem *a, const td_tensor *t) {
    for (int64_t j = a->Tq; j < a->Tk; j++)
        for (int64_t c = 0; c < a->d; c++) td_set(&t[TD_K], 0, 0, j, c, NAN), td_set(&t[TD_V], 0, 0, j, c, NAN);
}

const td_attention_case td_backward_empty_rows[] = {
    {.name = "bottom-right, Tq > Tk", .problem = {1, 2, 2, 37, 20, 16, 0.3, RIGHT, 8}},
    {.name = "no keys", .problem = {1, 2, 2, 5, 0, 8, 0.3, FULL, 8}},
    {.name = "no queries", .problem = {1, 2, 2, 0, 5, 8, 0.3, FULL, 8}},
    {.name = "NaN that no query reads",
     .problem = {1, 1, 1, 6, 19, 8, 0.35, LEFT, 4},
     .plant = plant_unread,
     .nonfinite = 1},
    {.name = "secret", .problem = {1, 1, 1, 50, 33, 16, 0.3, RIGHT, 16}, .secret = 1},
    {.name = NULL},
};

const td_attention_case td_backward_gqa[] = {
    {.name = "4 heads on 2", .problem = {1, 4, 2, 20, 24, 16, 0.25, FULL, 8}},
    {.name = "6 heads on 2, causal", .problem = {2, 6, 2, 17, 17, 8, 0.35, LEFT, 8}},
    {.name = "secret", .problem = {2, 6, 3, 18, 26, 16, 0.25, RIGHT, 10}, .secret = 1},
    {.name = NULL},
};

const td_attention_case td_backward_strides[] = {
    {.name = "transposed, padded rows",
     .problem = {2, 3, 3, 20, 28, 16, 0.25, FULL, 8},
     .layout = TD_LAYOUT_TRANSPOSED},
    {.name = "shared K, V and dO", .problem = {3, 2, 1, 20, 28, 16, 0.25, LEFT, 8}, .layout = TD_LAYOUT_BROADCAST},
    {.name = "an order each", .problem = {2, 4, 2, 17, 22, 14, 0.3, RIGHT, 8}, .mixed = 1},
    {.name = "one element off", .problem = {1, 2, 2, 19, 21, 13, 0.25, FULL, 8}, .at_start = 1},
    {.name = "secret",
     .problem = {2, 4, 2, 25, 33, 23, 0.2, RIGHT, 16},
     .layout = TD_LAYOUT_TRANSPOSED,
     .at_start = 1,
     .secret = 1},
    {.name = NULL},
};

const td_attention_case td_backward_extreme[] = {
    {.name = "large scores", .problem = {1, 2, 2, 24, 40, 16, 2, FULL, 8}, .plant = td_plant_whole_numbers},
    {.name = "large offset",
     .problem = {1, 1, 1, 24, 40, 16, 0.25, LEFT, 8},
     .fixture = TD_FIXTURE_OFFSET,
     .unnamed = 1},
    {.name = "negative scale", .problem = {1, 1, 1, 24, 40, 16, -2, FULL, 8}, .plant = td_plant_whole_numbers},
    {.name = "scale 0", .problem = {1, 1, 1, 24, 40, 16, 0, LEFT, 8}},
    {.name = "secret",
     .problem = {1, 1, 1, 33, 45, 24, 0.3, RIGHT, 8},
     .fixture = TD_FIXTURE_OUTLIER,
     .secret = 1,
     .unnamed = 1},
    {.name = NULL},
};
