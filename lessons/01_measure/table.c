/* What the sections share: a table, a timing as cells (never without its spread, least value and number of runs), and
 * a delay to plant. */
#include "lesson_1.h"
#include <time.h>

void td_lesson_1_table(const td_record *record, const td_heading *columns) {
    printf("\n");
    td_record_print(record, columns, stdout);
    printf("\n");
}

void td_lesson_1_timing_cells(td_record *record, const td_timing *timing) {
    td_record_real(record, "median_ms", 1e3 * timing->median);
    td_record_real(record, "iqr_ms", 1e3 * (timing->q3 - timing->q1));
    td_record_real(record, "q1_ms", 1e3 * timing->q1);
    td_record_real(record, "q3_ms", 1e3 * timing->q3);
    td_record_real(record, "min_ms", 1e3 * timing->min);
    td_record_real(record, "mean_ms", 1e3 * timing->mean);
    td_record_real(record, "max_ms", 1e3 * timing->max);
    td_record_int(record, "n", timing->runs);
}

void td_lesson_1_sleep(double seconds) {
    struct timespec t = {.tv_sec = (time_t)seconds};
    t.tv_nsec = (long)(1e9 * (seconds - (double)t.tv_sec));
    nanosleep(&t, NULL);
}
