/* The emulator's side of gpu.h: CUDA's words, for a C++ compiler. */
#ifndef TANDEM_GPU_EMU_CUDA_H
#define TANDEM_GPU_EMU_CUDA_H

#include "tandem/dtype.h"

#define __global__ static
#define __device__
#define __forceinline__ inline

static inline float td_half_to_float(uint16_t bits) {
    return td_fp16_to_f32(bits);
}

#endif
