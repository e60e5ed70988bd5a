/* For td_launch in gpu/cuda.h: a launch for the log, with what the runtime says of the kernel. */
#ifndef TANDEM_GPU_CUDA_LAUNCHES_H
#define TANDEM_GPU_CUDA_LAUNCHES_H

#include "../launches.h"
#include <cuda_runtime.h>

void td_cuda_log_launch(const char *name, const void *kernel, dim3 grid, dim3 block, size_t dynamic_shared);

#endif
