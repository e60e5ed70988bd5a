/* Adam over ranks that are threads of this process. */
#include "../../../checks/memory.h"
#include "../../thread_ranks.h"
#include "tandem/adam.h"
#include "tandem/philox.h"
#include <criterion/criterion.h>

/* Sums of the ranks' numbers, each rank's in its place: the double itself does what comm.h says. */
static td_status collectives(void *context, td_comm *comm, td_error *err) {
    (void)context;
    const int n = comm->ranks, r = comm->rank;
    float all[16], own[2] = {(float)r, 1}, gathered[32], sent[3] = {(float)r, (float)r, (float)r};
    for (int i = 0; i < 16; i++) all[i] = (float)(i + 100 * r);
    const td_call calls[3] = {{TD_REDUCE_SCATTER, TD_F32, TD_SUM, 0, 2, all, all + 2 * r, "scatter"},
                              {TD_ALL_GATHER, TD_F32, TD_SUM, 0, 2, own, gathered, "gather"},
                              {TD_BROADCAST, TD_F32, TD_SUM, n - 1, 3, NULL, sent, "send"}};
    td_work *work[3];
    td_status status = TD_OK;
    for (int k = 0; k < 3 && !status; k++) status = comm->start(comm, &calls[k], &work[k], err);
    if (!status && comm->writable(comm, all, 4, NULL) != TD_WRONG) return td_fail(err, TD_INTERNAL, "writable");
    for (int k = 0; k < 3 && !status; k++) status = comm->await(comm, work[k], err);
    if (status) return status;
    double hundreds = 50.0 * n * (n - 1), sum = n * (2 * r + 1) + hundreds, most = r;
    for (int q = 0; q < n; q++)
        if (gathered[2 * q] != (float)q || gathered[2 * q + 1] != 1) return td_fail(err, TD_INTERNAL, "gather");
    if (all[2 * r + 1] != (float)sum || sent[2] != (float)(n - 1)) return td_fail(err, TD_INTERNAL, "values");
    status = td_comm_agree(comm, TD_MAX, &most, 1, "most", err);
    if (!status && most != n - 1) return td_fail(err, TD_INTERNAL, "agree: %g", most);
    return comm->writable(comm, all, 4, err);
}

static td_status one_is_missing(void *context, td_comm *comm, td_error *err) {
    (void)context;
    double x = 1;
    comm->limit = 1;
    return comm->rank == 1 ? TD_OK : td_comm_agree(comm, TD_SUM, &x, 1, "roll call", err);
}

Test(thread_ranks, collectives_do_what_comm_says) {
    for (int n = 1; n <= 8; n++) {
        td_error err = {TD_OK, ""};
        cr_expect_eq(thread_ranks(n, collectives, NULL, NULL, &err), TD_OK, "%d: %s", n, err.message);
    }
}

Test(thread_ranks, a_rank_that_does_not_come_is_told) {
    td_error err;
    cr_expect_eq(thread_ranks(3, one_is_missing, NULL, NULL, &err), TD_WRONG);
    cr_expect(strstr(err.message, "rank 0 waits for roll call"), "%s", err.message);
}
