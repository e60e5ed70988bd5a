/* The same work, timed to the end of the submission and to the end of the work. */
#include "../../checks/queue.h"
#include "lesson_1.h"
#include <stdlib.h>

enum { TOGETHER = 4 };

const td_heading td_lesson_1_clock_columns[] = {{"clock_read", "clock read"},
                                                {"median_ms", "median ms"},
                                                {"iqr_ms", "IQR ms"},
                                                {"min_ms", "min ms"},
                                                {"n", "n"},
                                                {NULL, NULL}};

static td_status forward(void *context, td_error *err) {
    return td_lesson_1_forward(context, err);
}

/* Seconds until the submissions returned, and until their work was done. */
static td_status timed(td_lesson_1 *lesson, td_queue *queue, int submissions, double *returned, double *done,
                       td_error *err) {
    double start = td_now();
    for (int i = 0; i < submissions; i++) td_queue_submit(queue, forward, lesson);
    *returned = td_now() - start;
    td_status status = td_queue_synchronize(queue, err);
    *done = td_now() - start;
    return status;
}

static td_status sample(td_lesson_1 *lesson, td_queue *queue, double *seconds, td_timing timing[3], td_error *err) {
    int n = (int)lesson->steps;
    double unused, all, *returned = seconds, *done = seconds + n, *each = seconds + 2 * n;
    td_status status = timed(lesson, queue, 1, &unused, &unused, err); /* starts the worker's own threads */
    for (int i = 0; !status && i < n; i++) status = timed(lesson, queue, 1, &returned[i], &done[i], err);
    int batches = (n + TOGETHER - 1) / TOGETHER;
    for (int i = 0; !status && i < batches; i++) {
        status = timed(lesson, queue, TOGETHER, &unused, &all, err);
        each[i] = all / TOGETHER;
    }
    if (status) return status;
    td_timing_from(returned, n, &timing[0]);
    td_timing_from(done, n, &timing[1]);
    td_timing_from(each, batches, &timing[2]);
    return TD_OK;
}

td_status td_lesson_1_clocks(td_record *record, const td_timing *timing, const char *const *stopped, int count,
                             td_error *err) {
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    for (int i = 0; i < count; i++) {
        td_record_row(record);
        td_record_text(record, "clock_read", stopped[i]);
        td_lesson_1_timing_cells(record, &timing[i]);
    }
    td_lesson_1_table(record, td_lesson_1_clock_columns);
    td_lesson_say("Each clock saw the same work. The one without a sync claims to be %.0f times as fast.",
                  timing[1].median / timing[0].median);
    return TD_OK;
}

static td_status show(td_lesson_1 *lesson, const td_timing timing[3], td_error *err) {
    static const char *const stopped[] = {"when the submission returns", "after a sync",
                                          "after a sync for every 4, per run"};
    td_record *record = td_record_new();
    td_status status = td_lesson_1_clocks(record, timing, stopped, 3, err);
    if (!status) status = td_lesson_save(lesson->arguments, 1, record, "boundary", err);
    td_record_delete(record);
    return status;
}

td_status td_lesson_1_show_boundary(td_lesson_1 *lesson, td_error *err) {
    td_lesson_text(1, "The boundary");
    td_queue *queue;
    td_status status = td_queue_new(&queue, err);
    if (status) return status;
    td_timing timing[3];
    double *seconds = malloc(3 * (size_t)lesson->steps * sizeof *seconds);
    status = seconds ? sample(lesson, queue, seconds, timing, err)
                     : td_fail(err, TD_NO_MEMORY, "no memory for %lld samples", (long long)lesson->steps);
    td_queue_delete(queue);
    free(seconds);
    return status ? status : show(lesson, timing, err);
}
