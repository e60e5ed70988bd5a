/* The parts of a full step: what each takes, and what the step takes without it. */
#ifndef TANDEM_LESSON_1_PARTS_H
#define TANDEM_LESSON_1_PARTS_H

#include "lesson_1.h"

enum { TD_PARTS = 16 };

typedef struct td_part {
    const char *name;
    int operation;            /* of the model, so that it has a forward and most have a backward */
    double forward, backward; /* shares of the step; zeroing and Adam stand under backward */
    td_timing without;        /* the step without this part, as a fraction of the whole step of the same round */
} td_part;

typedef struct td_parts {
    td_part part[TD_PARTS]; /* the model's kinds of operation, then "zero gradients" and "Adam" */
    int count;
    double between; /* share of the step outside all parts, so that the shares add up to 1 */
    td_timing step; /* whole */
} td_parts;

/* Whole steps and steps without one part, a run of each in turn, so that whatever else the machine does meets all
 * alike. Steps without a part compute nonsense, so the model has learnt nothing useful afterwards. */
td_status td_parts_measure(td_lesson_1 *lesson, td_parts *parts, td_error *err);

#endif
