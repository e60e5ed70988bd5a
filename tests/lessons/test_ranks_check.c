/* tandem ranks check under mpirun: every scheme passes every case on 1, 2, 3, 4 and 8 ranks. */
#include "../../checks/launch.h"
#include "../table.h"
#include <math.h>

static void check(int ranks) {
    char folder[64], out[PATH_MAX + 8];
    td_launched got;
    td_error err = {0};
    support_folder(folder);
    snprintf(out, sizeof out, "OUT=%s", support_path(folder, "check.csv"));
    td_status launched = td_launch_ranks(ranks, NULL,
                                         (const char *const[]){"check", ranks == 2 ? "LARGE=4MiB" : "LARGE=64KiB",
                                                               ranks > 2 ? "STEPS=5" : "STEPS=100", out, NULL},
                                         100, &got, &err);
    if (launched == TD_UNSUPPORTED) cr_skip_test("SKIP: %s", err.message);
    cr_assert_eq(launched, TD_OK, "%s", err.message);
    cr_assert_eq(got.status, 0, "%d ranks: %s%s", ranks, got.out, got.err);
    td_record *rows = table(folder, "check.csv");
    int schemes[4] = {0}, of_adam = 0;
    static const char *const names[] = {"naive", "flat", "overlapped", "bucketed"};
    for (int i = 0; i < td_record_rows(rows); i++) {
        const char *verdict = td_record_get_text(rows, i, "verdict"), *variant = td_record_get_text(rows, i, "variant");
        int skipped = !strcmp(verdict, "SKIP");
        const char *name = td_record_get_text(rows, i, "case");
        int to_skip = ranks == 1 ? !strcmp(name, "plans differ") || !strcmp(name, "caps differ")
                                 : ranks > 2 && !strcmp(name, "D8 same bits") && !strcmp(variant, "flat");
        cr_expect_str_eq(verdict, to_skip ? "SKIP" : "PASS", "%d ranks: %s, %s: %s", ranks, name, variant, verdict);
        cr_expect(skipped || td_record_get(rows, i, "err_over_tol") <= 1);
        cr_expect_eq(td_record_get(rows, i, "ranks"), ranks);
        int adam = i >= 4 * 23; /* the schemes' rows come first */
        of_adam += adam;
        for (int s = 0; s < 4; s++) schemes[s] += !adam && !skipped && !strcmp(variant, names[s]);
    }
    for (int s = 0; s < 4; s++)
        cr_expect_eq(schemes[s], 23 - (ranks == 1) * 2 - (ranks > 2 && s == 1), "%s: %d cases", names[s], schemes[s]);
    cr_expect_geq(of_adam, 7 * 3);
    td_record_delete(rows);
    td_launched_free(&got);
    support_folder_remove(folder);
}

Test(ranks_check, one_rank) {
    check(1);
}

Test(ranks_check, two_and_three_ranks) {
    check(2);
    check(3);
}

Test(ranks_check, four_ranks) {
    check(4);
}

Test(ranks_check, eight_ranks) {
    check(8);
}

/* Two ranks, a mistake: its cases are FAIL, the table is still shown, and the exit status says it. */
static void fails(const char *way, const char *const said[], const char *told) {
    char folder[64], out[PATH_MAX + 8];
    td_launched got;
    td_error err = {0};
    support_folder(folder);
    snprintf(out, sizeof out, "OUT=%s", support_path(folder, "check.csv"));
    td_status launched =
        td_launch_ranks(2, NULL, (const char *const[]){"check", way, "LARGE=4KiB", out, NULL}, 100, &got, &err);
    if (launched == TD_UNSUPPORTED) cr_skip_test("SKIP: %s", err.message);
    cr_assert_eq(launched, TD_OK, "%s", err.message);
    cr_expect_eq(got.status, 1, "%d: %s%s", got.status, got.out, got.err);
    for (int i = 0; said[i]; i++) cr_expect(strstr(got.out, said[i]), "%s: %s", said[i], got.out);
    cr_expect(strstr(got.err, told), "%s: %s", told, got.err);
    td_launched_free(&got);
    support_folder_remove(folder);
}

Test(ranks_check, a_mistake_fails) {
    const char *const said[] = {"rank 0: A1[0] is 3.5, must be 2.25", "23 cases on 2 ranks", NULL};
    fails("WAY=mean of rank means", said, "cases failed; the first: D1 token weights, mean of rank means");
}

/* Ranks are no longer in step: what was not run is said. */
Test(ranks_check, says_where_it_stopped) {
    const char *const said[] = {"4 cases on 2 ranks", NULL};
    fails("WAY=own ready order", said,
          "1 of 4 cases failed; stopped after D2 opposite orders, own ready order: 19 more not run");
}

Test(ranks_check, refuses_what_it_cannot_use) {
    support_result result;
    support_tandem(NULL, &result, "ranks", "check", "LARGE=3");
    support_refused(&result, 2, "LARGE=3: must be a size, 4 to");
    support_tandem(NULL, &result, "ranks", "check", "WAY=hasty");
    support_refused(&result, 2, "WAY=hasty");
    support_tandem(NULL, &result, "ranks", "check", "OUT=/nowhere/else/check.csv/");
    cr_expect_neq(result.status, 0);
}
