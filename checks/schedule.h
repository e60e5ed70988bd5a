/* A step's collectives on one link, in order: when each starts and ends, and how much of that compute hides. */
#ifndef TANDEM_CHECKS_SCHEDULE_H
#define TANDEM_CHECKS_SCHEDULE_H

/* Seconds, all from the start of the step. */
typedef struct td_transfer {
    double ready;      /* its data is there */
    double seconds;    /* it takes the link for so long */
    double start, end; /* filled in: start = max(ready, end of the one before) */
} td_transfer;

/* Fills in start and end; returns when the last one has ended, or `compute_end` if that is later: the step. */
double td_schedule(td_transfer *transfers, int n, double compute_end);

/* Seconds in which the link was busy before compute_end, and after it: what compute hides, and what it does not. Of
 * transfers that follow one another, scheduled or measured. */
typedef struct td_overlap {
    double busy, hidden, exposed;
} td_overlap;
td_overlap td_overlap_of(const td_transfer *transfers, int n, double compute_end);

#endif
