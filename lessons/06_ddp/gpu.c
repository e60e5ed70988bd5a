/* Two GPUs, recorded: the schemes, and PyTorch's DistributedDataParallel in the same run. */
#include "../recorded.h"
#include "lesson_6.h"

td_status td_lesson_6_show_gpu(td_lesson_6 *lesson, td_error *err) {
    static const td_heading schemes[] = {
        {"scheme", "scheme"},     {"cap_bytes", "cap, bytes"}, {"buckets", "buckets"},    {"alone_ms", "alone, ms"},
        {"bound_ms", "schedule"}, {"step_ms", "measured"},     {"exposed_ms", "exposed"}, {NULL, NULL}};
    static const td_heading peers[] = {{"peer", "PyTorch"},      {"cap_mb", "cap, MB"},       {"bucket_view", "views"},
                                       {"compiled", "compiled"}, {"step_ms", "measured, ms"}, {NULL, NULL}};
    (void)lesson, (void)err;
    td_lesson_text(6, "The same on two GPUs");
    td_recorded_show("gpu_ranks", schemes);
    printf("\n");
    td_recorded_show("gpu_ddp_peers", peers);
    return TD_OK;
}
