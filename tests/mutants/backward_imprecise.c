/* Right formulas of backward in too few bits. Each of the five products can pass its operands through TF32. */
#include "student_backward.h"

enum bug {
    TF32_S = 1,
    TF32_DP,
    TF32_DV,
    TF32_DK,
    TF32_DQ,
    TF32_ALL,
    BF16_P,
    BF16_DS,
    BF16_O,
    BF16_LSE,
    BF16_SCORES,
    FP16_DQ,
    FP16_DK,
    BF16_DP
};

static float product(enum bug bug, enum bug here, float x, float y) {
    return bug == here || bug == TF32_ALL ? student_tf32(x) * student_tf32(y) : x * y;
}

static float dot(enum bug bug, enum bug here, const float *x, const float *y, int d) {
    float sum = 0;
    for (int c = 0; c < d; c++) sum += product(bug, here, x[c], y[c]);
    return sum;
}

static void gradients(const student_backward *x, enum bug bug) {
    int d = x->d;
    student_backward_clear(x);
    for (int row = 0; row < x->heads * x->Tq; row++) {
        const float *q = x->Q + row * d, *dO = x->dO + row * d;
        float *dQ = x->dQ + row * d, D = 0, L = bug == BF16_LSE ? student_bf16(x->LSE[row]) : x->LSE[row];
        for (int c = 0; c < d; c++) D += dO[c] * (bug == BF16_O ? student_bf16(x->O[row * d + c]) : x->O[row * d + c]);
        for (int j = 0; j < x->Tk && student_backward_may_read(x, x->mask, row % x->Tq, j); j++) {
            const float *k = x->K + j * d;
            float s = x->scale * dot(bug, TF32_S, q, k, d), dP = dot(bug, TF32_DP, dO, x->V + j * d, d);
            float p = expf((bug == BF16_SCORES ? student_bf16(s) : s) - L);
            float dS = p * ((bug == BF16_DP ? student_bf16(dP) : dP) - D);
            p = bug == BF16_P ? student_bf16(p) : (float)td_round_to(p, x->probs);
            dS = bug == BF16_DS ? student_bf16(dS) : (float)td_round_to(dS, x->probs);
            for (int c = 0; c < d; c++) {
                float *dK = &x->dK[j * d + c];
                x->dV[j * d + c] += product(bug, TF32_DV, p, dO[c]);
                *dK += product(bug, TF32_DK, dS, q[c]);
                dQ[c] += product(bug, TF32_DQ, dS, k[c]);
                if (bug == FP16_DQ) dQ[c] = student_fp16(dQ[c]);
                if (bug == FP16_DK) *dK = student_fp16(*dK);
            }
        }
        for (int c = 0; c < d; c++) dQ[c] *= x->scale;
    }
    for (int e = 0; e < x->Tk * d; e++) x->dK[e] *= x->scale;
}

STUDENT_BACKWARD_RUN(right, 0, gradients(x, 0))
STUDENT_BACKWARD_RUN(tf32_s, 0, gradients(x, TF32_S))
STUDENT_BACKWARD_RUN(tf32_dp, 0, gradients(x, TF32_DP))
STUDENT_BACKWARD_RUN(tf32_dv, 0, gradients(x, TF32_DV))
STUDENT_BACKWARD_RUN(tf32_dk, 0, gradients(x, TF32_DK))
STUDENT_BACKWARD_RUN(tf32_dq, 0, gradients(x, TF32_DQ))
STUDENT_BACKWARD_RUN(tf32_all, 0, gradients(x, TF32_ALL))
STUDENT_BACKWARD_RUN(bf16_p, 0, gradients(x, BF16_P))
STUDENT_BACKWARD_RUN(bf16_ds, 0, gradients(x, BF16_DS))
STUDENT_BACKWARD_RUN(bf16_o, 0, gradients(x, BF16_O))
STUDENT_BACKWARD_RUN(bf16_lse, 0, gradients(x, BF16_LSE))
STUDENT_BACKWARD_RUN(bf16_scores, 0, gradients(x, BF16_SCORES))
STUDENT_BACKWARD_RUN(fp16_dq, 0, gradients(x, FP16_DQ))
STUDENT_BACKWARD_RUN(fp16_dk, 0, gradients(x, FP16_DK))
STUDENT_BACKWARD_RUN(bf16_dp, 0, gradients(x, BF16_DP))

#define F32 "backward_two_pass_f32"

const mutant mutants_backward_imprecise[] = {
    {"S in TF32", F32, NULL, run_tf32_s, FULL},
    {"dP in TF32", F32, NULL, run_tf32_dp, FULL},
    {"dV in TF32", F32, NULL, run_tf32_dv, FULL},
    {"dK in TF32", F32, NULL, run_tf32_dk, FULL},
    {"dQ in TF32", F32, NULL, run_tf32_dq, FULL},
    {"all five products in TF32", F32, NULL, run_tf32_all, FULL},
    {"P in bf16", F32, NULL, run_bf16_p, FULL},
    {"dS in bf16", F32, NULL, run_bf16_ds, FULL},
    {"dP in bf16", F32, NULL, run_bf16_dp, FULL},
    {"D from O in bf16", F32, NULL, run_bf16_o, FULL},
    {"LSE in bf16", F32, NULL, run_bf16_lse, FULL},
    {"scores in bf16", F32, NULL, run_bf16_scores, FULL},
    {"P in bf16", "backward_two_pass_fp16", NULL, run_bf16_p, FULL},
    {"dQ gathered in fp16", F32, NULL, run_fp16_dq, FULL},
    {"dK gathered in fp16", F32, NULL, run_fp16_dk, FULL},
    {NULL, NULL, NULL, NULL, 0},
};

const mutant mutants_backward_enough_bits[] = {{"right", F32, NULL, run_right, LONG}, {NULL, NULL, NULL, NULL, 0}};
