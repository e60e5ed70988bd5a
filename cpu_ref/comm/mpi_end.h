/* What main needs of td_comm_mpi beyond comm.h: a rank that has failed cannot simply leave, the others wait for it. */
#ifndef TANDEM_CPU_REF_COMM_MPI_END_H
#define TANDEM_CPU_REF_COMM_MPI_END_H

#include "tandem/comm.h"

/* This rank has failed with `message`. Waits until all ranks of this host have failed or ended too, but no longer than
 * a second (after a hang 0.3 s); then tells how many of them say just the same: 0 if a lower one does, which is to
 * print it. */
int td_comm_mpi_failed(td_comm *comm, const char *message);
/* It has been told to the user. End all ranks of the job, on every host, with this status, as soon as the others that
 * failed have had their say. Does not return. Only main calls it. */
void td_comm_mpi_abandon(td_comm *comm, int status);
/* No call of MPI is given more than `count` elements (at first INT_MAX): for tests of what is beyond. */
void td_comm_mpi_piece(td_comm *comm, int64_t count);

#endif
