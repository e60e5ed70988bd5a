/* What the ranks make of a case together. */
#include "ranks_case.h"
#include <math.h>
#include <string.h>

td_status td_case_close(td_comm *comm, const td_case_report *report, const char *name, const char *variant,
                        const td_case *own, int *failed, td_error *err) {
    /* NaN is as wrong as can be; a reduction would lose it */
    double worst = own->err_over_tol <= INFINITY ? own->err_over_tol : INFINITY;
    double first = own->failed ? comm->rank : comm->ranks;
    char note[sizeof own->note], said[sizeof note + 32];
    memcpy(note, own->note, sizeof note);
    *failed = 1;
    td_status status = td_comm_agree(comm, TD_MAX, &worst, 1, name, err);
    if (!status) status = td_comm_agree(comm, TD_MIN, &first, 1, name, err);
    *failed = first < comm->ranks;
    const int root = *failed ? (int)first : 0;
    const td_call call = {TD_BROADCAST, TD_F32, TD_SUM, root, sizeof note / sizeof(float), NULL, note, name};
    if (!status) status = td_comm_run(comm->host, &call, err);
    if (status) return status;
    if (*failed)
        snprintf(said, sizeof said, "rank %d: %s", root, note);
    else
        snprintf(said, sizeof said, "%s", note);
    report->row(report->context, name, variant, *failed ? "FAIL" : "PASS", worst, said);
    return TD_OK;
}
