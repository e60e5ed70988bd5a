/* NumPy's .npy files, format versions 1–3 (numpy/lib/format.py describes them). */
#ifndef TANDEM_CHECKS_NPY_H
#define TANDEM_CHECKS_NPY_H

#include "tandem/alloc.h"
#include "tandem/status.h"
#include "tandem/tensor.h"

/* Read an array of 1 to 4 dimensions (missing leading ones become 1) of f2, f4 or f8, either byte order, C or Fortran
 * order, as a view with the file's own strides; bfloat16 written by ml_dtypes ('V2' with its name, or 'bfloat16') as
 * bf16. Everything is checked against the file's real size before a byte is allocated: a truncated file, or a header
 * that promises more than the file holds, is TD_IO. `out->data` is freed with allocator->free. */
td_status td_npy_read(const char *path, const td_allocator *allocator, td_tensor *out, td_error *err);
/* Write `ndim` trailing dimensions of `view` as float64 in C order: to a temporary file, then renamed. */
td_status td_npy_write_f64(const char *path, const td_tensor *view, int ndim, td_error *err);

#endif
