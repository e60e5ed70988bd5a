/* What ranks can do to each other, chosen by the number of tokens. */
#include "tandem/exercise/ddp.h"
#include <math.h>
#include <stdlib.h>

enum { N = 200000 };

td_status exercise_ddp_new(exercise_ddp **out, td_comm *comm, const td_parameter *parameters, int n, size_t cap_bytes,
                           td_error *err) {
    *out = NULL;
    (void)comm, (void)parameters, (void)n, (void)cap_bytes;
    return td_fail(err, TD_UNSUPPORTED, "no scheme here");
}
td_status exercise_ddp_begin(exercise_ddp *ddp, td_error *err) {
    (void)ddp, (void)err;
    return TD_OK;
}
td_status exercise_ddp_ready(exercise_ddp *ddp, int parameter, td_error *err) {
    (void)ddp, (void)parameter, (void)err;
    return TD_OK;
}
td_status exercise_ddp_finish(exercise_ddp *ddp, double factor, td_error *err) {
    (void)ddp, (void)factor, (void)err;
    return TD_OK;
}
void exercise_ddp_delete(exercise_ddp *ddp) {
    (void)ddp;
}

/* All four, long enough to go in pieces, in place where that is allowed: 1, or which one was wrong. */
static double all_of_them(td_comm *comm, td_error *err) {
    const int64_t part = N / comm->ranks;
    float *x = malloc(N * sizeof *x), *own = x + comm->rank * part;
    const td_call calls[] = {{TD_ALL_REDUCE, TD_F32, TD_SUM, 0, N, NULL, x, "a"},
                             {TD_REDUCE_SCATTER, TD_F32, TD_SUM, 0, part, x, own, "b"},
                             {TD_ALL_GATHER, TD_F32, TD_SUM, 0, part, own, x, "c"},
                             {TD_BROADCAST, TD_F32, TD_SUM, 1, N, NULL, x, "d"},
                             {TD_ALL_REDUCE, TD_F32, TD_MAX, 0, N, NULL, x, NULL}};
    double wrong = 0;
    for (int i = 0; i < N; i++) x[i] = (float)(i + comm->rank);
    for (int k = 0; !wrong && k < 5; k++) {
        if (td_comm_run(comm, &calls[k], err)) wrong = k + 2;
        if (k == 3 && comm->rank == 0) x[7] = -1;
    }
    /* (i + i + 1) twice, since two ranks had the same */
    for (int i = 0; !wrong && i < N; i++)
        if (x[i] != 2 * (2.0f * (float)i + 1)) wrong = 100 + i;
    free(x);
    return wrong ? wrong : 1;
}

td_status exercise_ddp_factor(td_comm *comm, int64_t counted, double *factor, td_error *err) {
    static float x[4] = {1, 2, 3, 4};
    const td_call call = {TD_ALL_REDUCE, TD_F32, TD_SUM, 0, 4, NULL, x, "x"};
    td_call wrong = call;
    td_work *work;
    td_status status;
    if (counted == 1) {
        *factor = all_of_them(comm, err);
        return TD_OK;
    }
    if (counted == 2 && comm->rank == 1) return TD_OK; /* without a word */
    if (counted == 3 && comm->rank == 1) *(volatile int *)1 = 0;
    for (volatile int forever = counted == 4 && comm->rank == 1; forever;) continue;
    wrong.count = -1;
    if (counted == 5) return comm->start(comm, &wrong, &work, err);
    if ((status = comm->start(comm, &call, &work, err))) return status;
    if (counted == 6) return TD_OK;
    if (counted == 7) x[2] = 5;
    *factor = isnan(x[1]) && comm->writable(comm, &x[3], 4, err) && !comm->writable(comm, &wrong, sizeof wrong, err);
    if ((status = comm->await(comm, work, err))) return status;
    if (counted == 8) return comm->await(comm, work, err);
    return TD_OK;
}
