/* Cases that ranks carry out together say here how each went. Every rank calls `row` for the same cases in the same
 * order, with its own verdict; what the ranks make of it together is for who listens. */
#ifndef TANDEM_CHECKS_RANKS_CASE_H
#define TANDEM_CHECKS_RANKS_CASE_H

typedef struct td_case_report {
    void *context;
    /* `name` of the case ("O5 clip"), `variant` (a scheme or sharding, "flat"), verdict PASS, FAIL or SKIP; the worst
     * error as a share of what is allowed (0 where bits are compared, NAN where there is none); a note, or "". */
    void (*row)(void *context, const char *name, const char *variant, const char *verdict, double err_over_tol,
                const char *note);
} td_case_report;

#endif
