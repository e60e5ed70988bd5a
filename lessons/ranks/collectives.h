/* Every collective × dtype × reduction or root × in place or not × counts, on all ranks. */
#ifndef TANDEM_LESSONS_RANKS_COLLECTIVES_H
#define TANDEM_LESSONS_RANKS_COLLECTIVES_H

#include "ranks.h"

/* Rank 0 prints a line a collective; TD_WRONG, on every rank, names the first element that is wrong. */
td_status td_check_collectives(td_world *world, const int64_t *counts, int n, td_error *err);

#endif
