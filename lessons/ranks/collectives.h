/* Every collective × dtype × reduction or root × in place or not × counts, on all ranks. */
#ifndef TANDEM_LESSONS_RANKS_COLLECTIVES_H
#define TANDEM_LESSONS_RANKS_COLLECTIVES_H

#include "ranks.h"

/* Rank 0 prints a line a collective; TD_WRONG, on every rank, names the first element that is wrong. */
td_status td_check_collectives(td_world *world, const int64_t *counts, int n, td_error *err);
/* What comm.h promises besides: arrays are held until awaited, what is illegal is refused, several are under way at
 * once, what happened is recorded, and a simulated link is never faster than its model. */
td_status td_check_comm_promises(td_world *world, td_link link, td_error *err);

#endif
