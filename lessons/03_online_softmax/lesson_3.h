/* What the parts of lesson 3 share. */
#ifndef TANDEM_LESSON_3_H
#define TANDEM_LESSON_3_H

#include "../lesson.h"
#include "../pair.h"

enum { TD_LESSON_3_BLOCKS = 16 };

typedef struct td_lesson_3 {
    const td_arguments *arguments;
    td_problem problem;
    td_dtype dtype;
    td_fixture fixture;
    uint64_t seed;
    int64_t seeds;
    int64_t block[TD_LESSON_3_BLOCKS];
    int blocks;
    const td_variant *dense, *online;
    td_ceilings ceilings;
    int failed; /* verdicts FAIL where the answer should be right */
} td_lesson_3;

/* recurrence.c: one row, block by block. */
td_status td_lesson_3_show_recurrence(td_lesson_3 *lesson, td_error *err);
/* pair.c: device, shape and replay command; dense and online, checked and timed; the user's own tensors instead. */
void td_lesson_3_header(const td_lesson_3 *lesson);
td_status td_lesson_3_show_pair(td_lesson_3 *lesson, td_error *err);
td_status td_lesson_3_own_tensors(td_lesson_3 *lesson, td_error *err);
/* mistakes.c: one thing wrong at a time. */
td_status td_lesson_3_show_mistakes(td_lesson_3 *lesson, td_error *err);
/* blocks.c, error.c, scaling.c: causal blocks counted; error against block size; time and memory against T. */
td_status td_lesson_3_show_blocks(td_lesson_3 *lesson, td_error *err);
td_status td_lesson_3_show_error(td_lesson_3 *lesson, td_error *err);
td_status td_lesson_3_show_scaling(td_lesson_3 *lesson, td_error *err);
/* gpu.c: the pair's kernels under the emulator, and on a GPU. */
td_status td_lesson_3_show_gpu(td_lesson_3 *lesson, td_error *err);

#endif
