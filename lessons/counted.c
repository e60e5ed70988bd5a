/* A check with the emulator counting, and the log of launches on; and the counts held against formulas. */
#include "counted.h"
#include "../gpu/launches.h"
#include "lesson.h"
#include <string.h>

td_status td_counted_check(const td_variant *variant, const td_problem *problem, uint64_t seed, td_check_result *result,
                           td_emulated_counts *counts, td_error *err) {
    td_check_options options = td_check_defaults(variant);
    options.seed = seed;
    td_emulated_counts_reset();
    td_emulated_counting(1);
    td_launch_log(1);
    td_status status = td_check(variant, problem, &options, NULL, result, err);
    td_launch_log(0);
    td_emulated_counting(0);
    *counts = td_emulated_counts_of(NULL);
    return status;
}

void td_counted_cells(td_record *record, const td_emulated_counts *c) {
    td_record_int(record, "global_bytes_read", c->global_bytes_read);
    td_record_int(record, "global_bytes_written", c->global_bytes_written);
    if (c->global_load_requests)
        td_record_real(record, "sectors_per_load", (double)c->global_load_sectors / (double)c->global_load_requests);
    if (c->global_store_requests)
        td_record_real(record, "sectors_per_store", (double)c->global_store_sectors / (double)c->global_store_requests);
    td_record_int(record, "shared_requests", c->shared_load_requests + c->shared_store_requests);
    td_record_int(record, "bank_conflicts", c->shared_load_conflicts + c->shared_store_conflicts);
    td_record_int(record, "barriers", c->barriers);
    td_record_int(record, "shuffles", c->shuffles);
}

int td_counted_is_rung(const td_variant *variant, const char *rung) {
    const char *name = variant->name + strlen("emu_");
    size_t length = strlen(rung);
    return !strncmp(name, rung, length) && name[length] == '_' &&
           !strcmp(name + length + 1, td_dtype_name(variant->dtype));
}

/* Rungs that others leave a problem to, each with a kernel that is its alone. */
const char *td_counted_lower_rung(const td_variant *variant) {
    static const char *const lower[][2] = {{"mma<", "mma"},
                                           {"two_pass_keys<", "backward_two_pass"},
                                           {"two_pass_queries<", "backward_two_pass"},
                                           {"mma_keys<", "backward_mma_two_pass"},
                                           {"mma_queries<", "backward_mma_two_pass"}};
    for (int i = 0; i < td_launch_notes(); i++)
        for (size_t k = 0; k < sizeof lower / sizeof *lower; k++)
            if (!strncmp(td_launch_note_at(i)->kernel, lower[k][0], strlen(lower[k][0])) &&
                !td_counted_is_rung(variant, lower[k][1]))
                return lower[k][1];
    return NULL;
}

int td_counted_leaves_out(const td_variant *variant) {
    const char *lower = td_counted_lower_rung(variant);
    if (lower) td_lesson_say("%s runs %s here: no row of its own.", variant->name, lower);
    return lower != NULL;
}

void td_counted_formulas(const td_kernel_bytes *table, const td_variant *variant, const td_attention_problem *a,
                         td_record *record, int *failed) {
    int64_t e = (int64_t)td_dtype_size(variant->dtype);
    for (const td_kernel_bytes *f = table; f->variant; f++) {
        if (!td_counted_is_rung(variant, f->variant)) continue;
        td_emulated_counts c = td_emulated_counts_of(f->kernel);
        int64_t read = f->bytes_read(a, e), written = f->bytes_written(a, e);
        int equal =
            (c.launches > 0 || read + written == 0) && c.global_bytes_read == read && c.global_bytes_written == written;
        td_record_row(record);
        td_record_text(record, "kernel", f->kernel);
        td_record_text(record, "reads", f->read);
        td_record_int(record, "read_formula", read);
        td_record_int(record, "read_counted", c.global_bytes_read);
        td_record_text(record, "writes", f->written);
        td_record_int(record, "written_formula", written);
        td_record_int(record, "written_counted", c.global_bytes_written);
        td_record_text(record, "verdict", equal ? "equal" : "FAIL");
        *failed += !equal;
    }
}

void td_counted_print_formulas(const td_record *record) {
    static const td_heading reads[] = {{"kernel", "kernel"},        {"reads", "reads"},     {"read_formula", "formula"},
                                       {"read_counted", "counted"}, {"verdict", "verdict"}, {NULL, NULL}};
    static const td_heading writes[] = {{"kernel", "kernel"},           {"writes", "writes"},
                                        {"written_formula", "formula"}, {"written_counted", "counted"},
                                        {"verdict", "verdict"},         {NULL, NULL}};
    td_record_print(record, reads, stdout);
    printf("\n");
    td_record_print(record, writes, stdout);
}
