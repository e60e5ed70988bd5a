/* A folder of arrays for tests of tandem run. */
#ifndef TANDEM_TESTS_RUN_CASE_H
#define TANDEM_TESTS_RUN_CASE_H

#include "../../checks/memory.h"
#include "../../checks/npy.h"
#include "../support.h"

static char folder[64];

/* A contiguous f64 array whose element e is value(e). */
static inline void write_array(const char *name, int64_t B, int64_t H, int64_t T, int64_t d, double scale) {
    int64_t n = B * H * T * d;
    double *data = malloc((size_t)(n ? n : 1) * sizeof *data);
    for (int64_t e = 0; e < n; e++) data[e] = scale * (double)(e % 7 - 3);
    td_tensor view = td_contiguous(data, TD_F64, B, H, T, d);
    td_error err = {0};
    cr_assert_eq(td_npy_write_f64(support_path(folder, name), &view, 4, &err), TD_OK, "%s", err.message);
    free(data);
}

/* Exit status `status`, one line on stderr that holds `said`, nothing on stdout, and no file more than the inputs. */
static inline void refused(const support_result *result, int status, const char *said, int files) {
    support_refused(result, status, said);
    cr_expect_str_eq(result->out, "");
    cr_expect_eq(support_entries(folder), files, "%s: %d files", said, support_entries(folder));
}

static inline td_tensor read_result(const char *name, const td_allocator *allocator) {
    td_tensor t;
    td_error err = {0};
    cr_assert_eq(td_npy_read(support_path(folder, name), allocator, &t, &err), TD_OK, "%s", err.message);
    return t;
}

#endif
