/* Stands in for the GPU where nvcc was missing at build time: no rungs and no device, and it says why. */
#include "tandem/device.h"

const td_variant *const td_cuda_variants[] = {NULL};

const td_device *td_cuda_device(td_error *why) {
    td_fail(why, TD_NO_DEVICE, "no GPU code in this build: nvcc was not found");
    return NULL;
}
