/* One set of runs, seen twice: as it was, and with interruptions planted. */
#include "lesson_1.h"
#include <stdlib.h>

enum { EVERY = 25, TIMES = 10 };

/* The clock is read before the planted sleep and after it, so both columns come from the same runs. */
static td_status sample(td_lesson_1 *lesson, int n, int every, double *plain, double *interrupted, td_error *err) {
    double forward = lesson->first_forward[TD_LESSON_1_FIRST - 1];
    for (int i = 0; i < n; i++) {
        double start = td_now();
        td_status status = td_lesson_1_forward(lesson, err);
        if (status) return status;
        plain[i] = td_now() - start;
        if (i % every == every - 1) td_lesson_1_sleep(TIMES * forward);
        interrupted[i] = td_now() - start;
    }
    return TD_OK;
}

static td_status show(td_lesson_1 *lesson, int every, double *plain, double *interrupted, int n, td_error *err) {
    static const td_heading columns[] = {{"runs", "forward runs"},
                                         {"mean_ms", "mean ms"},
                                         {"median_ms", "median ms"},
                                         {"iqr_ms", "IQR ms"},
                                         {"min_ms", "min ms"},
                                         {"max_ms", "max ms"},
                                         {"n", "n"},
                                         {NULL, NULL}};
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_timing quiet, disturbed;
    td_timing_from(plain, n, &quiet);
    td_timing_from(interrupted, n, &disturbed);
    char planted[64];
    snprintf(planted, sizeof planted, "1 run in %d interrupted", every);
    td_record_row(record);
    td_record_text(record, "runs", "as they were");
    td_lesson_1_timing_cells(record, &quiet);
    td_record_row(record);
    td_record_text(record, "runs", planted);
    td_lesson_1_timing_cells(record, &disturbed);
    td_lesson_1_table(record, columns);
    td_lesson_say("The interruptions moved the mean by %+.1f %%, the median by %+.1f %%, the least value by %+.1f %%.",
                  100 * (disturbed.mean / quiet.mean - 1), 100 * (disturbed.median / quiet.median - 1),
                  100 * (disturbed.min / quiet.min - 1));
    td_status status = td_lesson_save(lesson->arguments, 1, record, "mean_and_median", err);
    td_record_delete(record);
    return status;
}

td_status td_lesson_1_show_mean(td_lesson_1 *lesson, td_error *err) {
    td_lesson_text(1, "What a mean hides");
    int n = (int)(2 * lesson->steps), every = n < EVERY ? n : EVERY;
    double *seconds = malloc(2 * (size_t)n * sizeof *seconds);
    if (!seconds) return td_fail(err, TD_NO_MEMORY, "no memory for %d samples", n);
    td_status status = sample(lesson, n, every, seconds, seconds + n, err);
    if (!status) status = show(lesson, every, seconds, seconds + n, n, err);
    free(seconds);
    return status;
}
