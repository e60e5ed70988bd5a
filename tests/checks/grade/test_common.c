/* Which cases are run, on which seeds, and what a check's cases come to. */
#include "graded.h"

static td_grade_run run;
static const td_grade_check *const checks = graded_checks;

static void enter(void) {
    run = (td_grade_run){.exercise = &graded_exercise, .deadline = td_now() + 1000};
}
TestSuite(grade_common, .init = enter);

Test(grade_common, wanted_are_public_or_all_or_the_one_named) {
    cr_expect(td_grade_wanted(&run, &checks[0], "T16", 0) && td_grade_wanted(&run, &checks[0], "T16", 1));
    run.public_only = 1;
    cr_expect(td_grade_wanted(&run, &checks[0], "T16", 0) && !td_grade_wanted(&run, &checks[0], "T16", 1));
    run.public_only = 0, run.only_case = "shapes/T16";
    cr_expect(td_grade_wanted(&run, &checks[0], "T16", 1));
    cr_expect_not(td_grade_wanted(&run, &checks[0], "T1", 1));
    cr_expect_not(td_grade_wanted(&run, &checks[0], "T160", 1));
    cr_expect_not(td_grade_wanted(&run, &checks[1], "T16", 1));
    run.only_case = "shapes";
    cr_expect(td_grade_wanted(&run, &checks[0], "T1", 1) && !td_grade_wanted(&run, &checks[1], "T1", 1));
    run.only_case = "shapesx";
    cr_expect_not(td_grade_wanted(&run, &checks[0], "T1", 1));
}

Test(grade_common, seeds_repeat_and_differ) {
    run.seed = 1, run.secret = 1;
    uint64_t a = td_grade_seed(&run, &checks[0], "T16", 0);
    cr_expect_eq(a, td_grade_seed(&run, &checks[0], "T16", 0));
    cr_expect_neq(a, td_grade_seed(&run, &checks[0], "T17", 0));
    cr_expect_neq(a, td_grade_seed(&run, &checks[1], "T16", 0));
    cr_expect_neq(a, td_grade_seed(&run, &checks[0], "T16", 1));
    uint64_t s = td_grade_seed(&run, &checks[0], "T16", 1);
    run.secret = 2;
    cr_expect_eq(a, td_grade_seed(&run, &checks[0], "T16", 0));
    cr_expect_neq(s, td_grade_seed(&run, &checks[0], "T16", 1));
    run.seed = 2;
    cr_expect_neq(a, td_grade_seed(&run, &checks[0], "T16", 0));
}

Test(grade_common, measured_cases_are_always_run_and_secret_where_there_are_secrets) {
    run.seed = 1, run.secret = 2;
    const uint64_t open = td_grade_seed(&run, &checks[0], "T16", TD_CASE_PUBLIC);
    const uint64_t hidden = td_grade_seed(&run, &checks[0], "T16", TD_CASE_SECRET);
    cr_expect(td_grade_wanted(&run, &checks[0], "T16", TD_CASE_MEASURED));
    cr_expect_eq(td_grade_seed(&run, &checks[0], "T16", TD_CASE_MEASURED), hidden);
    run.public_only = 1;
    cr_expect(td_grade_wanted(&run, &checks[0], "T16", TD_CASE_MEASURED));
    cr_expect_eq(td_grade_seed(&run, &checks[0], "T16", TD_CASE_MEASURED), open);
}

static td_grade_result fresh(void) {
    return (td_grade_result){.graded = TD_GRADED_PASS, .err_over_tol = NAN};
}

Test(grade_common, nan_has_one_spelling) {
    td_grade_result r = fresh();
    td_grade_wrong(&r, "T1", "%f got %g, want %g: finance of -nano", -NAN, NAN, -NAN);
    cr_expect_str_eq(r.message, "NaN got NaN, want NaN: finance of -nano");
}

