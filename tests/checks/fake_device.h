/* A device for tests: memory of the host that the trial does not know, and a log of what is asked of it. */
#ifndef TANDEM_TESTS_FAKE_DEVICE_H
#define TANDEM_TESTS_FAKE_DEVICE_H

#include "../../checks/memory.h"
#include "tandem/device.h"
#include <string.h>

static int fake_uploads, fake_stream;
static td_status fake_fault; /* what synchronize() finds */

static inline td_status fake_upload(void *device, const void *host, size_t bytes, td_error *err) {
    (void)err;
    if (bytes) memcpy(device, host, bytes);
    fake_uploads++;
    return TD_OK;
}

static inline td_status fake_download(void *host, const void *device, size_t bytes, td_error *err) {
    (void)err;
    if (bytes) memcpy(host, device, bytes);
    return TD_OK;
}

static inline td_status fake_poison(void *device, size_t bytes, td_error *err) {
    (void)err;
    memset(device, 0xFF, bytes);
    return TD_OK;
}

static inline td_status fake_expose(void *device, size_t bytes, td_error *err) {
    (void)device, (void)bytes, (void)err;
    return TD_OK;
}

static inline td_status fake_synchronize(td_error *err) {
    return fake_fault ? td_fail(err, fake_fault, "a kernel went astray") : TD_OK;
}

static inline td_device fake_device(td_memory *memory) {
    return (td_device){.backend = TD_CUDA,
                       .name = "fake",
                       .stream = &fake_stream,
                       .allocator = td_memory_allocator(memory),
                       .upload = fake_upload,
                       .download = fake_download,
                       .poison = fake_poison,
                       .expose = fake_expose,
                       .synchronize = fake_synchronize};
}

#endif
