/* A GPU's events on the host's clock. */
#ifndef TANDEM_GPU_CUDA_CLOCK_H
#define TANDEM_GPU_CUDA_CLOCK_H

#include "../cuda.h"
extern "C" {
#include "../../cpu_ref/clock.h"
}

/* `base` happened at `seconds` of CLOCK_MONOTONIC. */
typedef struct td_cuda_clock {
    cudaEvent_t base;
    double seconds;
} td_cuda_clock;

/* Set on an idle stream, so that the event is over at once: what is left is the delay until the host sees it, a few
 * microseconds, the first time more. */
static inline cudaError_t td_cuda_clock_set(td_cuda_clock *clock, cudaStream_t stream) {
    cudaError_t error = clock->base ? cudaSuccess : cudaEventCreate(&clock->base);
    for (int i = 0; i < 2 && error == cudaSuccess; i++)
        if ((error = cudaEventRecord(clock->base, stream)) == cudaSuccess) error = cudaEventSynchronize(clock->base);
    clock->seconds = td_now();
    return error;
}

/* An event that is over. Milliseconds in a float: within 1 µs for the first 16 s after the base, 4 µs in a minute. */
static inline double td_cuda_clock_read(const td_cuda_clock *clock, cudaEvent_t event) {
    float milliseconds = 0;
    cudaEventElapsedTime(&milliseconds, clock->base, event);
    return clock->seconds + 1e-3 * (double)milliseconds;
}

#endif
