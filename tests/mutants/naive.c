/* The three-line attention, a row of scores at a time, and what is commonly wrong in it. */
#include "student.h"

enum bug {
    NO_SCALE = 1,
    OVER_D,
    NO_MASK,
    STRICT,
    ONE_TOO_MANY,
    OTHER_CORNER,
    MINUS_A_MILLION,
    NO_EMPTY_ROWS,
    NO_MAX,
    MAX_BEFORE_SCALE,
    NOT_DIVIDED,
    LOG2,
    ONLY_LOG,
    ONLY_MAX,
    KEYS_IN_COLUMNS,
    HEADS,
    MASK_AS_FACTOR
};

static int may_read(const student_head *x, enum bug bug, int i, int j) {
    student_head wrong = *x;
    if (bug == NO_MASK) wrong.mask = TD_MASK_NONE;
    if (bug == OTHER_CORNER)
        wrong.mask = x->mask == TD_MASK_CAUSAL_TOP_LEFT ? TD_MASK_CAUSAL_BOTTOM_RIGHT : TD_MASK_CAUSAL_TOP_LEFT;
    return student_may_read(&wrong, i, bug == STRICT ? j + 1 : bug == ONE_TOO_MANY ? j - 1 : j);
}

static void attend(const student_head *x, enum bug bug) {
    float S[512], scale = bug == NO_SCALE ? 1 : bug == OVER_D ? 1 / (float)x->d : x->scale;
    for (int i = 0; i < x->Tq; i++) {
        float max = -INFINITY, sum = 0;
        for (int j = 0; j < x->Tk; j++) {
            S[j] = student_score(x, i, j) * (bug == MAX_BEFORE_SCALE ? 1 : scale);
            if (bug != MASK_AS_FACTOR && !may_read(x, bug, i, j)) S[j] = bug == MINUS_A_MILLION ? -1e6f : -INFINITY;
            if (S[j] > max) max = S[j];
        }
        float *o = x->O + i * x->d;
        for (int c = 0; c < x->d; c++) o[c] = 0;
        x->L[i] = -INFINITY;
        if (max == -INFINITY && bug != NO_EMPTY_ROWS) continue;
        if (bug == NO_MAX) max = 0;
        for (int j = 0; j < x->Tk; j++) {
            S[j] = expf((S[j] - max) * (bug == MAX_BEFORE_SCALE ? scale : 1));
            if (bug == MASK_AS_FACTOR) S[j] *= (float)may_read(x, bug, i, j);
            sum += S[j];
        }
        for (int j = 0; j < x->Tk; j++)
            for (int c = 0; c < x->d; c++)
                o[c] +=
                    (float)td_round_to(S[j], x->probs) * x->V[bug == KEYS_IN_COLUMNS ? c * x->Tk + j : j * x->d + c];
        for (int c = 0; c < x->d && bug != NOT_DIVIDED; c++) o[c] /= sum;
        if (bug == MAX_BEFORE_SCALE) max *= scale;
        x->L[i] = bug == LOG2       ? (max + logf(sum)) * 1.44269504f
                  : bug == ONLY_LOG ? logf(sum)
                  : bug == ONLY_MAX ? max
                                    : max + logf(sum);
    }
}

STUDENT_RUN(right, 0, attend(x, 0))
STUDENT_RUN(mask_as_factor, 0, attend(x, MASK_AS_FACTOR))
STUDENT_RUN(no_scale, 0, attend(x, NO_SCALE))
STUDENT_RUN(over_d, 0, attend(x, OVER_D))
STUDENT_RUN(no_mask, 0, attend(x, NO_MASK))
STUDENT_RUN(strict, 0, attend(x, STRICT))
STUDENT_RUN(one_too_many, 0, attend(x, ONE_TOO_MANY))
STUDENT_RUN(other_corner, 0, attend(x, OTHER_CORNER))
STUDENT_RUN(minus_a_million, 0, attend(x, MINUS_A_MILLION))
STUDENT_RUN(no_empty_rows, 0, attend(x, NO_EMPTY_ROWS))
STUDENT_RUN(no_max, 0, attend(x, NO_MAX))
STUDENT_RUN(max_before_scale, 0, attend(x, MAX_BEFORE_SCALE))
STUDENT_RUN(not_divided, 0, attend(x, NOT_DIVIDED))
STUDENT_RUN(log2, 0, attend(x, LOG2))
STUDENT_RUN(only_log, 0, attend(x, ONLY_LOG))
STUDENT_RUN(only_max, 0, attend(x, ONLY_MAX))
STUDENT_RUN(keys_in_columns, 0, attend(x, KEYS_IN_COLUMNS))
STUDENT_RUN(heads, 1, attend(x, HEADS))

const mutant mutants_naive[] = {
    {"no scale", "online_f32", "no_scale", run_no_scale, FULL},
    {"no scale", "online_bf16", "no_scale", run_no_scale, FULL},
    {"divided by d", "online_f32", "scale_by_d", run_over_d, FULL},
    {"no mask", "online_f32", "mask_ignored", run_no_mask, LEFT},
    {"no mask", "online_bf16", "mask_ignored", run_no_mask, RIGHT},
    {"strict mask", "online_f32", "mask_strict", run_strict, RIGHT},
    {"one key too many", "online_f32", "mask_one_too_many", run_one_too_many, LEFT},
    {"other corner, top-left", "online_f32", "other_alignment", run_other_corner, LEFT},
    {"other corner, bottom-right", "online_fp16", "other_alignment", run_other_corner, RIGHT},
    {"-1e6 for masked", "online_f32", "finite_sentinel", run_minus_a_million, EMPTY},
    {"NaN for empty rows", "online_f32", "infinity_minus_infinity", run_no_empty_rows, EMPTY},
    {"no maximum", "online_f32", "no_maximum", run_no_max, STEEP},
    {"maximum before a negative scale", "online_f32", "maximum_ignores_sign", run_max_before_scale, NEGATIVE},
    {"not divided", "online_f32", "not_normalised", run_not_divided, FULL},
    {"LSE in base 2", "online_f32", "lse_base_2", run_log2, FULL},
    {"LSE in base 2", "online_bf16", "lse_base_2", run_log2, LEFT},
    {"LSE without the maximum", "online_f32", "lse_no_maximum", run_only_log, FULL},
    {"LSE is the maximum", "online_f32", "lse_is_maximum", run_only_max, FULL},
    {"V read by columns", "online_f32", "V_by_columns", run_keys_in_columns, FULL},
    {"heads paired modulo", "online_f32", "wrong_kv_head", run_heads, GROUPED},
    {NULL, NULL, NULL, NULL, 0},
};

const mutant mutants_all_right[] = {
    {"right", "online_f32", NULL, run_right, RIGHT},
    {"right", "online_f32", NULL, run_right, EMPTY},
    {"right", "online_bf16", NULL, run_right, GROUPED},
    {"mask as a factor, right for finite numbers", "online_f32", NULL, run_mask_as_factor, LEFT},
    {NULL, NULL, NULL, NULL, 0},
};
const mutant mutant_mask_as_factor = {"mask as a factor", "online_f32", NULL, run_mask_as_factor, LEFT};
const mutant mutant_nan_is_empty = {"NaN scores taken for none", "online_f32", NULL, run_right, LEFT};
