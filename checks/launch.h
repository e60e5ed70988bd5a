/* Ranks started from a program that is none: mpirun with `tandem ranks TASK`, its output kept, its time limited. */
#ifndef TANDEM_CHECKS_LAUNCH_H
#define TANDEM_CHECKS_LAUNCH_H

#include "tandem/status.h"

typedef struct td_launched {
    int status;    /* exit status; 128 + n for signal n */
    int timed_out; /* the limit ended it: every process that it started is gone */
    double seconds;
    char *out, *err; /* what it wrote, up to 1 MiB each, ended by 0 */
} td_launched;

/* mpirun -n `ranks` TANDEM ranks arguments…, TANDEM being this executable's build/tandem (`tandem` NULL), and stdin
 * /dev/null. What mpirun needs to be told, as root, with more ranks than cores, or as Open MPI or MPICH, it is told.
 * Each rank has one OpenMP thread unless OMP_NUM_THREADS says otherwise. TD_UNSUPPORTED where there is no mpirun or the
 * build has no MPI; a run that failed is TD_OK with its status. */
td_status td_launch_ranks(int ranks, const char *tandem, const char *const *arguments, double limit_seconds,
                          td_launched *out, td_error *err);
void td_launched_free(td_launched *launched);
/* The same mpirun without a limit, its input and output the caller's own: `ended` gets its status. What the ranks say
 * is passed on at once; of what mpirun adds, only which rank a signal has killed, in one line. A signal that asks this
 * process to end is passed on to mpirun. */
td_status td_launch_here(int ranks, const char *tandem, const char *const *arguments, int *ended, td_error *err);

#endif
