/* Results of a machine that is not here, from plots/recorded/: shown as what they are, never as measured now. */
#ifndef TANDEM_LESSON_RECORDED_H
#define TANDEM_LESSON_RECORDED_H

#include "lesson.h"
#include "tandem/device.h"

/* The GPU, named in a line that is printed; or NULL after a line that says SKIP and why. */
const td_device *td_lesson_gpu(void);
/* What plots/recorded/<name>.csv is, in a line; its rows, which the caller deletes. Else SKIP and the reason. */
td_status td_recorded_open(const char *name, td_record **out);
/* What plots/recorded/<name>.csv is, then its rows; SKIP with the reason where it cannot be shown. */
void td_recorded_show(const char *name, const td_heading *columns);
/* Draw it like a lesson's own CSV, under the name recorded_<name>: nothing where it cannot be shown. */
td_status td_recorded_draw(const td_arguments *arguments, int number, const char *name, const char *script,
                           td_error *err);

#endif
