/* tandem bench-adam on the emulator, which has no clock: the checks alone. */
#include "../../checks/adam_trial.h"
#include "../table.h"
#include <math.h>

Test(command_bench_adam, checks_both_rungs_on_the_emulator) {
    char folder[64], out[96];
    support_folder(folder);
    snprintf(out, sizeof out, "OUT=%s/adam.csv", folder);
    support_result r;
    support_tandem(NULL, &r, "bench-adam", "BACKEND=emulated", "COUNT=600", "TENSORS=7", "STEPS=1,3,6", out);
    cr_assert_eq(r.status, 0, "%s%s", r.out, r.err);
    td_record *record = table(folder, "adam.csv");
    cr_assert_eq(td_record_rows(record), TD_ADAM_RUNGS);
    for (int row = 0; row < TD_ADAM_RUNGS; row++) {
        cr_expect_str_eq(td_record_get_text(record, row, "variant"), td_adam_rung_name((td_adam_rung)row));
        cr_expect(td_record_get(record, row, "err_over_tol_6") <= 1);
        cr_expect(td_record_get(record, row, "err_over_tol_6") > 0, "float32 is not exact");
        cr_expect(isnan(td_record_get(record, row, "median_ms")), "the emulator has no clock");
        cr_expect_str_neq(td_record_get_text(record, row, "verdict"), "FAIL");
    }
    td_record_delete(record);
    support_folder_remove(folder);
}

Test(command_bench_adam, refuses_bad_parameters) {
    support_result r;
    support_tandem(NULL, &r, "bench-adam", "BACKEND=emulated", "STEPS=3,1");
    support_refused(&r, 2, "STEPS=3,1: must rise");
    support_tandem(NULL, &r, "bench-adam", "BACKEND=cpu");
    support_refused(&r, 2, "BACKEND=cpu: must be cuda or emulated");
    support_tandem(NULL, &r, "bench-adam", "BACKEND=emulated", "COUNT=3", "TENSORS=7");
    support_refused(&r, 2, "COUNT=3 TENSORS=7");
}

/* A check that can fail. */
Test(command_bench_adam, a_step_too_many_is_caught) {
    td_adam_trial *trial;
    td_error err = {TD_OK, ""};
    td_adam_seen seen[2];
    cr_assert_eq(td_adam_trial_new(&trial, TD_EMULATED, 300, 3, &err), TD_OK, "%s", err.message);
    const int64_t looks[] = {1, 2};
    cr_assert_eq(td_adam_trial_check(trial, TD_ADAM_FUSED, looks, 1, seen, &err), TD_OK, "%s", err.message);
    cr_expect(seen[0].err_over_tol <= 1 && seen[0].other_bits == 0);
    cr_assert_eq(td_adam_trial_step(trial, TD_ADAM_FUSED, &err), TD_OK);
    cr_assert_eq(td_adam_trial_look(trial, &seen[1], &err), TD_OK);
    cr_expect_gt(seen[1].err_over_tol, 1);
    cr_expect_gt(seen[1].other_bits, 0);
    td_adam_trial_free(trial);
}
