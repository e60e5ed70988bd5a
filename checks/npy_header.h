/* Inside npy*.c only: the dictionary that describes an array. */
#ifndef TANDEM_CHECKS_NPY_HEADER_H
#define TANDEM_CHECKS_NPY_HEADER_H

#include "tandem/dtype.h"
#include "tandem/status.h"

typedef struct td_npy_header {
    td_dtype dtype;
    int swapped; /* the file's byte order is not this machine's */
    int fortran_order, ndim;
    int64_t shape[4];
} td_npy_header;

/* Parse "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", its keys in any order. `path` is for messages.
 */
td_status td_npy_header_parse(const char *text, const char *path, td_npy_header *out, td_error *err);

#endif
