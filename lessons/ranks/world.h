/* A rank's world: opened from a task's options, and left in order, or all at once where a rank has failed. */
#ifndef TANDEM_LESSONS_RANKS_WORLD_H
#define TANDEM_LESSONS_RANKS_WORLD_H

#include "ranks.h"

/* Was this process started as one of several ranks? Its rank then, else 0: known before MPI is, for messages. */
int td_launched_rank(int *rank);
/* Where the ranks compute, the simulated link, the engine. `host` is the world's from here on. */
td_status td_world_open(td_world *world, td_comm *host, const td_arguments *arguments, td_error *err);
/* Collective. */
void td_world_close(td_world *world);

/* "50us", "1ms", "0.001 s", "0": seconds, up to `most`. */
td_status td_parse_seconds(const char *name, const char *text, double most, double *out, td_error *err);
/* A link from two options: seconds up to 1; "2GB/s", "500MB/s", "1e9", bytes a second. {0, 0} = none. */
td_status td_argument_link(const td_arguments *arguments, const char *alpha, const char *beta, td_link *link,
                           td_error *err);

#endif
