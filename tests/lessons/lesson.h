/* What the tests of lessons have in common: how one ends, what it says and writes, and what it refuses. */
#ifndef TANDEM_TESTS_LESSON_H
#define TANDEM_TESTS_LESSON_H

#include "../support.h"

static inline void ended_well(const support_result *r) {
    cr_assert_eq(r->status, 0, "%s", r->err);
    cr_assert_str_empty(r->err);
    cr_expect_null(strstr(r->out, "the text is missing"));
}

static inline void says_each(const support_result *r, const char *const *texts) {
    for (; *texts; texts++) cr_expect_not_null(strstr(r->out, *texts), "%s", *texts);
}
#define says(result, ...) says_each(result, (const char *const[]){__VA_ARGS__, NULL})

static inline void wrote_each(const char *folder, const char *const *files) {
    for (; *files; files++) cr_expect_eq(access(support_path(folder, *files), R_OK), 0, "%s", *files);
}
#define wrote(folder, ...) wrote_each(folder, (const char *const[]){__VA_ARGS__, NULL})

typedef struct refusal {
    char *given[2];
    const char *said;
} refusal;

/* Each in one line, with nothing shown or written before. */
static inline void refuses_each(char *lesson, const refusal *bad, size_t n) {
    char folder[64];
    support_folder(folder);
    support_child there = {.folder = folder};
    support_result r;
    for (size_t i = 0; i < n; i++) {
        support_tandem(&there, &r, "lesson", lesson, bad[i].given[0], bad[i].given[1]);
        support_refused(&r, 2, bad[i].said);
        cr_expect_str_empty(r.out, "%s", bad[i].said);
    }
    cr_expect_eq(support_entries(folder), 0);
    support_folder_remove(folder);
}
#define refuses(lesson, bad) refuses_each(lesson, bad, sizeof bad / sizeof *bad)

#endif
