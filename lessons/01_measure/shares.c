/* Amdahl's limit for each part, computed from its share, then tested by leaving the part out. */
#include "../../checks/amdahl.h"
#include "parts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static td_status part_row(td_record *record, const td_timing *step, const td_part *part, td_error *err) {
    double share = part->forward + part->backward, limit, seconds;
    td_status status = td_amdahl_speedup(share, INFINITY, &limit, err);
    if (!status) status = td_amdahl_seconds(step->median, share, INFINITY, &seconds, err);
    if (status) return status;
    td_record_row(record);
    td_record_text(record, "part", part->name);
    if (part->operation) {
        td_record_real(record, "forward_percent", 100 * part->forward);
        td_record_real(record, "backward_percent", 100 * part->backward);
    }
    td_record_real(record, "share_percent", 100 * share);
    td_record_real(record, "limit", limit);
    td_record_real(record, "predicted_ms", 1e3 * seconds);
    td_record_real(record, "measured_ms", 1e3 * step->median * part->without.median);
    td_record_real(record, "iqr_ms", 1e3 * step->median * (part->without.q3 - part->without.q1));
    td_record_real(record, "measured_speedup", 1 / part->without.median);
    td_record_real(record, "measured_low", 1 / part->without.q3);
    td_record_real(record, "measured_high", 1 / part->without.q1);
    return TD_OK;
}

/* The largest first: the table answers what to work on. */
static int larger(const void *a, const void *b) {
    const td_part *p = a, *q = b;
    double x = p->forward + p->backward, y = q->forward + q->backward;
    return (x < y) - (x > y);
}

static td_status fill(td_record *record, const td_parts *parts, td_error *err) {
    td_status status = TD_OK;
    for (int i = 0; !status && i < parts->count; i++) status = part_row(record, &parts->step, &parts->part[i], err);
    td_record_row(record);
    td_record_text(record, "part", "between parts");
    td_record_real(record, "share_percent", 100 * parts->between);
    return status;
}

static void say(const td_record *record, const td_parts *parts) {
    int worst = 0, rows = td_record_rows(record) - 1;
    double sum = 0, largest = 0, whole = 1e3 * parts->step.median;
    for (int row = 0; row < rows; row++) {
        double gap = fabs(td_record_get(record, row, "measured_ms") - td_record_get(record, row, "predicted_ms"));
        sum += td_record_get(record, row, "share_percent");
        if (gap > largest) largest = gap, worst = row;
    }
    td_lesson_say(
        "The whole step: median %.3g ms, IQR %.2g ms, n = %d. The parts' shares sum to %.2f %%; the other %.2f "
        "%% lies between them. A part was left out in both passes.",
        1e3 * parts->step.median, 1e3 * (parts->step.q3 - parts->step.q1), parts->step.runs, sum, 100 * parts->between);
    td_lesson_say(
        "The prediction is furthest off for %s: %.3g ms predicted, %.3g ms measured, %.1f %% of a whole step apart, "
        "where the measurement's IQR is %.1f %%. A gap within the IQR is noise; one above it, in run after run, says "
        "that the parts are not independent: one that is left out no longer warms, or empties, the cache for its "
        "neighbours.",
        td_record_get_text(record, worst, "part"), td_record_get(record, worst, "predicted_ms"),
        td_record_get(record, worst, "measured_ms"), 100 * largest / whole,
        100 * td_record_get(record, worst, "iqr_ms") / whole);
}

td_status td_lesson_1_show_shares(td_lesson_1 *lesson, td_error *err) {
    static const td_heading columns[] = {{"part", "part"},
                                         {"forward_percent", "forward %"},
                                         {"backward_percent", "backward %"},
                                         {"share_percent", "share %"},
                                         {"limit", "limit ×"},
                                         {"measured_speedup", "measured ×"},
                                         {"predicted_ms", "predicted ms"},
                                         {"measured_ms", "measured ms"},
                                         {"iqr_ms", "IQR ms"},
                                         {NULL, NULL}};
    td_lesson_text(1, "Where the time goes");
    td_parts parts;
    td_status status = td_parts_measure(lesson, &parts, err);
    if (status) return status;
    qsort(parts.part, (size_t)parts.count, sizeof *parts.part, larger);
    for (int i = 0; i < parts.count; i++)
        if (!strcmp(parts.part[i].name, "attention"))
            lesson->attention = parts.part[i].forward + parts.part[i].backward;
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    status = fill(record, &parts, err);
    if (!status) {
        td_lesson_1_table(record, columns);
        say(record, &parts);
        status = td_lesson_plot(lesson->arguments, 1, record, "amdahl", "amdahl", err);
    }
    td_record_delete(record);
    return status;
}
