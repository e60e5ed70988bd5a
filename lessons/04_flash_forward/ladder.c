/* The ladder on a small shape: every rung checked and counted, each kernel's bytes beside its formula. */
#include "../rungs.h"
#include "lesson_4.h"

static td_status one(td_lesson_4 *lesson, const td_variant *variant, td_record *counts, td_record *formulas,
                     td_error *err) {
    td_check_result result;
    td_emulated_counts c;
    td_status status = td_counted_check(variant, &lesson->problem, lesson->seed, &result, &c, err);
    if (status) return status;
    lesson->failed += result.verdict == TD_FAIL;
    if (td_counted_leaves_out(variant)) return TD_OK;
    td_record_row(counts);
    td_record_text(counts, "variant", variant->name);
    td_pair_comparison(counts, &result);
    if (result.verdict != TD_SKIP) {
        td_counted_cells(counts, &c);
        td_counted_formulas(td_lesson_4_formulas, variant, &lesson->problem.attention, formulas, &lesson->failed);
    }
    td_pair_verdict(counts, &result);
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
    td_pair_print(counts);
    td_lesson_text(4, "What the emulator counts");
    td_record_print(counts, counted, stdout);
    td_lesson_text(4, "The formula beside the count");
    td_counted_print_formulas(formulas);
}

td_status td_lesson_4_show_ladder(td_lesson_4 *lesson, td_error *err) {
    td_lesson_text(4, "The ladder");
    const td_variant *variant;
    td_record *counts = td_record_new(), *formulas = td_record_new();
    td_status status = counts && formulas ? TD_OK : td_fail(err, TD_NO_MEMORY, "no memory for the table");
    for (int i = 0; !status && (variant = td_rung_at(TD_OP_ATTENTION_FORWARD, TD_EMULATED, lesson->dtype, i)); i++)
        status = one(lesson, variant, counts, formulas, err);
    if (!status) print(counts, formulas);
    if (!status) td_lesson_text(4, "What the counts say");
    if (!status) status = td_lesson_save(lesson->arguments, 4, counts, "ladder_counts", err);
    td_record_delete(counts), td_record_delete(formulas);
    return status;
}
