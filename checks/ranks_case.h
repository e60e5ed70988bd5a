/* Cases that ranks carry out together say here how each went. */
#ifndef TANDEM_CHECKS_RANKS_CASE_H
#define TANDEM_CHECKS_RANKS_CASE_H

#include "tandem/comm.h"

/* Every rank calls `row` for the same cases in the same order, with what the ranks found together. */
typedef struct td_case_report {
    void *context;
    /* `name` of the case ("O5 clip"), `variant` (a scheme or sharding, "flat"), verdict PASS, FAIL or SKIP; the worst
     * error as a share of what is allowed (0 where bits are compared, NAN where there is none); a note, or "". */
    void (*row)(void *context, const char *name, const char *variant, const char *verdict, double err_over_tol,
                const char *note);
    int steps; /* of the case that takes many; 0 = 100 */
    /* Called once if ranks are no longer in step after this case: so many more were not run. NULL: nobody is told. */
    void (*stopped)(void *context, const char *name, const char *variant, int not_run);
} td_case_report;

/* What one rank found in a case. Zero at first: nothing wrong. */
typedef struct td_case {
    double err_over_tol; /* the worst so far */
    int failed;
    char note[160]; /* of the first failure, or anything worth saying */
    int steps;      /* many, for this run */
} td_case;

/* A comparison of the case: fails unless err <= tol. Gives 1 if it is the first that does: the caller writes the note.
 */
static inline int td_case_compare(td_case *c, double err, double tol) {
    const double share = err <= 0 ? 0 : err / tol; /* NaN stays NaN */
    if (!(share <= c->err_over_tol)) c->err_over_tol = share;
    if (err <= tol || c->failed) return 0;
    c->failed = 1;
    return 1;
}

/* Collective: a case fails if it failed on any rank; the note is that of the lowest of these. Reports it. *failed is
 * the same on every rank; the status only says whether the ranks could agree. */
td_status td_case_close(td_comm *comm, const td_case_report *report, const char *name, const char *variant,
                        const td_case *own, int *failed, td_error *err);

#endif
