/* The ladder on a GPU: every rung checked, timed, and placed beside the rung before it. */
#include "../measured.h"
#include "../rungs.h"
#include "lesson_4.h"

static td_status measure(void *of, td_record *record, td_error *err) {
    td_lesson_4 *lesson = of;
    return td_rungs_time(&lesson->large, lesson->dtype, NULL, record, &lesson->failed, err);
}

td_status td_lesson_4_show_ladder_gpu(td_lesson_4 *lesson, td_error *err) {
    static const td_measurement what = {"gpu_forward_ladder", NULL, td_rungs_time_columns, measure};
    td_lesson_text(4, "The same rungs on a GPU");
    return td_measured(lesson->arguments, 4, lesson, &what, err);
}
