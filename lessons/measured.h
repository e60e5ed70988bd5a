/* Rows that only a GPU can give: measured where there is one, else the recorded ones. */
#ifndef TANDEM_LESSON_MEASURED_H
#define TANDEM_LESSON_MEASURED_H

#include "lesson.h"

/* Where there is a GPU, `measure` fills the record, which is printed and written to <out>/lesson-N/<name>.csv; else
 * plots/recorded/<name>.csv is shown, as recorded, or SKIP with the reason. `script`: the plot that is drawn of it,
 * NULL = none. */
typedef struct td_measurement {
    const char *name, *script;
    const td_heading *columns;
    td_status (*measure)(void *lesson, td_record *record, td_error *err);
} td_measurement;
td_status td_measured(const td_arguments *arguments, int number, void *lesson, const td_measurement *what,
                      td_error *err);

#endif
