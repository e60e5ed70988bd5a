/* Right formulas in too few bits, handed in as float32 (or as bf16 with sums in float32). */
#include "student.h"

enum bug { TF32_SCORES = 1, TF32_VALUES, TF32_BOTH, BF16_P, BF16_SUM, FP16_OUTPUT, BF16_SCORES, FAST_EXP };

static float same(float x) {
    return x;
}

/* exp by a cubic in 2^fraction: some 13 good bits. */
static float fast_exp(float x) {
    float t = fmaxf(x * 1.44269504f, -120), whole = floorf(t), f = t - whole;
    return ldexpf(1 + f * (0.695976f + f * (0.224494f + f * 0.0790204f)), (int)whole);
}

static void attend(const student_head *x, enum bug bug) {
    float (*in_scores)(float) = bug == TF32_SCORES || bug == TF32_BOTH ? student_tf32 : same;
    float (*in_values)(float) = bug == TF32_VALUES || bug == TF32_BOTH ? student_tf32 : same;
    float S[512];
    for (int i = 0; i < x->Tq; i++) {
        float m = -INFINITY, l = 0, *o = x->O + i * x->d;
        int n = 0;
        for (; n < x->Tk && student_may_read(x, i, n); n++) {
            float s = 0;
            for (int c = 0; c < x->d; c++) s += in_scores(x->Q[i * x->d + c]) * in_scores(x->K[n * x->d + c]);
            S[n] = x->scale * s;
            if (bug == BF16_SCORES) S[n] = student_bf16(S[n]);
            m = fmaxf(m, S[n]);
        }
        for (int c = 0; c < x->d; c++) o[c] = 0;
        for (int j = 0; j < n; j++) {
            float p = bug == FAST_EXP ? fast_exp(S[j] - m) : expf(S[j] - m);
            l = bug == BF16_SUM ? student_bf16(l + p) : l + p;
            p = bug == BF16_P ? student_bf16(p) : (float)td_round_to(p, x->probs);
            for (int c = 0; c < x->d; c++) {
                o[c] += in_values(p) * in_values(x->V[j * x->d + c]);
                if (bug == FP16_OUTPUT) o[c] = student_fp16(o[c]);
            }
        }
        for (int c = 0; c < x->d; c++) o[c] /= l;
        x->L[i] = m + logf(l);
    }
}

STUDENT_RUN(right, 0, attend(x, 0))
STUDENT_RUN(tf32_scores, 0, attend(x, TF32_SCORES))
STUDENT_RUN(tf32_values, 0, attend(x, TF32_VALUES))
STUDENT_RUN(tf32_both, 0, attend(x, TF32_BOTH))
STUDENT_RUN(bf16_p, 0, attend(x, BF16_P))
STUDENT_RUN(bf16_sum, 0, attend(x, BF16_SUM))
STUDENT_RUN(fp16_output, 0, attend(x, FP16_OUTPUT))
STUDENT_RUN(bf16_scores, 0, attend(x, BF16_SCORES))
STUDENT_RUN(fast_exp, 0, attend(x, FAST_EXP))

const mutant mutants_imprecise[] = {
    {"scores in TF32", "online_f32", NULL, run_tf32_scores, LONG},
    {"P V in TF32", "online_f32", NULL, run_tf32_values, LONG},
    {"all products in TF32", "online_f32", NULL, run_tf32_both, LONG},
    {"P in bf16", "online_f32", NULL, run_bf16_p, LONG},
    {"l summed in bf16", "online_f32", NULL, run_bf16_sum, LONG},
    {"l summed in bf16", "online_bf16", NULL, run_bf16_sum, LONG},
    {"O gathered in fp16", "online_f32", NULL, run_fp16_output, LONG},
    {"scores in bf16", "online_f32", NULL, run_bf16_scores, LONG},
    {"scores in bf16", "online_bf16", NULL, run_bf16_scores, LONG},
    {"P in bf16", "online_fp16", NULL, run_bf16_p, LONG},
    {"13-bit exponential", "online_f32", NULL, run_fast_exp, LONG},
    {NULL, NULL, NULL, NULL, 0},
};

const mutant mutants_enough_bits[] = {
    {"right", "online_f32", NULL, run_right, LONG},
    {"right", "online_bf16", NULL, run_right, LONG},
    {"right", "online_fp16", NULL, run_right, LONG},
    {NULL, NULL, NULL, NULL, 0},
};
