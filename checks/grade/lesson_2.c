/* Lesson 2's exercise: counts, floors and roofs, each function judged by its answers. */
#include "roofline_cases.h"
#include <string.h>

static td_status run(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err) {
    td_roofline_question questions[TD_ROOFLINE_QUESTIONS];
    td_roofline_answer got[TD_ROOFLINE_QUESTIONS];
    td_status s = TD_OK;
    for (const td_roofline_case *c = td_roofline_cases; c->check && s == TD_OK && td_asked_go_on(result); c++) {
        int answered;
        if (strcmp(c->check, check->name) != 0 || !td_grade_wanted(run, check, c->name, c->secret)) continue;
        td_roofline_questions(c, td_grade_seed(run, check, c->name, c->secret), questions);
        s = td_asked_case(c->asked, run, check, c->name, questions, c->n, got, &answered, result, err);
    }
    return s;
}

static const td_grade_check checks[] = {
    {"gemm_flops", 0, 0, run},
    {"gemm_bytes", 0, 0, run},
    {"attention_flops", 0, 0, run},
    {"masks", 0, 0, run},
    {"attention_bytes", 0, 0, run},
    {"dense_extra_bytes", 0, 0, run},
    {"floor", 0, 0, run},
    {"roof", 0, 0, run},
    {NULL, 0, 0, NULL},
};

static void enter(td_suspects *suspects) {
    for (const td_asked *const *a = td_roofline_asked; *a; a++) td_asked_enter(*a, suspects);
}

const td_exercise td_exercise_2 = {2, "02_roofline", {{"roofline.c", "roofline"}}, 1, checks, enter};
