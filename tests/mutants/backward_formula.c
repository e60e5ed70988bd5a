/* Attention backward from its formulas, a query at a time, and what is commonly wrong in it. */
#include "student_backward.h"
#include <stdlib.h>

enum bug {
    NO_D = 1,
    PLUS_D,
    D_BY_KEYS,
    NO_SCALE,
    SCALE_TWICE,
    UNSCALED_SCORES,
    NO_MASK,
    OTHER_CORNER,
    STRICT,
    ONE_TOO_MANY,
    MASK_OF_DK,
    NOT_NORMALISED,
    BASE_2,
    LAST_HEAD,
    SWAPPED,
    V_BY_COLUMNS,
    NO_P,
    DV_OF_DS
};

static int may_read(const student_backward *x, enum bug bug, int i, int j) {
    td_mask mask = x->mask;
    if (bug == NO_MASK) return 1;
    if (bug == OTHER_CORNER)
        mask = mask == TD_MASK_CAUSAL_TOP_LEFT ? TD_MASK_CAUSAL_BOTTOM_RIGHT : TD_MASK_CAUSAL_TOP_LEFT;
    return student_backward_may_read(x, mask, i, bug == STRICT ? j + 1 : bug == ONE_TOO_MANY ? j - 1 : j);
}

static float weight(const student_backward *x, enum bug bug, int h, int i, int j) {
    float s = student_dot(x->Q + (h * x->Tq + i) * x->d, x->K + j * x->d, x->d), L = x->LSE[h * x->Tq + i];
    if (bug != UNSCALED_SCORES) s *= x->scale;
    return bug == NOT_NORMALISED ? expf(s) : bug == BASE_2 ? exp2f(s - L) : expf(s - L);
}

static float values(const student_backward *x, enum bug bug, const float *dO, int j) {
    float sum = 0;
    if (bug != V_BY_COLUMNS) return student_dot(dO, x->V + j * x->d, x->d);
    for (int c = 0; c < x->d; c++) sum += dO[c] * x->V[c * x->Tk + j];
    return sum;
}

static void gradients(const student_backward *x, enum bug bug) {
    int d = x->d;
    float scale = bug == NO_SCALE ? 1 : bug == SCALE_TWICE ? x->scale * x->scale : x->scale;
    float *by_key = calloc((size_t)(x->heads * x->Tk + 1), sizeof *by_key);
    student_backward_clear(x);
    for (int h = 0; h < x->heads && bug == D_BY_KEYS; h++)
        for (int i = 0; i < x->Tq; i++)
            for (int j = 0; j < x->Tk; j++)
                if (may_read(x, bug, i, j))
                    by_key[h * x->Tk + j] += weight(x, bug, h, i, j) * values(x, bug, x->dO + (h * x->Tq + i) * d, j);
    for (int h = 0; h < x->heads; h++) {
        if (bug == LAST_HEAD)
            for (int e = 0; e < x->Tk * d; e++) x->dK[e] = x->dV[e] = 0;
        for (int i = 0; i < x->Tq; i++) {
            int at = (h * x->Tq + i) * d;
            const float *q = x->Q + at, *dO = x->dO + at;
            float D = student_dot(dO, x->O + at, d);
            for (int j = 0; j < x->Tk; j++) {
                if (!may_read(x, bug, i, j) && bug != MASK_OF_DK) continue;
                float p = weight(x, bug, h, i, j), dP = values(x, bug, dO, j);
                float less = bug == NO_D ? 0 : bug == PLUS_D ? -D : bug == D_BY_KEYS ? by_key[h * x->Tk + j] : D;
                float dS = bug == NO_P ? dP - less : p * (dP - less);
                p = (float)td_round_to(p, x->probs), dS = (float)td_round_to(dS, x->probs);
                for (int c = 0; c < d; c++) {
                    x->dK[j * d + c] += scale * dS * q[c];
                    if (!may_read(x, bug, i, j)) continue;
                    x->dV[j * d + c] += (bug == DV_OF_DS ? dS : p) * dO[c];
                    x->dQ[at + c] += scale * dS * x->K[j * d + c];
                }
            }
        }
    }
    for (int e = 0; e < x->Tk * d && bug == SWAPPED; e++) {
        float kept = x->dK[e];
        x->dK[e] = x->dV[e], x->dV[e] = kept;
    }
    free(by_key);
}

