/* The cases of Adam on ranks that are threads: all pass; what is wrong is caught in
 * tests/mutants/test_adam.c. */
#include "../../../checks/adam_cases.h"
#include "../../../checks/memory.h"
#include "../../thread_ranks.h"
#include <criterion/criterion.h>

typedef struct rows {
    int passed, failed;
    char log[4096];
} rows;

static void row(void *context, const char *name, const char *variant, const char *verdict, double err_over_tol,
                const char *note) {
    rows *r = context;
    const int fail = strcmp(verdict, "PASS") != 0;
    r->passed += !fail, r->failed += fail;
    size_t at = strlen(r->log);
    if (fail) snprintf(r->log + at, sizeof r->log - at, "%s, %s: %.3g %s\n", name, variant, err_over_tol, note);
}

static td_status all_cases(void *context, td_comm *comm, td_error *err) {
    rows nobody = {0, 0, ""};
    td_allocator allocator = td_plain_allocator();
    td_engine engine = td_cpu_engine(&allocator);
    const td_case_report report = {comm->rank == 0 ? context : &nobody, row, 0, NULL};
    return td_adam_cases(comm, &engine, &report, err);
}

Test(adam_cases, all_pass_on_one_to_eight_ranks) {
    const int ranks[] = {1, 2, 3, 4, 8};
    for (int i = 0; i < 5; i++) {
        rows seen = {0, 0, ""};
        td_error err = {TD_OK, ""};
        cr_expect_eq(thread_ranks(ranks[i], all_cases, &seen, NULL, &err), TD_OK, "%s", err.message);
        cr_expect(seen.failed == 0 && seen.passed == 60, "%d ranks, %d passed:\n%s", ranks[i], seen.passed, seen.log);
    }
}
