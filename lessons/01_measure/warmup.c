/* The first runs, one by one: of a fresh buffer, and of the model. */
#include "lesson_1.h"
#include <stdlib.h>
#include <string.h>

enum { BUFFER_MIB = 128 };

/* A buffer of this size comes from the system as promised pages: none exists before it is written. */
static td_status touch(double seconds[TD_LESSON_1_FIRST], td_error *err) {
    size_t bytes = (size_t)BUFFER_MIB << 20;
    volatile unsigned char *buffer = malloc(bytes);
    if (!buffer) return td_fail(err, TD_NO_MEMORY, "no memory for a buffer of %d MiB", BUFFER_MIB);
    for (int i = 0; i < TD_LESSON_1_FIRST; i++) {
        double start = td_now();
        memset((void *)buffer, i + 1, bytes);
        (void)buffer[bytes / 2]; /* volatile: the writes must have happened */
        seconds[i] = td_now() - start;
    }
    free((void *)buffer);
    return TD_OK;
}

/* The median of the later half stands for the steady state. */
static double steady(const double *seconds) {
    double later[TD_LESSON_1_FIRST / 2];
    memcpy(later, seconds + TD_LESSON_1_FIRST / 2, sizeof later);
    td_sort(later, TD_LESSON_1_FIRST / 2);
    return td_quantile(later, TD_LESSON_1_FIRST / 2, 0.5);
}

td_status td_lesson_1_show_warmup(td_lesson_1 *lesson, td_error *err) {
    static const td_heading columns[] = {{"run", "run"},
                                         {"buffer_ms", "write 128 MiB, ms"},
                                         {"buffer_gb_per_s", "GB/s"},
                                         {"buffer_ratio", "of steady"},
                                         {"forward_ms", "model forward, ms"},
                                         {"forward_ratio", "of steady"},
                                         {NULL, NULL}};
    td_lesson_text(1, "Warm-up and first touch");
    double buffer[TD_LESSON_1_FIRST];
    const double *forward = lesson->first_forward;
    td_status status = touch(buffer, err);
    if (status) return status;
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    for (int i = 0; i < TD_LESSON_1_FIRST; i++) {
        td_record_row(record);
        td_record_int(record, "run", i + 1);
        td_record_real(record, "buffer_ms", 1e3 * buffer[i]);
        td_record_real(record, "buffer_gb_per_s", (BUFFER_MIB << 20) / buffer[i] / 1e9);
        td_record_real(record, "buffer_ratio", buffer[i] / steady(buffer));
        td_record_real(record, "forward_ms", 1e3 * forward[i]);
        td_record_real(record, "forward_ratio", forward[i] / steady(forward));
    }
    td_lesson_1_table(record, columns);
    td_lesson_say(
        "The first pass over the buffer took %.1f times the steady time, the model's first run %.2f times. The "
        "model had touched its memory when it was made: it was filled with zeros then.",
        buffer[0] / steady(buffer), forward[0] / steady(forward));
    status = td_lesson_save(lesson->arguments, 1, record, "warmup", err);
    td_record_delete(record);
    return status;
}
