/* What the parts of lesson 4 share. */
#ifndef TANDEM_LESSON_4_H
#define TANDEM_LESSON_4_H

#include "../counted.h"
#include "../lesson.h"
#include "../pair.h"
#include "tandem/attention_cost.h"
#include "tandem/device.h"

enum { TD_LESSON_4_BLOCKS = 16 };

typedef struct td_lesson_4 {
    const td_arguments *arguments;
    td_problem problem; /* small: what the emulator runs */
    td_problem large;   /* what a GPU is timed on */
    td_dtype dtype;
    uint64_t seed;
    int64_t seeds;
    int64_t block[TD_LESSON_4_BLOCKS];
    int blocks;
    int64_t memory_mib; /* 0 = not given: the device's own, or a small one on the CPU */
    int failed;         /* verdicts FAIL where the answer should be right, and counts that are not their formula's */
} td_lesson_4;

/* demands.c: what a kernel takes for granted at its peril, one wrong assumption at a time. */
td_status td_lesson_4_show_demands(td_lesson_4 *lesson, td_error *err);
/* merge.c: parts of a row put together by their LSE, kept in several types, and with its base mistaken. */
td_status td_lesson_4_show_merge(td_lesson_4 *lesson, td_error *err);
/* rungs.c: every rung against the same demands. */
td_status td_lesson_4_show_rungs(td_lesson_4 *lesson, td_error *err);
/* ladder.c: every rung counted, beside the formulas. ladder_gpu.c: the same rungs timed. */
td_status td_lesson_4_show_ladder(td_lesson_4 *lesson, td_error *err);
td_status td_lesson_4_show_ladder_gpu(td_lesson_4 *lesson, td_error *err);
/* matrix.c: the rungs of 16 bits, counted, timed, and beside the libraries. */
td_status td_lesson_4_show_matrix(td_lesson_4 *lesson, td_error *err);
/* traffic.c: bytes against T, counted points on the formulas' lines. */
td_status td_lesson_4_show_traffic(td_lesson_4 *lesson, td_error *err);
/* loops.c: keys outside, or queries. */
td_status td_lesson_4_show_loops(td_lesson_4 *lesson, td_error *err);
/* blocks.c, blocks_gpu.c: what the size of a block changes, and what it does not. */
td_status td_lesson_4_show_blocks(td_lesson_4 *lesson, int chosen, td_error *err);
td_status td_lesson_4_show_blocks_gpu(td_lesson_4 *lesson, td_error *err);
int td_lesson_4_predict_block(void);
/* Has this rung a choice of block sizes? */
int td_lesson_4_has_blocks(const td_variant *variant, const td_problem *problem);
/* memory.c: T until nothing fits. scaling.c: time against T on a GPU. */
td_status td_lesson_4_show_memory(td_lesson_4 *lesson, td_error *err);
td_status td_lesson_4_show_scaling(td_lesson_4 *lesson, td_error *err);

/* formulas.c: what each kernel should ask of global memory. */
extern const td_kernel_bytes td_lesson_4_formulas[];

#endif
