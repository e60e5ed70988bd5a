/* The kernels of counted.cu. */
#ifndef TANDEM_TESTS_GPU_EMU_COUNTED_H
#define TANDEM_TESTS_GPU_EMU_COUNTED_H

#include "tandem/status.h"

typedef enum {
    TD_COPY,
    TD_COPY_STRIDED,
    TD_COPY_VECTORS,
    TD_COPY_HALF_WORDS,
    TD_COPY_ASYNC,
    TD_TRANSPOSE,
    TD_TRANSPOSE_PADDED,
    TD_PRODUCT,
    TD_ROWS,
    TD_ROWS_PADDED,
    TD_MATRICES,
    TD_MATRICES_SWIZZLED,
    TD_SUM,
    TD_ADD
} td_test_kernel;

#ifdef __cplusplus
extern "C" {
#endif
td_status td_test_counted(td_test_kernel kernel, int blocks, const float *x, float *y, td_error *err);
float td_test_host_reads(const float *x);
#ifdef __cplusplus
}
#endif

#endif
