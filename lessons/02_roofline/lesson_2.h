/* What the parts of lesson 2 share. */
#ifndef TANDEM_LESSON_2_H
#define TANDEM_LESSON_2_H

#include "../lesson.h"
#include "../pair.h"

typedef struct td_lesson_2 {
    const td_arguments *arguments;
    td_problem gemm, rows, attention; /* rows: softmax and gelu */
    int64_t elements;                 /* most elements of an operation in the cost of starting */
    int64_t terms;                    /* of the longest sum */
    uint64_t seed;
    td_ceilings ceilings;
    td_record *placed; /* every operation under the roof: a row a point */
    int failed;        /* verdicts FAIL where the answer should be right */
} td_lesson_2;

/* ceilings.c: what this machine can do. */
td_status td_lesson_2_show_ceilings(td_lesson_2 *lesson, td_error *err);
/* placed.c: every operation checked, timed and placed. */
td_status td_lesson_2_show_placed(td_lesson_2 *lesson, td_error *err);
/* plans.c: attention again, with the dense plan's own traffic counted; then the plot of all points. */
td_status td_lesson_2_show_plans(td_lesson_2 *lesson, td_error *err);
/* What three passes over dense attention's matrix move, with inputs and outputs. */
double td_lesson_2_dense_bytes(const td_variant *dense, const td_problem *problem);
/* start.c: time against size, down to one element. */
td_status td_lesson_2_show_start(td_lesson_2 *lesson, td_error *err);
/* sums.c: 0.01 a thousand times; sums_against_k.c: three reductions as they grow. */
td_status td_lesson_2_show_sums(td_lesson_2 *lesson, int chosen, td_error *err);
int td_lesson_2_predict_sum(void);
td_status td_lesson_2_show_sums_against_k(td_lesson_2 *lesson, td_error *err);
/* gpu.c: a GPU's ceilings, and what stands under them. */
td_status td_lesson_2_show_gpu(td_lesson_2 *lesson, td_error *err);

#endif
