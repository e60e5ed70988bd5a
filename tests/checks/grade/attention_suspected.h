/* Mistakes handed in by hand: what suspects say of them. */
#ifndef TANDEM_TESTS_ATTENTION_SUSPECTED_H
#define TANDEM_TESTS_ATTENTION_SUSPECTED_H

#include "../../../checks/grade/attention.h"
#include "../../support.h"
#include <math.h>
#include <omp.h>

/* Judge what `submission` (a run() of a variant) answers to every case. */
typedef td_status (*suspected_run)(const td_problem *, const td_tensor *, void *, void *, td_error *);

static inline td_suspects *suspected(td_op op, const td_attention_case *cases, suspected_run submission) {
    const td_attention_task task = {op, 0, {TD_F32, TD_F32, TD_F32, 4}, 0, 20};
    td_suspects *suspects = calloc(1, sizeof *suspects);
    double *workspace = calloc(1 << 16, sizeof *workspace);
    td_error err;
    cr_assert(suspects && workspace);
    td_attention_enter(suspects, op);
    omp_set_num_threads(1);
    for (const td_attention_case *c = cases; c->name; c++) {
        td_attention_answer answer;
        td_grade_result result = {.graded = TD_GRADED_PASS};
        cr_assert_eq(td_attention_draw(&answer, &task, c, 11, &err), TD_OK, "%s", err.message);
        cr_assert_eq(submission(&answer.trial.problem, answer.trial.tensors, workspace, NULL, &err), TD_OK);
        cr_assert_eq(td_attention_judge(&task, &answer, suspects, &result, &err), TD_OK, "%s", err.message);
        td_attention_free(&answer);
    }
    free(workspace);
    return suspects;
}

/* Are these the same mistake, or is one of them another only in blocks of another size? */
static inline int suspected_alike(const char *a, const char *b) {
    size_t n = strlen(a) < strlen(b) ? strlen(a) : strlen(b);
    const char *rest = strlen(a) < strlen(b) ? b + n : a + n;
    return !strncmp(a, b, n) && (!*rest || (rest[0] == '_' && rest[1] >= '0' && rest[1] <= '9'));
}

/* It is named `name`, and nothing else. */
static inline void suspected_named(td_suspects *suspects, const char *name) {
    const td_suspect *named[8];
    int n = td_suspects_named(suspects, named, 8), found = 0;
    cr_expect_gt(suspects->failed, 0, "%s shows nowhere", name);
    for (int k = 0; k < n; k++) {
        found |= suspected_alike(named[k]->name, name);
        cr_expect(suspected_alike(named[k]->name, name), "%s is called %s", name, named[k]->name);
    }
    cr_expect(found, "%s has no name", name);
    free(suspects);
}

static inline void suspected_every_mistake(td_op op, const char *prefix, const td_attention_case *cases) {
    const td_variant *v;
    int n = 0;
    for (int i = 0; (v = td_variant_at(i)); i++)
        if (v->mistake && v->op == op) suspected_named(suspected(op, cases, v->run), v->name + strlen(prefix)), n++;
    cr_assert_geq(n, 50);
}

static inline void suspected_nothing(td_suspects *suspects, int failed) {
    const td_suspect *named[8];
    int n = td_suspects_named(suspects, named, 8);
    cr_expect_eq(n, 0, "called %s", n ? named[0]->name : "");
    cr_expect_eq(suspects->failed > 0, failed);
    free(suspects);
}

#endif
