/* The progress thread. It sleeps between its looks at MPI: more ranks than cores must not take them from those that
 * compute. */
#include "../clock.h"
#include "mpi_state.h"
#include <math.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NS = 1, US = 1000 * NS, MS = 1000 * US };

static void nap(long nanoseconds) {
    struct timespec t = {0, nanoseconds};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

td_status td_mpi_check(int code, const td_work *work, td_error *err) {
    if (code == MPI_SUCCESS) return TD_OK;
    char said[MPI_MAX_ERROR_STRING];
    int length = 0;
    if (MPI_Error_string(code, said, &length) != MPI_SUCCESS) snprintf(said, sizeof said, "error %d", code);
    return td_fail(err, TD_WRONG, "%s %lld '%s': MPI says: %.160s", td_collective_name(work->call.what),
                   (long long)work->number, work->label, said);
}

/* How long to sleep after `waited` seconds; each look costs some 10 µs. An eighth of what was waited: it is found done
 * not much later than it is. Where all have come, messages of 32 KiB may follow each other, and 50 µs is the most;
 * where one is still away, a millisecond. */
static long pause_after(double waited, int all_there) {
    double pause = 1e9 * waited / 8, most = all_there ? 50 * US : MS;
    return pause < 2 * US ? 2 * US : (long)(pause > most ? most : pause);
}

void td_mpi_went_on(td_mpi *mpi, double seconds) {
    if (seconds > mpi->comm->limit / 2) atomic_store(&mpi->resumed, td_now());
}

td_status td_mpi_wait(td_mpi *mpi, MPI_Request *request, const td_work *work, td_error *err) {
    double began = td_now(), looked = began;
    for (int looks = 0;; looks++) {
        int done = 0;
        if (atomic_load(&mpi->stop)) return td_fail(err, TD_WRONG, "given up");
        td_status status = td_mpi_check(MPI_Test(request, &done, MPI_STATUS_IGNORE), work, err);
        if (status || done) return status;
        if (looks % 8 == 7 && !work->trusting && (status = td_board_compare(&mpi->board, work, err))) return status;
        double now = td_now();
        td_mpi_went_on(mpi, now - looked);
        looked = now;
        td_board_beat(&mpi->board);
        nap(pause_after(now - began, td_board_complete(&mpi->board, work, 1, INFINITY)));
    }
}

/* Sleep until `end` of the monotonic clock, but for looks at `stop`. */
static void sleep_until(td_mpi *mpi, double end) {
    for (double now = td_now(); now < end && !atomic_load(&mpi->stop); now = td_now()) {
        td_board_beat(&mpi->board);
        double next = end - now > 0.05 ? now + 0.05 : end;
        struct timespec t = {(time_t)next, (long)(1e9 * (next - (double)(time_t)next))};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
    }
}

double td_mpi_simulated_seconds(const td_mpi *mpi, const td_work *work) {
    int ranks = mpi->comm->ranks;
    double bytes = (double)work->bytes;
    switch (work->call.what) {
    case TD_ALL_REDUCE: return td_ring_all_reduce_seconds(work->link, ranks, bytes);
    case TD_BROADCAST: return td_chain_broadcast_seconds(work->link, ranks, bytes);
    default: return td_ring_half_seconds(work->link, ranks, bytes);
    }
}

/* When would a real link have begun? Once the last rank had asked for it, and what went before was through: the latest
 * of all ranks' times, which share a clock on one host; on several, now that all are here. */
static td_status begin_together(td_mpi *mpi, const td_work *work, double *start, td_error *err) {
    *start = work->submitted > mpi->link_free ? work->submitted : mpi->link_free;
    MPI_Request request;
    int code = MPI_Iallreduce(MPI_IN_PLACE, start, 1, MPI_DOUBLE, MPI_MAX, mpi->world, &request);
    td_status status = td_mpi_check(code, work, err);
    if (status == TD_OK) status = td_mpi_wait(mpi, &request, work, err);
    if (!mpi->one_host) *start = td_now();
    return status;
}

static td_status simulated(td_mpi *mpi, const td_work *work, double *start, double *end, td_error *err) {
    td_status status = begin_together(mpi, work, start, err);
    if (status == TD_OK) status = td_mpi_carry_out(mpi, work, err);
    double done = td_now(), due = *start + td_mpi_simulated_seconds(mpi, work);
    if (status == TD_OK) sleep_until(mpi, due);
    mpi->link_free = *end = done > due ? done : due;
    return status;
}

static td_status one(td_mpi *mpi, const td_work *work, double *start, double *end, td_error *err) {
    td_board_enter(&mpi->board, work);
    td_status status = work->trusting ? TD_OK : td_board_compare(&mpi->board, work, err);
    if (status == TD_OK && work->link.beta > 0) {
        status = simulated(mpi, work, start, end, err);
    } else if (status == TD_OK) {
        *start = td_now();
        status = td_mpi_carry_out(mpi, work, err);
        *end = td_now();
    }
    if (status == TD_OK) td_board_leave(&mpi->board, work);
    return status;
}

/* Messages of the last collective may still lie here, on their way to a rank that comes to it later: with nothing to
 * do, MPI is looked at all the same. */
static void idle(td_mpi *mpi) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 2 * MS;
    if (until.tv_nsec >= 1000 * MS) until.tv_sec++, until.tv_nsec -= 1000 * MS;
    if (pthread_cond_timedwait(&mpi->given, &mpi->lock, &until) == 0) return;
    pthread_mutex_unlock(&mpi->lock);
    int there;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, mpi->world, &there, MPI_STATUS_IGNORE);
    pthread_mutex_lock(&mpi->lock);
}

td_work *td_mpi_head(const td_mpi *mpi) {
    td_work *work = mpi->works.first;
    while (work && work->done) work = work->next;
    return work;
}

/* Turns of 100 µs instead of some ms: who asks for little is let in at once (Linux 6.12 and later; others do not mind),
 * and not when the turn of the thread that computes on this core is over. A message is many short turns. The struct is
 * sched_setattr(2)'s, which C libraries before glibc 2.41 lack. Whoever was started with another policy (chrt) keeps
 * it. */
static void ask_for_short_turns(void) {
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attr = {0};
    if (syscall(SYS_sched_getattr, 0, &attr, sizeof attr, 0) != 0 || attr.policy != SCHED_OTHER) return;
    attr.runtime = 100 * US;
    syscall(SYS_sched_setattr, 0, &attr, 0);
}

void *td_mpi_drive(void *state) {
    td_mpi *mpi = state;
    ask_for_short_turns();
    prctl(PR_SET_TIMERSLACK, (unsigned long)US); /* a nap of 2 µs is to be no nap of 52 */
    pthread_mutex_lock(&mpi->lock);
    while (!atomic_load(&mpi->stop) && !mpi->broken) {
        td_work *work = td_mpi_head(mpi);
        if (!work) {
            idle(mpi);
            continue;
        }
        work->begun = 1, work->start = td_now();
        pthread_mutex_unlock(&mpi->lock);
        td_error error = {0};
        double start, end;
        td_status status = one(mpi, work, &start, &end, &error);
        pthread_mutex_lock(&mpi->lock);
        if (status && !mpi->broken) mpi->broken = 1, mpi->error = error;
        if (status == TD_OK) {
            work->done = 1, work->start = start, work->end = end;
            td_events_add(&mpi->events, work);
        }
        pthread_cond_broadcast(&mpi->done);
    }
    pthread_mutex_unlock(&mpi->lock);
    return NULL;
}
