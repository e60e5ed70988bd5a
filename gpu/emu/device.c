/* The emulator as a device. All of its work is done when a call returns. */
#include "inside.h"
#include <string.h>
#include <unistd.h>

static td_status held(const void *device, size_t bytes, td_error *err) {
    if (bytes == 0 || td_emu_holds(device, bytes)) return TD_OK;
    return td_fail(err, TD_BAD_PARAM, "device = %p: %zu bytes there are in no allocation of the emulator", device,
                   bytes);
}

static td_status upload(void *device, const void *host, size_t bytes, td_error *err) {
    if (held(device, bytes, err)) return TD_BAD_PARAM;
    if (bytes == 0) return TD_OK;
    td_emu_open();
    memcpy(device, host, bytes);
    td_emu_close();
    td_emu_mark(device, bytes, TD_INITIALISED, 0);
    return TD_OK;
}

static td_status download(void *host, const void *device, size_t bytes, td_error *err) {
    if (held(device, bytes, err)) return TD_BAD_PARAM;
    if (bytes == 0) return TD_OK;
    td_emu_open();
    memcpy(host, device, bytes);
    td_emu_close();
    return TD_OK;
}

static td_status poison(void *device, size_t bytes, td_error *err) {
    if (held(device, bytes, err)) return TD_BAD_PARAM;
    if (bytes == 0) return TD_OK;
    td_emu_open();
    memset(device, 0xFF, bytes);
    td_emu_close();
    td_emu_mark(device, bytes, 0, TD_INITIALISED);
    return TD_OK;
}

static td_status expose(void *device, size_t bytes, td_error *err) {
    if (td_emu_expose(device, bytes)) return TD_OK;
    return td_fail(err, TD_BAD_PARAM, "device = %p: %zu bytes there are in no allocation of the emulator", device,
                   bytes);
}

td_status td_emulated_zero(void *pointer, size_t bytes, td_error *err) {
    if (held(pointer, bytes, err)) return TD_WRONG;
    if (bytes == 0) return TD_OK;
    td_emu_open();
    memset(pointer, 0, bytes);
    td_emu_close();
    td_emu_mark(pointer, bytes, TD_INITIALISED, 0);
    return TD_OK;
}

/* A byte that nobody wrote is none that somebody wrote for being copied. */
td_status td_emulated_move(void *to, const void *from, size_t bytes, td_error *err) {
    if (held(to, bytes, err) || held(from, bytes, err)) return TD_WRONG;
    if (bytes == 0) return TD_OK;
    const uint8_t *state = td_device_memory.state + ((const char *)from - td_device_memory.data);
    td_emu_open();
    memmove(to, from, bytes);
    td_emu_close();
    for (size_t i = 0; i < bytes; i++)
        td_emu_mark((char *)to + i, 1, state[i] & TD_INITIALISED, (uint8_t)(~state[i] & TD_INITIALISED));
    return TD_OK;
}

static td_status synchronize(td_error *err) {
    return td_emu_host_fault(err);
}

static td_status start(td_error *err) {
    return td_fail(err, TD_UNSUPPORTED, "the emulator has no clock: emulated time means nothing");
}

static td_status stop(double *seconds, td_error *err) {
    (void)seconds;
    return start(err);
}

const td_device *td_emulated_device(td_error *why) {
    static const td_device device = {
        .backend = TD_EMULATED,
        .name = "emulator",
        .memory_bytes = TD_ARENA,
        .multiprocessors = 1,
        .shared_bytes = TD_MAX_SHARED,
        .allocator = {NULL, td_emu_alloc, td_emu_free},
        .upload = upload,
        .download = download,
        .poison = poison,
        .expose = expose,
        .synchronize = synchronize,
        .start = start,
        .stop = stop,
    };
    if (td_emu_start()) return &device;
    td_fail(why, TD_NO_DEVICE, "emulator: no address space for device memory");
    return NULL;
}
