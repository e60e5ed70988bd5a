/* Backward's ladder: every rung checked output by output and counted under the emulator; timed on a GPU. */
#include "../measured.h"
#include "../rungs.h"
#include "lesson_5.h"

/* One row an output: what each is off by. */
static void output_rows(const td_variant *variant, const td_check_result *result, td_record *record) {
    for (int k = 0; k < result->outputs; k++) {
        const td_comparison *c = &result->output[k];
        char where[64];
        snprintf(where, sizeof where, "%s(%lld,%lld,%lld,%lld)", result->output_name[k], (long long)c->worst[0],
                 (long long)c->worst[1], (long long)c->worst[2], (long long)c->worst[3]);
        td_record_row(record);
        td_record_text(record, "variant", variant->name);
        td_record_text(record, "output", result->output_name[k]);
        td_record_real(record, "err_over_tol", c->err_over_tol);
        td_record_text(record, "worst", where);
        td_record_real(record, "got", c->got);
        td_record_real(record, "want", c->want);
        td_record_real(record, "rel_l2", c->rel_l2);
        td_record_text(record, "verdict", td_verdict_name(c->verdict));
    }
    if (result->verdict != TD_SKIP) return;
    td_record_row(record);
    td_record_text(record, "variant", variant->name);
    td_record_text(record, "verdict", result->reason);
}

static void count_row(td_lesson_5 *lesson, const td_variant *variant, const td_emulated_counts *c, td_record *record) {
    int64_t expected = td_lesson_5_atomics(variant, &lesson->problem.attention);
    td_record_row(record);
    td_record_text(record, "variant", variant->name);
    td_counted_cells(record, c);
    td_record_int(record, "atomics_formula", expected);
    td_record_int(record, "atomics", c->global_atomics);
    td_record_text(record, "verdict", expected == c->global_atomics ? "equal" : "FAIL");
    lesson->failed += expected != c->global_atomics;
}

typedef struct tables {
    td_record *outputs, *counts, *formulas;
} tables;

static td_status rows(td_lesson_5 *lesson, const tables *t, td_error *err) {
    const td_variant *variant;
    const td_attention_problem *a = &lesson->problem.attention;
    for (int i = 0; (variant = td_rung_at(TD_OP_ATTENTION_BACKWARD, TD_EMULATED, lesson->dtype, i)); i++) {
        td_check_result result;
        td_emulated_counts c;
        td_status status = td_counted_check(variant, &lesson->problem, lesson->seed, &result, &c, err);
        if (status) return status;
        lesson->failed += result.verdict == TD_FAIL;
        if (td_counted_leaves_out(variant)) continue;
        output_rows(variant, &result, t->outputs);
        if (result.verdict == TD_SKIP) continue;
        count_row(lesson, variant, &c, t->counts);
        td_counted_formulas(td_lesson_5_formulas, variant, a, t->formulas, &lesson->failed);
    }
    return TD_OK;
}

static void print(const tables *t) {
    static const td_heading checked[] = {{"variant", "variant"},
                                         {"err_over_tol", "err/tol"},
                                         {"worst", "worst (b,h,t,d)"},
                                         {"got", "got"},
                                         {"want", "want"},
                                         {"verdict", "verdict"},
                                         {NULL, NULL}};
    static const td_heading counted[] = {{"variant", "variant"},
                                         {"global_bytes_read", "bytes read"},
                                         {"global_bytes_written", "written"},
                                         {"atomics_formula", "atomics: formula"},
                                         {"atomics", "counted"},
                                         {"verdict", "verdict"},
                                         {NULL, NULL}};
    td_record_print(t->outputs, checked, stdout);
    td_lesson_text(5, "What the rungs ask of memory");
    td_record_print(t->counts, counted, stdout);
    printf("\n");
    td_counted_print_formulas(t->formulas);
    td_lesson_text(5, "What the counts say");
}

static td_status measure(void *of, td_record *record, td_error *err) {
    td_lesson_5 *lesson = of;
    return td_rungs_time(&lesson->large, lesson->dtype, NULL, record, &lesson->failed, err);
}

td_status td_lesson_5_show_ladder(td_lesson_5 *lesson, td_error *err) {
    static const td_measurement what = {"gpu_backward_ladder", NULL, td_rungs_time_columns, measure};
    td_lesson_text(5, "The ladder");
    tables t = {td_record_new(), td_record_new(), td_record_new()};
    td_status status = t.outputs && t.counts && t.formulas ? rows(lesson, &t, err)
                                                           : td_fail(err, TD_NO_MEMORY, "no memory for the tables");
    if (!status) {
        print(&t);
        status = td_lesson_save(lesson->arguments, 5, t.outputs, "ladder_outputs", err);
    }
    if (!status) status = td_lesson_save(lesson->arguments, 5, t.counts, "ladder_counts", err);
    td_record_delete(t.outputs), td_record_delete(t.counts), td_record_delete(t.formulas);
    if (status) return status;
    td_lesson_text(5, "The same rungs on a GPU");
    return td_measured(lesson->arguments, 5, lesson, &what, err);
}
