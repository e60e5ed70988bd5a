/* What the parts of lesson 5 share. */
#ifndef TANDEM_LESSON_5_H
#define TANDEM_LESSON_5_H

#include "../../checks/trial.h"
#include "../counted.h"
#include "../lesson.h"
#include "../pair.h"
#include "tandem/attention_cost.h"
#include "tandem/device.h"

enum { TD_LESSON_5_THREADS = 8 };

typedef struct td_lesson_5 {
    const td_arguments *arguments;
    td_problem problem; /* small: what the emulator runs */
    td_problem cpu;     /* what the CPU twins run again and again */
    td_problem large;   /* what a GPU is timed on */
    td_dtype dtype;
    uint64_t seed;
    int64_t runs; /* of each variant, when its results are compared bit for bit */
    int64_t threads[TD_LESSON_5_THREADS];
    int thread_counts;
    int64_t memory_mib; /* 0 = not given */
    int64_t steps;      /* of gradient descent */
    int failed;         /* verdicts FAIL where the answer should be right, and counts that are not their formula's */
} td_lesson_5;

/* derivation.c: the formulas, each held against another way to the same numbers. */
td_status td_lesson_5_show_derivation(td_lesson_5 *lesson, td_error *err);
/* differences.c: the gradients against finite differences of forward. */
td_status td_lesson_5_show_differences(td_lesson_5 *lesson, td_error *err);
/* recompute.c: P from LSE beside the P that forward had. */
td_status td_lesson_5_show_recompute(td_lesson_5 *lesson, td_error *err);
/* saved.c: what lies between the passes. memory.c: T until nothing fits. */
td_status td_lesson_5_show_saved(td_lesson_5 *lesson, td_error *err);
td_status td_lesson_5_show_memory(td_lesson_5 *lesson, td_error *err);
/* conflict.c: one pass and two, checked and timed. repeats.c: their results, bit for bit. */
td_status td_lesson_5_show_conflict(td_lesson_5 *lesson, td_error *err);
td_status td_lesson_5_show_repeats(td_lesson_5 *lesson, td_error *err);
/* ladder.c: every rung checked output by output, counted beside the formulas of formulas.c; timed on a GPU. */
td_status td_lesson_5_show_ladder(td_lesson_5 *lesson, td_error *err);
/* matrix.c: the rungs of 16 bits, counted, timed, and beside the libraries. */
td_status td_lesson_5_show_matrix(td_lesson_5 *lesson, td_error *err);
/* hidden.c: mistakes that forward cannot see. training.c: nor can the loss. */
td_status td_lesson_5_show_hidden(td_lesson_5 *lesson, td_error *err);
td_status td_lesson_5_show_training(td_lesson_5 *lesson, td_error *err);

/* formulas.c: what each kernel should ask of global memory, and the floats that a rung adds to dQ atomically. */
extern const td_kernel_bytes td_lesson_5_formulas[];
int64_t td_lesson_5_atomics(const td_variant *variant, const td_attention_problem *a);

/* The variant "<prefix><name>_<the lesson's type>"; NULL if there is none. */
const td_variant *td_lesson_5_variant(const td_lesson_5 *lesson, const char *prefix, const char *name);
/* A trial of it on the lesson's inputs, contiguous, drawn and not yet run. */
td_status td_lesson_5_trial(const td_lesson_5 *lesson, const td_variant *variant, const td_problem *problem,
                            td_trial *trial, td_error *err);

#endif
