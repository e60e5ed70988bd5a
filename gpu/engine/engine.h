/* The GPU's engine: what its files share. */
#ifndef TANDEM_GPU_ENGINE_H
#define TANDEM_GPU_ENGINE_H

#include "../gpu.h"
#include "tandem/engine.h"

extern "C" {
/* td_engine's functions of these names (engine.h). */
td_status TD_GPU(convert)(void *to, td_dtype to_dtype, const void *from, td_dtype from_dtype, int64_t count,
                          double factor, td_error *err);
td_status TD_GPU(sum_of_squares)(const td_slice *slices, int n, td_dtype dtype, double *sum, td_error *err);
td_status TD_GPU(first_not_finite)(const td_slice *slices, int n, td_dtype dtype, int *slice, int64_t *element,
                                   td_error *err);
}

static __device__ __forceinline__ double td_double(double x) {
    return x;
}
template <typename T> static __device__ __forceinline__ double td_double(T x) {
    return (double)td_float(x);
}

#endif
