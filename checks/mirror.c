/* Twins of guarded buffers on a device. */
#include "mirror.h"

enum { BAND = TD_GUARD_BAND };

td_status td_device_for(td_backend backend, const td_device **out, td_error *err) {
    *out = NULL;
    if (backend == TD_CPU) return TD_OK;
    *out = backend == TD_CUDA ? td_cuda_device(err) : td_emulated_device(err);
    return *out ? TD_OK : TD_NO_DEVICE;
}

/* Where the host's second band lies. */
static unsigned char *after(const td_guarded *host) {
    return (unsigned char *)host->data + host->bytes;
}

td_status td_mirror_new(td_mirror *mirror, const td_guarded *host, size_t bytes, td_tag tag, const td_device *device,
                        td_error *err) {
    const td_allocator *a = &device->allocator;
    unsigned char *block = bytes > SIZE_MAX - 2 * BAND ? NULL : a->alloc(a->context, bytes + 2 * BAND, tag);
    *mirror = (td_mirror){NULL, NULL, 0};
    if (!block)
        return td_fail(err, TD_NO_MEMORY, "%s: %zu bytes could not be allocated on %s", host->name, bytes,
                       device->name);
    *mirror = (td_mirror){block, block + BAND, bytes};
    td_status s;
    if ((s = device->upload(block, host->block, BAND, err)) ||
        (s = device->upload(block + BAND + bytes, after(host), BAND, err)) ||
        (s = device->expose(mirror->data, bytes, err)))
        td_mirror_free(mirror, device);
    return s;
}

void td_mirror_free(td_mirror *mirror, const td_device *device) {
    if (mirror->block) device->allocator.free(device->allocator.context, mirror->block);
    *mirror = (td_mirror){NULL, NULL, 0};
}

td_status td_mirror_upload(const td_mirror *mirror, const td_guarded *host, const td_device *device, td_error *err) {
    return device->upload(mirror->data, host->data, host->bytes, err);
}

td_status td_mirror_download(const td_mirror *mirror, const td_guarded *host, const td_device *device, td_error *err) {
    td_status s;
    if ((s = device->download(host->block, mirror->block, BAND, err)) ||
        (s = device->download(host->data, mirror->data, host->bytes, err)))
        return s;
    return device->download(after(host), mirror->data + mirror->bytes, BAND, err);
}
