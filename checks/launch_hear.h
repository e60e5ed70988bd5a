/* What mpirun and its ranks say on stderr, less what mpirun adds to it. */
#ifndef TANDEM_CHECKS_LAUNCH_HEAR_H
#define TANDEM_CHECKS_LAUNCH_HEAR_H

#include <stdio.h>
#include <sys/types.h>

/* Lines are read one by one from `in`, to its end, and written to `out`. Open MPI sets its own apart by lines of
 * dashes: that a rank was killed is told in a line of ours, that ranks failed, which they say themselves, is left out;
 * anything else, such as that it cannot start, is passed on. */
void td_launcher_retell(FILE *in, FILE *out);
/* The same from a pipe to stderr; meanwhile signals that ask this process to end go to `mpirun`. */
void td_launcher_hear(int pipe, pid_t mpirun);

#endif
