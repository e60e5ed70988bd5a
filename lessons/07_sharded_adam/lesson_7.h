/* What the parts of lesson 7 share. */
#ifndef TANDEM_LESSON_7_H
#define TANDEM_LESSON_7_H

#include "../lesson.h"
#include "tandem/adam.h"
#include "tandem/link.h"
#include "tandem/model.h"
#include <limits.h>

enum { TD_LESSON_7_PLANS = 3, TD_LESSON_7_NUMBERS = 8 };

typedef struct td_lesson_7 {
    const td_arguments *arguments;
    char folder[PATH_MAX]; /* where ranks leave what they found, and checkpoints (started.h) */
    td_gpt_config config;
    int64_t ranks, B, steps;            /* B: sequences of the global batch */
    int64_t N[TD_LESSON_7_NUMBERS + 1]; /* numbers of ranks whose memory is measured, ascending */
    int numbers;
    uint64_t seed;
    td_adam_config adam;
    int64_t P;      /* parameters of the model */
    int no_ranks;   /* they cannot be started here */
    int failed;     /* verdicts that are not what they must be */
    double *loss;   /* of each step, one process in double; NULL until it has run */
    double *spread; /* how far from that rounding in float32 may take a step's loss */
} td_lesson_7;

/* slips.c: Adam's formula, and three formulas that are nearly it. hidden.c: what a first step hides; a local norm. */
td_status td_lesson_7_show_slips(td_lesson_7 *lesson, td_error *err);
td_status td_lesson_7_show_hidden(td_lesson_7 *lesson, td_error *err);
/* owners.c: who owns what, asked of 8 ranks. bytes.c: bytes a parameter by formula. memory.c: measured, by tag. */
td_status td_lesson_7_show_owners(td_lesson_7 *lesson, td_error *err);
td_status td_lesson_7_show_bytes(td_lesson_7 *lesson, td_error *err);
td_status td_lesson_7_show_memory(td_lesson_7 *lesson, td_error *err);
/* one_step.c: every element after one step. losses.c: many steps. */
td_status td_lesson_7_show_one_step(td_lesson_7 *lesson, td_error *err);
td_status td_lesson_7_show_losses(td_lesson_7 *lesson, td_error *err);
/* traffic.c: what is sent. exposed.c: what of it nothing hides. */
td_status td_lesson_7_show_traffic(td_lesson_7 *lesson, td_error *err);
td_status td_lesson_7_show_exposed(td_lesson_7 *lesson, td_error *err);
/* resume.c: saved here, loaded there. faults.c: an update that is not sent; a NaN. */
td_status td_lesson_7_show_resume(td_lesson_7 *lesson, td_error *err);
td_status td_lesson_7_show_faults(td_lesson_7 *lesson, td_error *err);

/* verdict.c. Count a verdict: one that passes where it should fail is as wrong as the other way round. */
const char *td_lesson_7_verdict(td_lesson_7 *lesson, int passes, int should);
/* "full", "by parameter", "flat". */
const char *td_lesson_7_plan(int plan);
/* Losses of `plan` in a record with columns plan, step, loss, from its first step on, against the reference: the worst
 * difference as a share of what rounding may do. −1 if there is no such plan. */
double td_lesson_7_against_reference(const td_lesson_7 *lesson, const td_record *record, const char *plan);

/* losses.c. Series of plots/losses.gp and losses_over_tolerance.gp: a plan's losses under another name, with their
 * distance to the reference's; the reference's. */
void td_lesson_7_series(const td_lesson_7 *lesson, td_record *all, const char *name, const td_record *from,
                        const char *plan);
void td_lesson_7_reference_series(const td_lesson_7 *lesson, td_record *all);

/* launch.c. SKIP, if ranks cannot be started; then 1. */
int td_lesson_7_skips(const td_lesson_7 *lesson);
/* The simulated link, from ALPHA and BETA. */
td_status td_lesson_7_link(const td_lesson_7 *lesson, td_link *link, td_error *err);
/* `ranks` ranks carry out a part of `tandem ranks lesson-7`, on B sequences, for so many steps. TD_OK with
 * lesson->no_ranks, after a line that says SKIP and why, where ranks cannot be started. */
td_status td_lesson_7_launch(td_lesson_7 *lesson, int64_t ranks, const char *part, int64_t B, int64_t steps,
                             td_error *err);
/* What they wrote as <name>_<ranks>.csv; the caller deletes it. */
td_status td_lesson_7_read(const td_lesson_7 *lesson, const char *name, int64_t ranks, td_record **out, td_error *err);

/* reference.c: the same training in one process, in double; fills loss and spread. */
td_status td_lesson_7_reference(td_lesson_7 *lesson, td_error *err);

#endif
