/* NumPy's .npy files, format versions 1–3 (numpy/lib/format.py describes them). */
#ifndef TANDEM_CHECKS_NPY_H
#define TANDEM_CHECKS_NPY_H

#include "file.h"
#include "tandem/alloc.h"
#include "tandem/tensor.h"

/* Read an array of 0 to 4 dimensions (missing leading ones become 1) of f2, f4 or f8, either byte order, C or Fortran
 * order, as a view with the file's own strides; V2 or 'bfloat16' (what ml_dtypes' bfloat16 is saved as) as bf16.
 * Everything is checked against the file's real size before a byte is allocated: a truncated file, or a header that
 * promises more or less than the file holds, is TD_IO; an array of another type or shape is TD_BAD_PARAM.
 * `out->data` is freed with allocator->free. */
td_status td_npy_read(const char *path, const td_allocator *allocator, td_tensor *out, td_error *err);

/* Write the `ndim` (0–4) trailing dimensions of `view`, the leading ones being 1, as float64 in C order: to a temporary
 * file, then renamed. */
td_status td_npy_write_f64(const char *path, const td_tensor *view, int ndim, td_error *err);
/* The same up to the renaming, for several files that belong together: td_file_publish or td_file_discard ends it. */
td_status td_npy_prepare_f64(td_file *file, const char *path, const td_tensor *view, int ndim, td_error *err);

#endif
