/* tandem resources: the launches of a variant's kernels, and what of them is known without a GPU. */
#include "../../checks/operations.h"
#include "../table.h"
#include <math.h>

static const td_variant *first_emulated(void) {
    for (int i = 0; td_variant_at(i); i++)
        if (td_variant_at(i)->backend == TD_EMULATED && td_variant_at(i)->op == TD_OP_ATTENTION_FORWARD)
            return td_variant_at(i);
    return NULL;
}

Test(command_resources, an_emulated_launch_has_a_shape_and_no_registers) {
    char folder[64], out[96], variant[64];
    const td_variant *v = first_emulated();
    if (!v) cr_skip_test("this build has no emulated kernels");
    support_folder(folder);
    snprintf(out, sizeof out, "OUT=%s/resources.csv", folder);
    snprintf(variant, sizeof variant, "VARIANT=%s", v->name);
    support_result r;
    support_tandem(NULL, &r, "resources", variant, "T=9", "D=8", "H=1", out);
    cr_assert_eq(r.status, 0, "%s", r.err);
    td_record *record = table(folder, "resources.csv");
    cr_assert_gt(td_record_rows(record), 0);
    for (int row = 0; row < td_record_rows(record); row++) {
        cr_expect_str_eq(td_record_get_text(record, row, "variant"), v->name);
        cr_expect_eq(td_record_get(record, row, "launches"), 1);
        cr_expect(strlen(td_record_get_text(record, row, "kernel")) > 0);
        cr_expect(isnan(td_record_get(record, row, "registers")), "nobody knows them here");
        cr_expect(isnan(td_record_get(record, row, "occupancy_percent")));
        cr_expect(td_record_get(record, row, "global_bytes_read") > 0);
        cr_expect(td_record_get(record, row, "global_load_sectors") > 0);
    }
    td_record_delete(record);
    support_folder_remove(folder);
}

Test(command_resources, refuses_what_has_no_kernels) {
    char folder[64];
    support_folder(folder);
    support_child there = {.folder = folder};
    support_result r;
    support_tandem(&there, &r, "resources", "VARIANT=dense_f32");
    support_refused(&r, 2, "VARIANT=dense_f32: runs on the CPU");
    support_tandem(&there, &r, "resources", "OP=gemm");
    support_refused(&r, 2, "OP=gemm: must be attention_forward or attention_backward");
    support_folder_remove(folder);
}
