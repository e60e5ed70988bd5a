/* Behind td_comm_mpi: a thread that drives MPI, since Open MPI makes little progress while a rank computes. Only that
 * thread calls MPI between create and destroy. */
#ifndef TANDEM_CPU_REF_COMM_MPI_STATE_H
#define TANDEM_CPU_REF_COMM_MPI_STATE_H

#include "board.h"
#include <mpi.h>
#include <pthread.h>

typedef struct td_mpi {
    const td_comm *comm;
    MPI_Comm world; /* a duplicate: its messages meet nobody else's */
    MPI_Comm host;  /* the ranks that share memory */
    MPI_Win window; /* the board's memory */
    td_board board;
    int64_t piece;
    int ours;     /* MPI was started here */
    int one_host; /* all ranks are on it, and share its clock */

    pthread_t thread;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t given, done;
    td_works works;
    td_events events;
    td_link link;
    atomic_int stop; /* the thread is to return, whatever it is at */
    int running, broken, hung;
    td_error error; /* why it is broken */

    _Atomic double resumed; /* when this process last went on after it had stood still */

    double link_free; /* the thread's: when the simulated link is through with what it had */
    void *scratch;    /* the thread's: a reduce-scatter in place lands here first */
    size_t scratch_bytes;
} td_mpi;

/* The thread: takes what is started, in order. `state` is the td_mpi. */
void *td_mpi_drive(void *state);
/* Carry out one collective; returns when it is done, or TD_WRONG on a mismatch, an error of MPI, or `stop`. */
td_status td_mpi_carry_out(td_mpi *mpi, const td_work *work, td_error *err);
/* Until it is done, sleeping between looks. */
td_status td_mpi_wait(td_mpi *mpi, MPI_Request *request, const td_work *work, td_error *err);
td_status td_mpi_check(int code, const td_work *work, td_error *err);
/* Called after each look at the others, `seconds` after the last one. A process that was stopped for half the limit has
 * not waited meanwhile: it counts anew, or it would call a hang what it did itself. */
void td_mpi_went_on(td_mpi *mpi, double seconds);
/* What link.h gives for it. */
double td_mpi_simulated_seconds(const td_mpi *mpi, const td_work *work);
/* The first collective that is not done: the one that the others wait behind. NULL if there is none. */
td_work *td_mpi_head(const td_mpi *mpi);

#endif
