/* The task `comm`: every collective against what its result must be, computed here from the ranks' numbers. Inputs are
 * small integers, whose sums are exact in any order: results are compared bit for bit. */
#include "../../cpu_ref/comm/mpi_end.h"
#include "collectives.h"
#include "ranks.h"
#include <signal.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

static const td_option options[] = {
    TD_RANK_OPTIONS,
    {"count", "0,1,7,1000,100003", "1 to 8 integers from 0 to 100000000", "elements of each rank"},
    {"piece", "0", "integer, 0 or more", "most elements that one call of MPI is given; 0 = all it can take"},
    {"fault", "none", "none, skip, order, absent, late, stop, die", "what the last rank does wrong in the end"},
    {"trust", "0", "0 or 1", "1: ranks do not compare what they ask for"},
    {NULL, NULL, NULL, NULL},
};

typedef enum fault { NONE = 0, SKIP, ORDER, ABSENT, LATE, STOP, DIE, FAULTS } fault;

static td_status read_fault(const td_arguments *arguments, fault *out, td_error *err) {
    static const char *const names[] = {"none", "skip", "order", "absent", "late", "stop", "die"};
    const char *text = td_argument_text(arguments, "fault");
    for (int f = 0; f < FAULTS; f++)
        if (!strcasecmp(text, names[f])) {
            *out = (fault)f;
            return TD_OK;
        }
    return td_fail(err, TD_BAD_PARAM, "FAULT=%.40s: must be one of none, skip, order, absent, late, stop, die", text);
}

static td_status reduce(td_comm *comm, double *values, int64_t count, const char *label, td_error *err) {
    td_call call = {TD_ALL_REDUCE, TD_F64, TD_SUM, 0, count, NULL, values, label};
    return td_comm_run(comm, &call, err);
}

static void sleep_for(double seconds) {
    const struct timespec nap = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
    nanosleep(&nap, NULL);
}

/* Those who have given up own their array again: whoever comes late, it stays as they left it. */
static td_status reduce_with_late(td_comm *comm, int late, double *values, int64_t count, td_error *err) {
    double kept[512];
    for (int64_t i = 0; i < count; i++) values[i] = kept[i] = 1 + comm->rank;
    if (late) sleep_for(comm->limit + 0.3);
    td_status status = reduce(comm, values, count, "bucket 2", err);
    if (status == TD_OK || late) return status;
    sleep_for(0.6);
    if (!memcmp(values, kept, (size_t)count * sizeof *values)) return status;
    return td_fail(err, TD_WRONG, "an array was written after await had given it back");
}

/* Three buckets are reduced; the last rank errs in the second. */
static td_status with_fault(td_world *world, fault what, td_error *err) {
    td_comm *comm = world->comm->host;
    int wrong = comm->rank == comm->ranks - 1 && comm->ranks > 1;
    double small[128] = {0}, large[512] = {0};
    td_status status = reduce(comm, small, 128, "bucket 1", err);
    if (status) return status;
    if (wrong && what == ABSENT) pause();
    if (wrong && what == STOP) raise(SIGSTOP);
    if (what == LATE) return reduce_with_late(comm, wrong, large, 512, err);
    if (wrong && what == DIE) {
        sleep_for(0.1); /* the others are in it by then */
        raise(SIGKILL);
    }
    if (wrong && what == ORDER) {
        if ((status = reduce(comm, small, 128, "bucket 3", err))) return status;
        return reduce(comm, large, 512, "bucket 2", err);
    }
    if (!(wrong && what == SKIP) && (status = reduce(comm, large, 512, "bucket 2", err))) return status;
    return reduce(comm, small, 128, "bucket 3", err);
}

static td_status run(const td_arguments *arguments, td_world *world, td_error *err) {
    int64_t counts[8], piece, trust;
    int n;
    fault what = NONE;
    td_link link;
    td_status status = td_argument_ints(arguments, "count", 0, 100000000, counts, 8, &n, err);
    if (status == TD_OK) status = td_argument_int(arguments, "piece", 0, INT32_MAX, &piece, err);
    if (status == TD_OK) status = td_argument_int(arguments, "trust", 0, 1, &trust, err);
    if (status == TD_OK) status = read_fault(arguments, &what, err);
    if (status == TD_OK) status = td_world_link(arguments, &link, err);
    if (status) return status;
    world->comm->host->trusting = (int)trust;
    if (piece) td_comm_mpi_piece(world->comm->host, piece);
    if (what != NONE) {
        printf("process %d is rank %d of %d\n", (int)getpid(), world->comm->rank, world->comm->ranks);
        fflush(stdout);
        return with_fault(world, what, err);
    }
    status = td_check_comm_promises(world, link, err);
    return status ? status : td_check_collectives(world, counts, n, err);
}

const td_rank_task td_rank_comm = {"comm", "every collective, its results bit for bit", options, run};
