/* Rows that only a GPU can give: measured where there is one, else the recorded ones. */
#include "../recorded.h"
#include "lesson_4.h"

static td_status measure_here(td_lesson_4 *lesson, const td_measurement *what, td_error *err) {
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_status status = what->measure(lesson, record, err);
    if (!status) td_record_print(record, what->columns, stdout);
    if (!status)
        status = what->script ? td_lesson_plot_gpu(lesson->arguments, 4, record, what->name, what->script, err)
                              : td_lesson_save_gpu(lesson->arguments, 4, record, what->name, err);
    td_record_delete(record);
    return status;
}

td_status td_lesson_4_measured(td_lesson_4 *lesson, const td_measurement *what, td_error *err) {
    if (td_lesson_gpu()) return measure_here(lesson, what, err);
    td_recorded_show(what->name, what->columns);
    return what->script ? td_recorded_draw(lesson->arguments, 4, what->name, what->script, err) : TD_OK;
}
