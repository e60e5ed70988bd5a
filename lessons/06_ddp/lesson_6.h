/* What the parts of lesson 6 share. */
#ifndef TANDEM_LESSON_6_H
#define TANDEM_LESSON_6_H

#include "../../checks/record.h"
#include "../lesson.h"
#include "tandem/link.h"
#include <limits.h>

typedef struct td_lesson_6 {
    const td_arguments *arguments;
    char folder[PATH_MAX]; /* where ranks leave what they found (started.h) */
    int64_t ranks;
    td_link link; /* simulated between the ranks; 0, 0: none */
    /* The machine that the model is carried to. */
    td_link node_link, net_link;
    int64_t node;                    /* ranks of a node */
    double model_bytes, backward_ms; /* gradients, and the backward in which they become ready */
    int64_t model_cap;               /* bytes in a bucket */
    td_record *times;                /* what timeline.c had measured; NULL where it could not */
    char drill[512];                 /* the drill's answer, where nobody was there to be asked; "" */
    int failed;                      /* verdicts that are not as they must be */
} td_lesson_6;

/* ranks.c: `task` on the lesson's ranks, with those of its options that the lesson has too, and `more`, "NAME=value"
 * each, ended by NULL; its file <name>.csv is read into *out. Where ranks cannot be started, a line says SKIP and why,
 * and *out is NULL, with TD_OK. A run that fails is told as started.h says. */
td_status td_lesson_6_run(td_lesson_6 *lesson, const char *task, const char *const *options, const char *const *more,
                          const char *name, td_record **out, td_error *err);
/* The same for a run that must fail, within `hang` seconds of waiting: what it says on stderr, to be freed; NULL after
 * SKIP. Failing in another way than by a check is an error. */
td_status td_lesson_6_run_to_fail(td_lesson_6 *lesson, const char *task, const char *const *more, const char *hang,
                                  char **said, int *exit_status, double *seconds, td_error *err);
/* The rows whose column `part` is this, each column but that; the caller deletes it. */
td_record *td_lesson_6_part(const td_record *record, const char *part, const char *const *columns, td_error *err);

/* equality.c: the schemes against one process; batches of 8 and of 16; several steps. */
td_status td_lesson_6_show_equality(td_lesson_6 *lesson, td_error *err);
/* means.c: two ranks with different numbers of tokens, by hand. */
td_status td_lesson_6_show_means(td_lesson_6 *lesson, td_error *err);
/* mistakes.c: one mistake at a time, and its name. drill.c: one to be found. */
td_status td_lesson_6_show_mistakes(td_lesson_6 *lesson, td_error *err);
void td_lesson_6_show_drill(td_lesson_6 *lesson, const td_record *mistakes);
/* order.c: ranks that disagree on the order of their buckets. */
td_status td_lesson_6_show_order(td_lesson_6 *lesson, td_error *err);
/* ring.c: a ring all-reduce, step by step. */
td_status td_lesson_6_show_ring(td_lesson_6 *lesson, td_error *err);
/* timeline.c: the four schemes on the clock. buckets.c: bucket sizes. trap.c: one process alone, and speed-ups. */
td_status td_lesson_6_show_timeline(td_lesson_6 *lesson, td_error *err);
td_status td_lesson_6_show_buckets(td_lesson_6 *lesson, td_error *err);
td_status td_lesson_6_show_trap(td_lesson_6 *lesson, td_error *err);
/* scaling.c: the model carried to more ranks than there are here. */
td_status td_lesson_6_show_scaling(td_lesson_6 *lesson, td_error *err);
/* gpu.c: two GPUs, recorded. */
td_status td_lesson_6_show_gpu(td_lesson_6 *lesson, td_error *err);

#endif
