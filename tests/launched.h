/* mpirun in tests: skipped, with the reason, where there is none. */
#ifndef TANDEM_TESTS_LAUNCHED_H
#define TANDEM_TESTS_LAUNCHED_H

#include "../checks/launch.h"
#include "support.h"

/* `ranks` of build/tandem with the arguments, the last of which is NULL; free `out` with td_launched_free. */
static inline void launched_run(int ranks, double limit, td_launched *out, const char *const *arguments) {
    char path[PATH_MAX];
    td_error err;
    support_program(path);
    td_status status = td_launch_ranks(ranks, path, arguments, limit, out, &err);
    if (status == TD_UNSUPPORTED) cr_skip_test("%s", err.message);
    cr_assert_eq(status, TD_OK, "%s", err.message);
}

#define launched(ranks, limit, out, ...) launched_run(ranks, limit, out, (const char *const[]){__VA_ARGS__, NULL})

/* It ended with `status`, and said each of these words, the last of which is NULL, on stderr. */
static inline void launched_said(const td_launched *got, int status, const char *const *words) {
    cr_expect_eq(got->status, status, "status %d, '%s'", got->status, got->err);
    cr_expect_not(got->timed_out);
    for (; *words; words++) cr_expect(strstr(got->err, *words), "'%s' in '%s'", *words, got->err);
}

/* No process of this number runs: there is none, or what is left of it waits to be reaped. */
static inline int launched_gone(long pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    char *stat = support_read(path), *name_end = stat ? strrchr(stat, ')') : NULL;
    int gone = !name_end || name_end[2] == 'Z' || name_end[2] == 'X';
    free(stat);
    return gone;
}

#endif
