/* The ladder on a small shape: every rung checked and counted, each kernel's bytes beside its formula. */
#include "lesson_4.h"
#include <string.h>

/* "emu_online_tiled_f32" is of the rung "online_tiled". */
static int is_rung(const td_variant *variant, const char *rung) {
    const char *name = variant->name + strlen("emu_");
    size_t length = strlen(rung);
    return !strncmp(name, rung, length) && name[length] == '_' &&
           !strcmp(name + length + 1, td_dtype_name(variant->dtype));
}

static void counted_cells(td_record *record, const td_emulated_counts *c) {
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

/* One row a kernel of this rung: bytes by the formula, bytes as counted. They must be the same number. */
static void formula_rows(td_lesson_4 *lesson, const td_variant *variant, td_record *record) {
    const td_kernel_bytes *f;
    int64_t e = (int64_t)td_dtype_size(variant->dtype);
    for (int i = 0; (f = td_lesson_4_formula(i)); i++) {
        if (!is_rung(variant, f->variant)) continue;
        td_emulated_counts c = td_emulated_counts_of(f->kernel);
        int64_t read = f->bytes_read(&lesson->problem.attention, e),
                written = f->bytes_written(&lesson->problem.attention, e);
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
        lesson->failed += !equal;
    }
}

static td_status one(td_lesson_4 *lesson, const td_variant *variant, td_record *counts, td_record *formulas,
                     td_error *err) {
    td_check_result result;
    td_emulated_counts c;
    td_status status = td_lesson_4_count(lesson, variant, &lesson->problem, &result, &c, err);
    if (status) return status;
    td_record_row(counts);
    td_record_text(counts, "variant", variant->name);
    td_pair_comparison(counts, &result);
    if (result.verdict != TD_SKIP) {
        counted_cells(counts, &c);
        formula_rows(lesson, variant, formulas);
    }
    td_pair_verdict(counts, &result);
    lesson->failed += result.verdict == TD_FAIL;
    return TD_OK;
}

static void print(const td_record *counts, const td_record *formulas) {
    static const td_heading counted[] = {{"variant", "variant"},
                                         {"global_bytes_read", "bytes read"},
                                         {"global_bytes_written", "written"},
                                         {"sectors_per_load", "sectors/load"},
                                         {"shared_requests", "shared"},
                                         {"bank_conflicts", "conflicts"},
                                         {"barriers", "barriers"},
                                         {"shuffles", "shuffles"},
                                         {NULL, NULL}};
    static const td_heading reads[] = {{"kernel", "kernel"},        {"reads", "reads"},     {"read_formula", "formula"},
                                       {"read_counted", "counted"}, {"verdict", "verdict"}, {NULL, NULL}};
    static const td_heading writes[] = {{"kernel", "kernel"},           {"writes", "writes"},
                                        {"written_formula", "formula"}, {"written_counted", "counted"},
                                        {"verdict", "verdict"},         {NULL, NULL}};
    td_pair_print(counts);
    td_lesson_text(4, "What the emulator counts");
    td_record_print(counts, counted, stdout);
    td_lesson_text(4, "The formula beside the count");
    td_record_print(formulas, reads, stdout);
    printf("\n");
    td_record_print(formulas, writes, stdout);
}

td_status td_lesson_4_show_ladder(td_lesson_4 *lesson, td_error *err) {
    td_lesson_text(4, "The ladder");
    const td_variant *variant;
    td_record *counts = td_record_new(), *formulas = td_record_new();
    td_status status = counts && formulas ? TD_OK : td_fail(err, TD_NO_MEMORY, "no memory for the table");
    for (int i = 0; !status && (variant = td_lesson_4_rung(lesson, TD_EMULATED, i)); i++)
        status = one(lesson, variant, counts, formulas, err);
    if (!status) print(counts, formulas);
    if (!status) td_lesson_text(4, "What the counts say");
    if (!status) status = td_lesson_save(lesson->arguments, 4, counts, "ladder_counts", err);
    td_record_delete(counts), td_record_delete(formulas);
    return status;
}
