/* Bucket sizes: foretold, and measured. */
#include "lesson_6.h"
#include <math.h>
#include <string.h>

/* One row a cap, foretold or measured or both, smallest first: the CSV of the plot. */
static td_record *merged(const td_record *times, td_error *err) {
    td_record *rows = td_record_new();
    if (!rows) td_fail(err, TD_NO_MEMORY, "no memory for the table");
    for (double last = 0; rows;) {
        double next = INFINITY;
        for (int r = 0; r < td_record_rows(times); r++) {
            const char *part = td_record_get_text(times, r, "part");
            double cap = td_record_get(times, r, "cap_bytes");
            if ((!strcmp(part, "caps") || !strcmp(part, "foretold")) && cap > last) next = fmin(next, cap);
        }
        if (isinf(next)) break;
        td_record_row(rows);
        td_record_real(rows, "cap_kib", next / 1024);
        for (int r = 0; r < td_record_rows(times); r++) {
            const char *part = td_record_get_text(times, r, "part");
            if (td_record_get(times, r, "cap_bytes") != next || (strcmp(part, "caps") && strcmp(part, "foretold")))
                continue;
            td_record_int(rows, "buckets", (int64_t)td_record_get(times, r, "buckets"));
            td_record_real(rows, "foretold_ms", td_record_get(times, r, "foretold_ms"));
            if (strcmp(part, "caps")) continue;
            td_record_real(rows, "step_ms", td_record_get(times, r, "step_ms"));
            td_record_real(rows, "step_low_ms", td_record_get(times, r, "step_low_ms"));
            td_record_real(rows, "step_high_ms", td_record_get(times, r, "step_high_ms"));
            td_record_real(rows, "schedule_ms", td_record_get(times, r, "schedule_ms"));
        }
        td_record_text(rows, "link", td_record_get_text(times, 0, "link"));
        td_record_real(rows, "alpha_us", 1e6 * td_record_get(times, 0, "alpha_s"));
        td_record_real(rows, "beta_mb_per_s", 1e-6 * td_record_get(times, 0, "beta_bytes_per_s"));
        last = next;
    }
    return rows;
}

td_status td_lesson_6_show_buckets(td_lesson_6 *lesson, td_error *err) {
    static const td_heading columns[] = {{"cap_kib", "cap, KiB"},         {"buckets", "buckets"},
                                         {"foretold_ms", "foretold, ms"}, {"schedule_ms", "schedule"},
                                         {"step_ms", "measured"},         {"step_low_ms", "quartile 1"},
                                         {"step_high_ms", "quartile 3"},  {NULL, NULL}};
    td_lesson_text(6, "How large a bucket");
    if (!lesson->times) {
        td_lesson_say("SKIP: nothing was measured above");
        return TD_OK;
    }
    td_record *rows = merged(lesson->times, err);
    if (!rows) return TD_NO_MEMORY;
    printf("\n");
    td_record_print(rows, columns, stdout);
    td_status status = td_lesson_plot(lesson->arguments, 6, rows, "ddp_buckets", "ddp_buckets", err);
    if (!status) td_lesson_text(6, "What the sizes say");
    td_record_delete(rows);
    return status;
}
