/* Stands in for MPI where it is not linked: in libtandem.so and the tests, since a process that loads them may have an
 * MPI of its own; and in build/tandem where the build found none. */
#include "mpi_end.h"

td_status td_comm_mpi(td_comm **out, td_error *err) {
    (void)out;
    return td_fail(err, TD_UNSUPPORTED,
                   "no MPI here: only build/tandem has it, if one was found when it was built "
                   "(make setup installs Open MPI)");
}

int td_comm_mpi_failed(td_comm *comm, const char *message) {
    (void)comm, (void)message;
    return 1;
}

void td_comm_mpi_abandon(td_comm *comm, int status) {
    (void)comm, (void)status;
}

void td_comm_mpi_piece(td_comm *comm, int64_t count) {
    (void)comm, (void)count;
}
