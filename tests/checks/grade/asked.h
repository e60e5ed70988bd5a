/* Functions judged by their answers, without a child: what a submission would answer is handed in. */
#ifndef TANDEM_TESTS_ASKED_H
#define TANDEM_TESTS_ASKED_H

#include "../../../checks/grade/answers.h"
#include <criterion/criterion.h>
#include <string.h>

/* A case's answers with one mistake (0: none), judged. Returns whether it was found wrong. */
static inline int asked_judged(const td_asked *asked, int mistake, const char *question, int n, td_suspects *suspects) {
    char got[32 * TD_ANSWER_BYTES];
    td_grade_result result = {.graded = TD_GRADED_PASS};
    cr_assert(n * (int)asked->answer <= (int)sizeof got);
    memset(got, 0, sizeof got);
    for (int i = 0; i < n; i++)
        asked->respond(question + (size_t)i * asked->question, mistake, got + (size_t)i * asked->answer);
    td_asked_judge(asked, "case", question, got, n, &result, suspects);
    cr_assert_eq(result.cases, 1);
    cr_assert_eq(result.failed_cases != 0, result.graded == TD_GRADED_WRONG);
    return result.failed_cases;
}

/* The suspects name this mistake and no other. */
static inline void asked_named_alone(const td_suspects *suspects, const char *name) {
    const td_suspect *named[TD_SUSPECTS];
    int n = td_suspects_named(suspects, named, TD_SUSPECTS);
    cr_expect_eq(n, 1, "%s: %d are named", name, n);
    for (int i = 0; i < n; i++) cr_expect_str_eq(named[i]->name, name);
}

#endif
