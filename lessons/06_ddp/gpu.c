/* Two GPUs, recorded: the schemes, and PyTorch's DistributedDataParallel in the same run. */
#include "../recorded.h"
#include "lesson_6.h"

/* Of the recorded schemes what the table shows, with the cap in MiB; without one: "-". */
static td_status in_mib(const td_record *recorded, td_record *rows, td_error *err) {
    static const char *const times[] = {"buckets", "alone_ms", "bound_ms", "step_ms", "exposed_ms"};
    if (!rows) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    for (int r = 0; r < td_record_rows(recorded); r++) {
        double cap = td_record_get(recorded, r, "cap_bytes");
        td_record_row(rows);
        td_record_text(rows, "scheme", td_record_get_text(recorded, r, "scheme"));
        if (cap > 0) td_record_real(rows, "cap_mib", cap / 0x1p20);
        for (size_t i = 0; i < sizeof times / sizeof *times; i++)
            td_record_real(rows, times[i], td_record_get(recorded, r, times[i]));
    }
    return TD_OK;
}

static td_status show_schemes(td_error *err) {
    static const td_heading columns[] = {
        {"scheme", "scheme"},     {"cap_mib", "cap, MiB"}, {"buckets", "buckets"},    {"alone_ms", "alone, ms"},
        {"bound_ms", "schedule"}, {"step_ms", "measured"}, {"exposed_ms", "exposed"}, {NULL, NULL}};
    td_record *recorded, *rows;
    if (td_recorded_open("gpu_ranks", &recorded)) return TD_OK;
    rows = td_record_new();
    td_status status = in_mib(recorded, rows, err);
    if (!status) {
        td_record_print(rows, columns, stdout);
        printf("\n  data: plots/recorded/gpu_ranks.csv\n\n");
    }
    td_record_delete(rows), td_record_delete(recorded);
    return status;
}

td_status td_lesson_6_show_gpu(td_lesson_6 *lesson, td_error *err) {
    static const td_heading peers[] = {{"peer", "PyTorch"},
                                       {"cap_mb", "cap, MB"},
                                       {"bucket_view", "views"},
                                       {"step_ms", "measured, ms"},
                                       {NULL, NULL}};
    (void)lesson;
    td_lesson_text(6, "The same on two GPUs");
    td_status status = show_schemes(err);
    if (!status) td_recorded_show("gpu_ddp_peers", peers);
    return status;
}
