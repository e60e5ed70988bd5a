/* td_comm over MPI: what the rank's own thread does. Collectives are carried out by another (mpi_drive.c). */
#include "../clock.h"
#include "mpi_end.h"
#include "mpi_state.h"
#include "wait_limit.h"
#include <limits.h>
#include <stdlib.h>
#include <time.h>

static td_status refuse_broken(td_mpi *mpi, td_error *err) {
    return td_fail(err, TD_WRONG, "%s", mpi->error.message);
}

static td_status start(td_comm *comm, const td_call *call, td_work **work, td_error *err) {
    td_mpi *mpi = comm->state;
    pthread_mutex_lock(&mpi->lock);
    td_status status = mpi->broken ? refuse_broken(mpi, err) : td_work_add(&mpi->works, comm, call, work, err);
    if (status == TD_OK) {
        (*work)->link = mpi->link;
        pthread_cond_signal(&mpi->given);
    }
    pthread_mutex_unlock(&mpi->lock);
    return status;
}

static void stop_thread(td_mpi *mpi) {
    if (!mpi->running) return;
    atomic_store(&mpi->stop, 1);
    pthread_cond_signal(&mpi->given);
    pthread_join(mpi->thread, NULL);
    mpi->running = 0;
}

/* Has the first collective under way taken too long? A rank that has not come may wait `limit`; once all are seen to be
 * in it, it is the link that is slow, and it may take ten times that. Called with the lock held. */
static void find_hang(td_mpi *mpi) {
    td_work *head = td_mpi_head(mpi);
    if (!head || !head->begun) return;
    double limit = mpi->comm->limit;
    if (td_board_complete(&mpi->board, head, 0, limit / 2)) {
        limit *= 10;
        if (head->link.beta > 0) limit += td_mpi_simulated_seconds(mpi, head);
    }
    double since = atomic_load(&mpi->resumed);
    if (td_now() - (since > head->start ? since : head->start) < limit) return;
    mpi->broken = mpi->hung = 1;
    td_board_hang(&mpi->board, head, limit, &mpi->error);
}

/* After a hang the caller frees its arrays, and MPI, should the others come at last, would still write to them: from
 * here on nobody calls it but to end all. */
static td_status await(td_comm *comm, td_work *work, td_error *err) {
    td_mpi *mpi = comm->state;
    pthread_mutex_lock(&mpi->lock);
    for (double looked = td_now(); !work->done && !mpi->broken; looked = td_now()) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += 50 * 1000 * 1000;
        if (until.tv_nsec >= 1000 * 1000 * 1000) until.tv_sec++, until.tv_nsec -= 1000 * 1000 * 1000;
        pthread_cond_timedwait(&mpi->done, &mpi->lock, &until);
        td_mpi_went_on(mpi, td_now() - looked);
        if (!work->done && !mpi->broken) find_hang(mpi);
    }
    if (mpi->hung) {
        pthread_mutex_unlock(&mpi->lock);
        stop_thread(mpi);
        pthread_mutex_lock(&mpi->lock);
    }
    td_status status = work->done ? TD_OK : refuse_broken(mpi, err);
    if (work->done) td_work_remove(&mpi->works, work); /* else the board's messages name it still */
    pthread_mutex_unlock(&mpi->lock);
    return status;
}

static td_status writable(const td_comm *comm, const void *array, size_t bytes, td_error *err) {
    const td_mpi *mpi = comm->state; /* only this thread changes the list */
    return td_works_writable(&mpi->works, comm, array, bytes, err);
}

static td_status simulate(td_comm *comm, td_link link, td_error *err) {
    td_status status = td_link_check(link, err);
    if (status == TD_OK) ((td_mpi *)comm->state)->link = link;
    return status;
}

static td_status record(td_comm *comm, int most, td_error *err) {
    td_mpi *mpi = comm->state;
    pthread_mutex_lock(&mpi->lock);
    td_status status = td_events_record(&mpi->events, most, err);
    pthread_mutex_unlock(&mpi->lock);
    return status;
}

static int events(td_comm *comm, const td_comm_event **rows) {
    td_mpi *mpi = comm->state;
    pthread_mutex_lock(&mpi->lock);
    *rows = mpi->events.row;
    int count = mpi->events.count;
    pthread_mutex_unlock(&mpi->lock);
    return count;
}

static void free_all(td_comm *comm) {
    td_mpi *mpi = comm->state;
    while (mpi->works.first) td_work_remove(&mpi->works, mpi->works.first);
    free(mpi->board.slot);
    free(mpi->events.row);
    free(mpi->scratch);
    pthread_cond_destroy(&mpi->given);
    pthread_cond_destroy(&mpi->done);
    pthread_mutex_destroy(&mpi->lock);
    free(mpi);
    free(comm);
}

/* A broken world is left as it is: MPI still has its arrays, and would wait in MPI_Finalize for ranks that never come.
 */
static void destroy(td_comm *comm) {
    td_mpi *mpi = comm->state;
    td_board_end(&mpi->board, TD_RANK_LEFT, NULL);
    stop_thread(mpi);
    if (mpi->broken) return;
    MPI_Win_free(&mpi->window);
    MPI_Comm_free(&mpi->host);
    MPI_Comm_free(&mpi->world);
    if (mpi->ours) MPI_Finalize();
    free_all(comm);
}

/* No longer than a second; after a hang, which has taken long enough and of which some rank knows nothing, less. */
static void wait_while_any(const td_mpi *mpi, td_rank_state state) {
    const struct timespec nap = {0, 5 * 1000 * 1000};
    double until = td_now() + (mpi->hung ? 0.3 : 1);
    while (td_now() < until && td_board_any(&mpi->board, state)) nanosleep(&nap, NULL);
}

