/* Online softmax by blocks of keys, and what is commonly wrong in it. */
#include "student.h"

enum bug { NO_RESCALE = 1, OLD_SUM, OLD_OUTPUT, OWN_MAX, LOST_KEYS, LOST_ROWS, PADDED };

static void attend(const student_head *x, enum bug bug) {
    float P[512];
    int rows = bug == LOST_ROWS ? x->Tq / x->block * x->block : x->Tq;
    for (int i = 0; i < rows; i++) {
        float m = -INFINITY, l = 0, *o = x->O + i * x->d;
        for (int c = 0; c < x->d; c++) o[c] = 0;
        int blocks = bug == LOST_KEYS ? x->Tk / x->block : (x->Tk + x->block - 1) / x->block;
        for (int k = 0; k < blocks; k++) {
            int first = k * x->block, last = first + x->block;
            if (last > x->Tk && bug != PADDED) last = x->Tk;
            float top = bug == OWN_MAX ? -INFINITY : m;
            for (int j = first; j < last; j++) {
                int real = j < x->Tk;
                P[j - first] = !student_may_read(x, i, j) ? -INFINITY : real ? x->scale * student_score(x, i, j) : 0;
                top = fmaxf(top, P[j - first]);
            }
            if (top == -INFINITY) continue;
            float shrink = expf(m - top);
            if (bug != NO_RESCALE && bug != OLD_SUM && bug != OWN_MAX) l *= shrink;
            for (int c = 0; c < x->d && bug != NO_RESCALE && bug != OLD_OUTPUT && bug != OWN_MAX; c++) o[c] *= shrink;
            for (int j = first; j < last; j++) {
                float p = expf(P[j - first] - top);
                l += p;
                p = (float)td_round_to(p, x->probs);
                for (int c = 0; c < x->d && j < x->Tk; c++) o[c] += p * x->V[j * x->d + c];
            }
            m = top;
        }
        for (int c = 0; c < x->d; c++) o[c] = l > 0 ? o[c] / l : 0;
        x->L[i] = m + logf(l);
    }
}

STUDENT_RUN(right, 0, attend(x, 0))
STUDENT_RUN(no_rescale, 0, attend(x, NO_RESCALE))
STUDENT_RUN(old_sum, 0, attend(x, OLD_SUM))
STUDENT_RUN(old_output, 0, attend(x, OLD_OUTPUT))
STUDENT_RUN(own_max, 0, attend(x, OWN_MAX))
STUDENT_RUN(lost_keys, 0, attend(x, LOST_KEYS))
STUDENT_RUN(lost_rows, 0, attend(x, LOST_ROWS))
STUDENT_RUN(padded, 0, attend(x, PADDED))

const mutant mutants_blockwise[] = {
    {"no rescaling", "online_f32", "no_alpha", run_no_rescale, FULL},
    {"no rescaling", "online_bf16", "no_alpha", run_no_rescale, LEFT},
    {"l not rescaled", "online_f32", "no_alpha_on_l", run_old_sum, FULL},
    {"l not rescaled", "online_fp16", "no_alpha_on_l", run_old_sum, LEFT},
    {"output not rescaled", "online_f32", "no_alpha_on_accumulator", run_old_output, FULL},
    {"output not rescaled", "online_bf16", "no_alpha_on_accumulator", run_old_output, FULL},
    {"each block its own maximum", "online_f32", "block_maximum", run_own_max, FULL},
    {"keys of the tail lost", "online_f32", "tail_dropped", run_lost_keys, FULL},
    {"keys of the tail lost", "online_bf16", "tail_dropped", run_lost_keys, FULL},
    {"rows of the tail not written", "online_f32", "queries_dropped", run_lost_rows, FULL},
    {"tail of zeros counted", "online_f32", "zero_padded_tail", run_padded, FULL},
    {NULL, NULL, NULL, NULL, 0},
};

const mutant mutants_well_rescaled[] = {
    {"right", "online_f32", NULL, run_right, FULL},
    {"right", "online_fp16", NULL, run_right, LEFT},
    {NULL, NULL, NULL, NULL, 0},
};
const mutant mutant_nan_divided = {"0 where l is NaN", "online_f32", NULL, run_right, LEFT};