Test(grade_common, comparisons_are_counted_by_case_and_the_first_failure_is_told) {
    td_grade_result r = fresh();
    td_comparison fine = {.verdict = TD_PASS, .elements = 8, .err_over_tol = 0.2};
    td_comparison bad = {.verdict = TD_FAIL,
                         .elements = 8,
                         .wrong = 2,
                         .err_over_tol = 250000,
                         .worst = {0, 1, 16, 3},
                         .got = 0.5,
                         .want = 0.25,
                         .tol = 1e-6};
    td_grade_compared(&r, "T1", "O", &fine);
    td_grade_compared(&r, "T1", "LSE", &fine);
    cr_expect(r.cases == 1 && r.failed_cases == 0 && r.graded == TD_GRADED_PASS);
    fine.err_over_tol = 0.4;
    td_grade_compared(&r, "T2", "O", &fine);
    fine.err_over_tol = 0.1;
    td_grade_compared(&r, "T3", "O", &fine);
    cr_expect_eq(r.cases, 3);
    cr_expect_eq(r.err_over_tol, 0.4);
    cr_expect_str_eq(r.case_name, "T2");
    td_grade_compared(&r, "T17", "O", &bad);
    td_grade_compared(&r, "T17", "LSE", &bad);
    td_grade_compared(&r, "T18", "O", &bad);
    cr_expect(r.cases == 5 && r.failed_cases == 2 && r.graded == TD_GRADED_WRONG);
    cr_expect_str_eq(r.case_name, "T17");
    cr_expect_str_eq(r.message, "O[b 0,h 1,t 16,d 3]: got 0.5, want 0.25, tolerance 1e-06 (err/tol 2.5e+05)\n"
                                "2 of 8 elements are wrong");
    r = fresh(), bad.got = NAN, bad.nonfinite = 1, bad.err_over_tol = INFINITY;
    td_grade_compared(&r, "T1", "loss", &bad);
    cr_expect(strstr(r.message, "loss[0,1,16,3]: got NaN, want 0.25") && strstr(r.message, "NaN or infinity"), "%s",
              r.message);
    r = fresh(), bad = (td_comparison){.verdict = TD_PASS, .elements = 1, .err_over_tol = NAN};
    td_grade_compared(&r, "T1", "O", &bad);
    cr_expect_eq(r.graded, TD_GRADED_WRONG);
    r = fresh(), bad = (td_comparison){.verdict = TD_FAIL, .err_over_tol = INFINITY};
    td_grade_compared(&r, "T1", "O", &bad);
    cr_expect(strstr(r.message, "its sizes"), "%s", r.message);
}

Test(grade_common, outcomes_of_children_by_weight) {
    td_grade_result r = fresh();
    td_said said = {.outcome = TD_CHILD_FINE, .done = {TD_UNSUPPORTED, 0, "not written\x1b yet"}};
    td_grade_outcome(&r, "a", &said);
    cr_expect_eq(r.graded, TD_GRADED_WRONG);
    cr_expect_str_eq(r.message, "the function returned TD_UNSUPPORTED: \"not written? yet\"");
    said = (td_said){.outcome = TD_CHILD_TIMED_OUT, .why = "it was not done after 5 s"};
    td_grade_outcome(&r, "b", &said);
    cr_expect_eq(r.graded, TD_GRADED_TIMED_OUT);
    cr_expect_str_eq(r.case_name, "b");
    cr_expect(strstr(r.message, "not done after 5 s"), "%s", r.message);
    said = (td_said){.outcome = TD_CHILD_CRASHED, .why = "7 bytes behind the end of O"};
    td_grade_outcome(&r, "c", &said);
    td_grade_wrong(&r, "d", "not %d", 7);
    cr_expect_eq(r.graded, TD_GRADED_CRASHED);
    cr_expect_str_eq(r.case_name, "c");
    cr_expect(r.cases == 4 && r.failed_cases == 4);
    td_grade_right(&r, "e");
    cr_expect(r.cases == 5 && r.failed_cases == 4);
    td_grade_right(&r, "a"); /* a case is one, whenever it is spoken of */
    td_grade_wrong(&r, "b", "again");
    cr_expect(r.cases == 5 && r.failed_cases == 4);
    td_grade_wrong(&r, "e", "in the end");
    cr_expect(r.cases == 5 && r.failed_cases == 5);
}

Test(grade_common, who_is_gone_has_no_memory_to_measure) {
    td_grade_result r = fresh();
    cr_expect_not(td_grade_gone(&r, "T64", 4096));
    cr_expect(r.cases == 0 && r.graded == TD_GRADED_PASS);
    cr_expect(td_grade_gone(&r, "T64", 0));
    cr_expect_eq(r.graded, TD_GRADED_WRONG);
    cr_expect_str_eq(r.message, "it ended before its memory could be measured");
}

Test(grade_common, notes_and_strange_statuses_are_told) {
    static const struct {
        td_wire_done done;
        const char *said;
    } all[] = {{{TD_OK, TD_NOTE_INPUT_CHANGED, ""}, "an input was changed"},
               {{TD_OK, TD_NOTE_ROUNDING, ""}, "rounding mode"},
               {{-5, 0, ""}, "a status that does not exist, without a message"},
               {{TD_IO, 0, "m"}, "TD_IO: \"m\""}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        td_grade_result r = fresh();
        td_said said = {.done = all[i].done};
        td_grade_outcome(&r, "a", &said);
        cr_expect_eq(r.graded, TD_GRADED_WRONG);
        cr_expect(strstr(r.message, all[i].said), "'%s' in '%s'", all[i].said, r.message);
    }
    td_grade_result r = fresh();
    td_said said = {.outcome = TD_CHILD_FINE};
    memset(said.done.message, 'x', sizeof said.done.message); /* no end */
    td_grade_outcome(&r, "a", &said);
    cr_expect_eq(r.graded, TD_GRADED_HARNESS, "nothing failed");
    said.done.status = TD_WRONG;
    r = fresh();
    td_grade_outcome(&r, "a", &said);
    cr_expect_eq(r.graded, TD_GRADED_WRONG);
}
