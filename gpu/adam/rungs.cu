/* The row of functions through which the harness drives the GPU's Adam. */
#include "adam.h"

enum { THREADS = 256 };

__global__ __launch_bounds__(THREADS) void adam_draw(float *to, int64_t count, uint64_t step, uint64_t tensor) {
    int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
    if (i < count) to[i] = td_adam_drawn(step, tensor, (uint64_t)i);
}

static td_status draw(float *to, int64_t count, uint64_t step, uint64_t tensor, void *stream, td_error *err) {
    return TD_LAUNCH(err, adam_draw, dim3((unsigned)((count + THREADS - 1) / THREADS)), dim3(THREADS), 0, stream, to,
                     count, step, tensor);
}

extern "C" const td_adam_rungs TD_GPU(adam_rungs) = {TD_GPU(adam_per_tensor), draw};
