/* Rows that only a GPU can give: measured where there is one, else the recorded ones. */
#include "measured.h"
#include "recorded.h"

static td_status measure_here(const td_arguments *arguments, int number, void *lesson, const td_measurement *what,
                              td_error *err) {
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_status status = what->measure(lesson, record, err);
    if (!status) td_record_print(record, what->columns, stdout);
    if (!status)
        status = what->script ? td_lesson_plot_gpu(arguments, number, record, what->name, what->script, err)
                              : td_lesson_save_gpu(arguments, number, record, what->name, err);
    td_record_delete(record);
    return status;
}

td_status td_measured(const td_arguments *arguments, int number, void *lesson, const td_measurement *what,
                      td_error *err) {
    if (td_lesson_gpu()) return measure_here(arguments, number, lesson, what, err);
    td_recorded_show(what->name, what->columns);
    return what->script ? td_recorded_draw(arguments, number, what->name, what->script, err) : TD_OK;
}
