/* The rungs of 16 bits, whose products are the matrix units': what lessons 4 and 5 show of them. */
#ifndef TANDEM_LESSON_MATRIX_RUNGS_H
#define TANDEM_LESSON_MATRIX_RUNGS_H

#include "lesson.h"
#include "tandem/variant.h"

typedef struct td_matrix_rungs {
    const td_arguments *arguments;
    int number;         /* of the lesson */
    td_problem problem; /* small: what the emulator runs */
    int64_t T;          /* what a GPU is timed on: 16384 tokens, at least one sequence; d = 128, no mask */
    uint64_t seed;
    const char *recorded; /* "gpu_forward_ladder_16bit" */
    int *failed;
} td_matrix_rungs;

/* One row a rung that the emulator runs, in bf16: checked and counted. Of one that leaves the problem to a lower rung,
 * a sentence. */
td_status td_matrix_show_counts(td_matrix_rungs *rungs, td_error *err);
/* One row a rung: timed on a GPU, or as recorded. */
td_status td_matrix_show_times(td_matrix_rungs *rungs, td_error *err);

#endif
