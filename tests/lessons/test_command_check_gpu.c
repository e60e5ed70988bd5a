/* tandem check-gpu: a row for each check, and no pass without a device. */
#include "../table.h"
#include "tandem/device.h"

Test(command_check_gpu, a_rung_of_the_emulator_passes_and_every_check_is_a_row) {
    support_result r;
    char folder[64];
    support_folder(folder);
    char out[100];
    snprintf(out, sizeof out, "OUT=%s/rows.csv", folder);
    support_tandem(NULL, &r, "check-gpu", "BACKEND=emulated", "SHAPES=few", "VARIANT=emu_online_warp_f32", out);
    cr_assert_eq(r.status, 0, "%s", r.err);
    const char *summary = strstr(r.out, "1 variants, ");
    cr_assert(summary && strstr(r.out, " 0 variants with a FAIL"), "%s", r.out);
    td_record *rows = table(folder, "rows.csv");
    int checks = 0, repeated = 0;
    for (int i = 0; i < td_record_rows(rows); i++)
        checks += strcmp(td_record_get_text(rows, i, "verdict"), "SKIP") != 0,
            repeated += !strncmp(td_record_get_text(rows, i, "fact"), "A14", 3);
    cr_assert_eq(checks, atoi(summary + strlen("1 variants, ")));
    cr_assert_gt(checks, 25);
    cr_assert_eq(repeated, 1);
    td_record_delete(rows);
    support_folder_remove(folder);
}

Test(command_check_gpu, without_a_gpu_it_skips_once_and_leaves_nothing) {
    char folder[64], none[80], out[96];
    support_result r;
    if (td_cuda_device(NULL)) cr_skip_test("this machine has a GPU");
    support_folder(folder);
    snprintf(none, sizeof none, "%s/none", folder);
    snprintf(out, sizeof out, "OUT=%s/rows.csv", none);
    support_tandem(NULL, &r, "check-gpu", out);
    support_refused(&r, 3, "SKIP: no GPU");
    cr_expect(!r.out[0] && access(none, F_OK), "said once, nothing left: %s", r.out);
    support_folder_remove(folder);
}

Test(command_check_gpu, bad_parameters_are_refused) {
    support_result r;
    support_tandem(NULL, &r, "check-gpu", "SHAPES=some");
    support_refused(&r, 2, "SHAPES=some: must be all or few");
    support_tandem(NULL, &r, "check-gpu", "BACKEND=cpu");
    support_refused(&r, 2, "BACKEND=cpu: must be cuda or emulated");
    support_tandem(NULL, &r, "check-gpu", "BACKEND=emulated", "VARIANT=dense_f32");
    support_refused(&r, 2, "VARIANT=dense_f32: is no variant");
}
