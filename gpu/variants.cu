/* The rungs, in the order of the syllabus; compiled once for the GPU and once for the emulator. */
#include "gpu.h"

#ifdef TD_EMULATE
const td_variant *const td_emulated_variants[] = {
#else
const td_variant *const td_cuda_variants[] = {
#endif
    NULL,
};
