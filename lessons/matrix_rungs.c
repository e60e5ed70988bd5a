/* Counted under the emulator, timed on a GPU. */
#include "matrix_rungs.h"
#include "../checks/rungs.h"
#include "counted.h"
#include "measured.h"
#include "rungs.h"
#include <math.h>

enum { TOKENS = 16384, WIDTH = 2048, D = 128 };

static td_status count(const td_matrix_rungs *rungs, const td_variant *variant, td_record *record, td_error *err) {
    td_check_result result;
    td_emulated_counts c;
    td_status status = td_counted_check(variant, &rungs->problem, rungs->seed, &result, &c, err);
    if (status) return status;
    *rungs->failed += result.verdict == TD_FAIL;
    if (td_counted_leaves_out(variant)) return TD_OK;
    td_record_row(record);
    td_record_text(record, "variant", variant->name);
    if (result.verdict != TD_SKIP) {
        td_record_real(record, "err_over_tol", result.output[td_check_worst(&result)].err_over_tol);
        td_counted_cells(record, &c);
        td_record_int(record, "atomics", c.global_atomics);
    }
    td_record_text(record, "verdict", td_verdict_name(result.verdict));
    return TD_OK;
}

td_status td_matrix_show_counts(td_matrix_rungs *rungs, td_error *err) {
    static const td_heading columns[] = {{"variant", "variant"},
                                         {"err_over_tol", "err/tol"},
                                         {"global_bytes_read", "bytes read"},
                                         {"shared_requests", "shared"},
                                         {"bank_conflicts", "conflicts"},
                                         {"barriers", "barriers"},
                                         {"shuffles", "shuffles"},
                                         {"atomics", "atomics"},
                                         {"verdict", "verdict"},
                                         {NULL, NULL}};
    const td_variant *variant;
    td_status status = TD_OK;
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    for (int i = 0; !status && (variant = td_rung_at(rungs->problem.op, TD_EMULATED, TD_BF16, i)); i++)
        if (td_rung_on_matrix_units(variant)) status = count(rungs, variant, record, err);
    if (!status) td_record_print(record, columns, stdout);
    if (!status) status = td_lesson_save(rungs->arguments, rungs->number, record, "matrix_counts", err);
    td_record_delete(record);
    return status;
}

static td_status measure(void *of, td_record *record, td_error *err) {
    td_matrix_rungs *rungs = of;
    int64_t T = rungs->T, B = T < TOKENS ? TOKENS / T : 1;
    td_problem problem = {.op = rungs->problem.op,
                          .attention = {B, WIDTH / D, WIDTH / D, T, T, D, sqrt(1.0 / D), TD_MASK_NONE, 0}};
    return td_rungs_time(&problem, TD_BF16, td_rung_on_matrix_units, record, rungs->failed, err);
}

td_status td_matrix_show_times(td_matrix_rungs *rungs, td_error *err) {
    const td_measurement what = {rungs->recorded, NULL, td_rungs_time_columns, measure};
    return td_measured(rungs->arguments, rungs->number, rungs, &what, err);
}