STUDENT_BACKWARD_RUN(right, 0, gradients(x, 0))
STUDENT_BACKWARD_RUN(no_D, 0, gradients(x, NO_D))
STUDENT_BACKWARD_RUN(plus_D, 0, gradients(x, PLUS_D))
STUDENT_BACKWARD_RUN(D_by_keys, 0, gradients(x, D_BY_KEYS))
STUDENT_BACKWARD_RUN(no_scale, 0, gradients(x, NO_SCALE))
STUDENT_BACKWARD_RUN(scale_twice, 0, gradients(x, SCALE_TWICE))
STUDENT_BACKWARD_RUN(unscaled_scores, 0, gradients(x, UNSCALED_SCORES))
STUDENT_BACKWARD_RUN(no_mask, 0, gradients(x, NO_MASK))
STUDENT_BACKWARD_RUN(other_corner, 0, gradients(x, OTHER_CORNER))
STUDENT_BACKWARD_RUN(strict, 0, gradients(x, STRICT))
STUDENT_BACKWARD_RUN(one_too_many, 0, gradients(x, ONE_TOO_MANY))
STUDENT_BACKWARD_RUN(mask_of_dK, 0, gradients(x, MASK_OF_DK))
STUDENT_BACKWARD_RUN(not_normalised, 0, gradients(x, NOT_NORMALISED))
STUDENT_BACKWARD_RUN(base_2, 0, gradients(x, BASE_2))
STUDENT_BACKWARD_RUN(last_head, 0, gradients(x, LAST_HEAD))
STUDENT_BACKWARD_RUN(swapped, 0, gradients(x, SWAPPED))
STUDENT_BACKWARD_RUN(V_by_columns, 0, gradients(x, V_BY_COLUMNS))
STUDENT_BACKWARD_RUN(no_P, 0, gradients(x, NO_P))
STUDENT_BACKWARD_RUN(dV_of_dS, 0, gradients(x, DV_OF_DS))
STUDENT_BACKWARD_RUN(heads, 1, gradients(x, 0))

#define F32 "backward_two_pass_f32"
#define BF16 "backward_two_pass_bf16"
#define FP16 "backward_two_pass_fp16"

const mutant mutants_backward_formula[] = {
    {"no D", F32, "backward_no_D", run_no_D, FULL},
    {"no D", BF16, "backward_no_D", run_no_D, LEFT},
    {"D added", F32, "backward_plus_D", run_plus_D, FULL},
    {"D by keys", F32, "backward_D_by_keys", run_D_by_keys, LEFT},
    {"dS not scaled", F32, "backward_no_scale", run_no_scale, FULL},
    {"dS not scaled", FP16, "backward_no_scale", run_no_scale, LEFT},
    {"dS scaled twice", F32, "backward_scale_twice", run_scale_twice, FULL},
    {"scores not scaled", F32, "backward_unscaled_scores", run_unscaled_scores, RIGHT},
    {"no mask", F32, "backward_mask_ignored", run_no_mask, LEFT},
    {"no mask", BF16, "backward_mask_ignored", run_no_mask, RIGHT},
    {"other corner, top-left", F32, "backward_other_alignment", run_other_corner, LEFT},
    {"other corner, bottom-right", BF16, "backward_other_alignment", run_other_corner, RIGHT},
    {"strict mask", F32, "backward_mask_strict", run_strict, RIGHT},
    {"one key too many", F32, "backward_mask_one_too_many", run_one_too_many, LEFT},
    {"dK without the mask", F32, "backward_mask_of_dK", run_mask_of_dK, LEFT},
    {"dK without the mask", BF16, "backward_mask_of_dK", run_mask_of_dK, RIGHT},
    {"P not normalised", F32, "backward_not_normalised", run_not_normalised, FULL},
    {"LSE taken for base 2", F32, "backward_lse_base_2", run_base_2, FULL},
    {"LSE taken for base 2", BF16, "backward_lse_base_2", run_base_2, LEFT},
    {"the last head of a group alone", F32, "backward_last_head", run_last_head, GROUPED},
    {"the last head of a group alone", FP16, "backward_last_head", run_last_head, GROUPED},
    {"heads paired modulo", F32, "backward_wrong_kv_head", run_heads, GROUPED},
    {"dK and dV swapped", F32, "backward_swapped", run_swapped, FULL},
    {"V read by columns", F32, "backward_V_by_columns", run_V_by_columns, FULL},
    {"dS without P", F32, "backward_no_P", run_no_P, FULL},
    {"dV from dS", F32, "backward_dV_of_dS", run_dV_of_dS, FULL},
    {NULL, NULL, NULL, NULL, 0},
};

const mutant mutants_backward_right[] = {
    {"right", F32, NULL, run_right, FULL},     {"right", F32, NULL, run_right, EMPTY},
    {"right", BF16, NULL, run_right, GROUPED}, {"right", FP16, NULL, run_right, RIGHT},
    {"right", BF16, NULL, run_right, LONG},    {NULL, NULL, NULL, NULL, 0},
};
