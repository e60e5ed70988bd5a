/* Moments of a rank's work: on a CPU the clock, on a GPU events in its stream, which nobody waits for until they are
 * read. */
#ifndef TANDEM_LESSONS_RANKS_MARKS_H
#define TANDEM_LESSONS_RANKS_MARKS_H

#include "../../gpu/marks.h"
#include "tandem/variant.h"

typedef struct td_marks {
    int n;
    double *seconds;   /* of CLOCK_MONOTONIC, once read; 0 = not set */
    td_gpu_marks *gpu; /* NULL on a CPU */
} td_marks;

td_status td_marks_new(td_marks *marks, td_backend backend, int n, td_error *err);
/* Mark i: all work so far is done. */
td_status td_marks_set(td_marks *marks, int i, td_error *err);
/* Waits for the work, and fills in `seconds`. */
td_status td_marks_read(td_marks *marks, td_error *err);
void td_marks_free(td_marks *marks);

#endif
