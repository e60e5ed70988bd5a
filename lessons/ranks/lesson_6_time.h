/* A step of data parallelism on the clock: when each gradient was ready, when each all-reduce ran, what the schedule
 * says. */
#ifndef TANDEM_LESSON_6_TIME_H
#define TANDEM_LESSON_6_TIME_H

#include "../../checks/record.h"
#include "lesson_6.h"
#include "tandem/adam.h"
#include "tandem/ddp.h"

enum { TD_LESSON_6_BUCKETS = 256, TD_LESSON_6_ROUNDS = 31, TD_LESSON_6_CAPS = 12, TD_LESSON_6_PLANS = 16 };

/* Seconds from the step's start, of the slowest rank. */
typedef struct td_lesson_6_step {
    double forward, backward, reduced, end; /* when each part was over; end: after the update */
    double ready[TD_LESSON_6_BUCKETS], start[TD_LESSON_6_BUCKETS], stop[TD_LESSON_6_BUCKETS];
    double parameter_ready[TD_LESSON_6_BUCKETS];
} td_lesson_6_step;

/* A scheme with a cap, and its steps. */
typedef struct td_lesson_6_plan {
    const td_ddp_scheme *scheme;
    int64_t cap; /* bytes */
    td_ddp *ddp;
    td_lesson_6_step *step; /* a round each */
} td_lesson_6_plan;

typedef struct td_lesson_6_clock {
    td_lesson_6_scene scene;
    td_adam *adam;
    td_lesson_6_batch batch;
    td_link link; /* simulated, or measured where none is */
    int simulated, rounds, plans, schemes;
    td_lesson_6_plan plan[TD_LESSON_6_PLANS]; /* `schemes` in their order, then bucketed with other caps */
} td_lesson_6_clock;

/* One step, on all ranks. */
td_status td_lesson_6_timed_step(td_lesson_6_clock *clock, td_ddp *ddp, int overlaps, td_lesson_6_step *step,
                                 td_error *err);
/* A plan's median step, on rank 0: its parts, what the α–β schedule says of it, hidden and exposed time; a row. The
 * ratio is the median of each step's, and quartiles are of all. `first`: the
 * plan without communication in backward, from whose ready times a prediction can be made beforehand. */
void td_lesson_6_plan_row(const td_lesson_6_clock *clock, const td_lesson_6_plan *plan, const td_lesson_6_plan *first,
                          const char *part, td_record *record);
/* A row with the prediction alone, of a plan that is not run. */
void td_lesson_6_foretold_row(const td_lesson_6_clock *clock, const td_lesson_6_plan *plan,
                              const td_lesson_6_plan *first, td_record *record);
/* The round whose time is the median, as a time line: a row a piece. */
void td_lesson_6_timeline(const td_lesson_6_clock *clock, const td_lesson_6_plan *plan, td_record *record);

#endif
