/* The online-softmax recurrence on one row of scores, a block at a time, for reading. */
#ifndef TANDEM_CPU_ONLINE_TRACE_H
#define TANDEM_CPU_ONLINE_TRACE_H

#include <stdint.h>

/* The state (m, l, a) of one query with d = 1; begin with {−∞, 0, 0}. */
typedef struct td_online_state {
    double m, l, a;
} td_online_state;

/* Take `n` scores s with their values v into the state; returns α. Milakov & Gimelshein 2018, algorithm 3;
 * Dao et al. 2022, algorithm 1, lines 10–12 (there a is kept divided by l). n ≥ 1, and at least one s > −∞ so far. */
double td_online_step(td_online_state *state, const double *s, const double *v, int64_t n);

#endif
