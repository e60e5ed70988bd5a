#include "marks.h"
#include "../../checks/bench.h"
#include <stdlib.h>

td_status td_marks_new(td_marks *marks, td_backend backend, int n, td_error *err) {
    *marks = (td_marks){n, calloc((size_t)n, sizeof *marks->seconds), NULL};
    if (!marks->seconds) return td_fail(err, TD_NO_MEMORY, "no memory for %d marks", n);
    return backend == TD_CUDA ? td_gpu_marks_new(&marks->gpu, n, err) : TD_OK;
}

td_status td_marks_set(td_marks *marks, int i, td_error *err) {
    if (marks->gpu) return td_gpu_marks_set(marks->gpu, i, err);
    marks->seconds[i] = td_now();
    return TD_OK;
}

td_status td_marks_read(td_marks *marks, td_error *err) {
    return marks->gpu ? td_gpu_marks_read(marks->gpu, marks->seconds, err) : TD_OK;
}

void td_marks_free(td_marks *marks) {
    td_gpu_marks_delete(marks->gpu);
    free(marks->seconds);
    *marks = (td_marks){0, NULL, NULL};
}