int td_comm_mpi_failed(td_comm *comm, const char *message) {
    const td_mpi *mpi = comm->state;
    td_board_end(&mpi->board, TD_RANK_FAILED, message);
    wait_while_any(mpi, TD_RANK_WORKS);
    return td_board_saying(&mpi->board, message);
}

void td_comm_mpi_abandon(td_comm *comm, int status) {
    td_mpi *mpi = comm->state;
    td_board_end(&mpi->board, TD_RANK_TOLD, NULL);
    wait_while_any(mpi, TD_RANK_FAILED);
    stop_thread(mpi);
    MPI_Abort(MPI_COMM_WORLD, status);
}

void td_comm_mpi_piece(td_comm *comm, int64_t count) {
    ((td_mpi *)comm->state)->piece = count;
}

static td_status start_mpi(int *ours, td_error *err) {
    int there, gone, level = MPI_THREAD_SINGLE;
    MPI_Initialized(&there);
    MPI_Finalized(&gone);
    *ours = !there;
    if (gone) return td_fail(err, TD_UNSUPPORTED, "MPI was ended in this process, and cannot be started again");
    /* several threads call MPI, but never two at a time; whoever else started it may call it at any time */
    int needed = there ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED;
    if (there)
        MPI_Query_thread(&level);
    else if (MPI_Init_thread(NULL, NULL, needed, &level) != MPI_SUCCESS)
        return td_fail(err, TD_UNSUPPORTED, "MPI does not start");
    if (level >= needed) return TD_OK;
    if (!there) MPI_Finalize();
    return td_fail(err, TD_UNSUPPORTED, "this MPI gives thread level %d, and %d is needed", level, needed);
}

/* The board: a slot a rank in memory of the host's ranks. */
static td_status hang_board(td_mpi *mpi, td_error *err) {
    int code = MPI_Comm_split_type(mpi->world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &mpi->host);
    td_board_slot *mine = NULL;
    if (code == MPI_SUCCESS)
        code = MPI_Win_allocate_shared(sizeof *mine, 1, MPI_INFO_NULL, mpi->host, &mine, &mpi->window);
    if (code != MPI_SUCCESS) return td_fail(err, TD_NO_MEMORY, "no shared memory for what ranks tell each other");
    memset(mine, 0, sizeof *mine);
    int here, ranks = mpi->comm->ranks;
    MPI_Comm_size(mpi->host, &here);
    mpi->one_host = here == ranks;
    int *names = malloc(2 * (size_t)here * sizeof *names);
    mpi->board = (td_board){mpi->comm->rank, ranks, calloc((size_t)ranks, sizeof(td_board_slot *))};
    if (!names || !mpi->board.slot) {
        free(names);
        return td_fail(err, TD_NO_MEMORY, "no memory for the names of %d ranks", ranks);
    }
    MPI_Group host, world;
    MPI_Comm_group(mpi->host, &host);
    MPI_Comm_group(mpi->world, &world);
    for (int r = 0; r < here; r++) names[r] = r;
    MPI_Group_translate_ranks(host, here, names, world, names + here);
    for (int r = 0; r < here; r++) {
        MPI_Aint size;
        int unit;
        MPI_Win_shared_query(mpi->window, r, &size, &unit, &mpi->board.slot[names[here + r]]);
    }
    MPI_Group_free(&host);
    MPI_Group_free(&world);
    free(names);
    MPI_Barrier(mpi->world); /* nobody reads a slot that is not yet empty */
    return TD_OK;
}

static td_status start_thread(td_mpi *mpi, td_error *err) {
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&mpi->lock, NULL);
    pthread_cond_init(&mpi->given, &clock);
    pthread_cond_init(&mpi->done, &clock);
    pthread_condattr_destroy(&clock);
    if (pthread_create(&mpi->thread, NULL, td_mpi_drive, mpi) != 0)
        return td_fail(err, TD_NO_MEMORY, "no thread to drive MPI");
    mpi->running = 1;
    return TD_OK;
}

td_status td_comm_mpi(td_comm **out, td_error *err) {
    double limit;
    int ours;
    td_status status = td_wait_limit(&limit, err);
    if (status == TD_OK) status = start_mpi(&ours, err);
    if (status) return status;
    td_comm *comm = calloc(1, sizeof *comm);
    td_mpi *mpi = calloc(1, sizeof *mpi);
    if (!comm || !mpi) {
        free(comm);
        free(mpi);
        return td_fail(err, TD_NO_MEMORY, "MPI: no memory for its handle");
    }
    *comm = (td_comm){.backend = TD_CPU,
                      .name = "MPI",
                      .host = comm,
                      .limit = limit,
                      .state = mpi,
                      .start = start,
                      .await = await,
                      .writable = writable,
                      .simulate = simulate,
                      .record = record,
                      .events = events,
                      .destroy = destroy};
    *mpi = (td_mpi){.comm = comm, .piece = INT_MAX, .ours = ours};
    MPI_Comm_dup(MPI_COMM_WORLD, &mpi->world);
    MPI_Comm_set_errhandler(mpi->world, MPI_ERRORS_RETURN);
    if (ours) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* to which some faults are laid */
    MPI_Comm_rank(mpi->world, &comm->rank);
    MPI_Comm_size(mpi->world, &comm->ranks);
    status = hang_board(mpi, err);
    if (status == TD_OK) status = start_thread(mpi, err);
    if (status == TD_OK) *out = comm;
    return status; /* a world that is not whole ends with the process: its ranks could not part in order */
}
