/* A device: memory apart from the host's, a stream of work, and a clock for it. One row of functions each for CUDA and
 * for the emulator, so that the harness does the same with both. */
#ifndef TANDEM_DEVICE_H
#define TANDEM_DEVICE_H

#include "alloc.h"
#include "status.h"
#include "variant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct td_device {
    td_backend backend;               /* TD_CUDA or TD_EMULATED */
    char name[64];                    /* "NVIDIA H200", "emulator" */
    char driver[32];                  /* "580.159.04"; "" for the emulator */
    size_t memory_bytes, cache_bytes; /* of the device as a whole: its memory, its L2 cache */
    int multiprocessors;
    size_t shared_bytes; /* shared memory that one block may have */
    void *stream;        /* what run() receives */
    /* Memory of the device, aligned to 256 bytes; on a GPU the host cannot read it. */
    td_allocator allocator;
    /* Host to device and back; done on return, after the work that the stream holds. */
    td_status (*upload)(void *device, const void *host, size_t bytes, td_error *err);
    td_status (*download)(void *host, const void *device, size_t bytes, td_error *err);
    /* Every byte 0xFF, a NaN in each type. To the emulator such bytes are unwritten: reading them is a fault. */
    td_status (*poison)(void *device, size_t bytes, td_error *err);
    /* Of the allocation that holds these bytes, kernels may touch these alone: what lies around them is a guard band.
     * The emulator reports the access itself; on a GPU the bands tell afterwards. */
    td_status (*expose)(void *device, size_t bytes, td_error *err);
    /* Wait for all work of the device. What went wrong in a kernel comes to light here, or in any call after it. */
    td_status (*synchronize)(td_error *err);
    /* Time on the device: from start() to stop(), which waits for all work of the device before it reads the clock, so
     * that work on another stream counts too. The emulator has no clock: TD_UNSUPPORTED. */
    td_status (*start)(td_error *err);
    td_status (*stop)(double *seconds, td_error *err);
} td_device;

/* The process's GPU (device 0 of those that CUDA_VISIBLE_DEVICES leaves), or the emulator. NULL with TD_NO_DEVICE and
 * the reason in `why` if there is none. The first call starts it; later ones return the same. */
const td_device *td_cuda_device(td_error *why);
const td_device *td_emulated_device(td_error *why);

#ifdef __cplusplus
}
#endif
#endif
