/* Two GPUs, recorded. */
#include "../recorded.h"
#include "lesson_6.h"

td_status td_lesson_6_show_gpu(td_lesson_6 *lesson, td_error *err) {
    static const td_heading columns[] = {
        {"scheme", "scheme"},      {"cap_bytes", "cap bytes"},     {"buckets", "buckets"},
        {"alone_ms", "alone ms"},  {"bound_ms", "bound ms"},       {"step_ms", "step ms"},
        {"exposed_ms", "exposed"}, {"step_over_bound", "/ bound"}, {NULL, NULL}};
    (void)lesson, (void)err;
    td_lesson_text(6, "The same on two GPUs");
    td_recorded_show("gpu_ranks", columns);
    return TD_OK;
}
