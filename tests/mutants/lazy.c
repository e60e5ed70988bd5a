/* Answers that need no attention. */
#include "student.h"

static void constant(const student_head *x, float o, float l) {
    for (int e = 0; e < x->Tq * x->d; e++) x->O[e] = o;
    for (int i = 0; i < x->Tq; i++) x->L[i] = l;
}

static void mean(const student_head *x) {
    constant(x, 0, logf((float)x->Tk));
    for (int i = 0; i < x->Tq; i++)
        for (int j = 0; j < x->Tk; j++)
            for (int c = 0; c < x->d; c++) x->O[i * x->d + c] += x->V[j * x->d + c] / (float)x->Tk;
}

/* The row that each query scores highest. */
static void nearest(const student_head *x) {
    for (int i = 0; i < x->Tq; i++) {
        int best = 0;
        for (int j = 1; j < x->Tk && student_may_read(x, i, j); j++)
            if (x->scale * student_score(x, i, j) > x->scale * student_score(x, i, best)) best = j;
        for (int c = 0; c < x->d; c++) x->O[i * x->d + c] = x->V[best * x->d + c];
        x->L[i] = x->scale * student_score(x, i, best);
    }
}

STUDENT_RUN(nothing, 0, (void)x)
STUDENT_RUN(zero, 0, constant(x, 0, 0))
STUDENT_RUN(zero_minus_infinity, 0, constant(x, 0, -INFINITY))
STUDENT_RUN(all_nan, 0, constant(x, NAN, NAN))
STUDENT_RUN(mean, 0, mean(x))
STUDENT_RUN(nearest, 0, nearest(x))

const mutant mutants_lazy[] = {
    {"nothing written", "online_f32", NULL, run_nothing, LEFT},
    {"zeros", "online_f32", NULL, run_zero, LEFT},
    {"zeros", "online_bf16", NULL, run_zero, LEFT},
    {"zeros and -inf", "online_fp16", NULL, run_zero_minus_infinity, LEFT},
    {"NaN", "online_f32", NULL, run_all_nan, LEFT},
    {"mean of V", "online_f32", NULL, run_mean, LEFT},
    {"mean of V", "online_bf16", NULL, run_mean, LEFT},
    {"value of the nearest key", "online_f32", NULL, run_nearest, LEFT},
    {NULL, NULL, NULL, NULL, 0},
};
