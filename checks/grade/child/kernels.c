/* Storages of a call in device memory. Each lies between two bands of bytes 0xFF: the emulator reports who touches
 * them, after a GPU's kernels they are looked at. */
#include "kernels.h"
#include "../../../gpu/emu/emu.h"
#include "../../../gpu/launches.h"

enum { STORAGES = 16, BAND = 256 };

typedef struct storage {
    char name[16];
    char *device; /* BAND bytes, the data, BAND bytes */
    char *host;   /* the same tensor in the child's own memory; NULL: it has none */
    size_t bytes;
    int is_output;
} storage;
static storage storages[STORAGES];
static int used;

/* One of them is linked; the other's device is then 0, which no submission can define anew. */
#pragma weak td_cuda_device
#pragma weak td_emulated_device
#pragma weak td_emulated_hide
#pragma weak td_emulated_fault
#pragma weak td_emulated_name
#pragma weak td_emulated_counting
#pragma weak td_emulated_counts_reset
#pragma weak td_emulated_counts_of

static const td_device *find_device(td_error *err) {
    static int hidden;
    if (td_cuda_device) return td_cuda_device(err);
    if (!hidden) td_emulated_hide();
    hidden = 1;
    return td_emulated_device(err);
}

int td_child_describe_device(const void *address, char *out, int size) {
    for (int i = 0; i < used; i++) {
        const storage *s = &storages[i];
        if ((uintptr_t)address - (uintptr_t)s->device >= s->bytes + 2 * BAND) continue;
        snprintf(out, (size_t)size, "of %s by the host: it is in device memory, which only kernels may touch", s->name);
        return 1;
    }
    return 0;
}

static td_status place(const td_device *device, const char *name, size_t bytes, storage **out, td_error *err) {
    if (used == STORAGES) return td_fail(err, TD_INTERNAL, "%s: too many storages", name);
    storage *s = &storages[used];
    *s = (storage){.bytes = bytes};
    snprintf(s->name, sizeof s->name, "%s", name);
    s->device = device->allocator.alloc(device->allocator.context, bytes + 2 * BAND, TD_MEM_DATA);
    if (!s->device) return td_fail(err, TD_NO_MEMORY, "%s: the device has no %zu bytes", name, bytes);
    if (td_emulated_name) td_emulated_name(s->device, name);
    used++;
    *out = s;
    td_status status = device->poison(s->device, bytes + 2 * BAND, err);
    return status ? status : device->expose(s->device + BAND, bytes, err);
}

td_status td_child_device_room(const td_device *device, const char *name, size_t bytes, void **out, td_error *err) {
    storage *s;
    td_status status = place(device, name, bytes, &s, err);
    if (status == TD_OK) *out = s->device + BAND;
    return status;
}

td_status td_child_device_tensor(const td_device *device, td_wire_reader *request, const char *name, td_tensor *out,
                                 td_error *err) {
    td_wire_tensor head;
    td_wire_reader ahead = *request;
    storage *s;
    td_status status = td_child_tensor(request, name, out, err);
    if (status || !out->data) return status;
    if (!td_wire_get(&ahead, &head, sizeof head)) return td_fail(err, TD_INTERNAL, "%s: the request ends", name);
    size_t element = td_dtype_size(out->dtype), first = (size_t)head.first * element;
    if ((status = place(device, name, (size_t)head.elements * element, &s, err))) return status;
    s->host = (char *)out->data - first;
    s->is_output = head.is_output;
    out->data = s->device + BAND + first;
    return s->is_output ? TD_OK : device->upload(s->device + BAND, s->host, s->bytes, err);
}

static int untouched(const unsigned char *band) {
    for (int i = 0; i < BAND; i++)
        if (band[i] != 0xFF) return 0;
    return 1;
}

static td_status fetch(const td_device *device, const storage *s, td_error *err) {
    char *all = malloc(s->bytes + 2 * BAND);
    td_status status = TD_NO_MEMORY;
    if (!all)
        td_fail(err, status, "%s: no memory to fetch it", s->name);
    else if ((status = device->download(all, s->device, s->bytes + 2 * BAND, err)) == TD_OK) {
        if (!untouched((unsigned char *)all) || !untouched((unsigned char *)all + BAND + s->bytes))
            status =
                td_fail(err, TD_WRONG, "out of bounds: a kernel wrote right before %s, or right behind it", s->name);
        else if (s->is_output)
            memcpy(s->host, all + BAND, s->bytes);
        else if (s->host && memcmp(s->host, all + BAND, s->bytes) != 0)
            status = td_fail(err, TD_WRONG, "a kernel wrote to %s, which is an input", s->name);
    }
    free(all);
    return status;
}

/* Where there is something to compute; what is empty, or only filled, needs no kernel. */
static int needs_kernels(void) {
    for (int i = 0; i < used; i++)
        if (storages[i].host && !storages[i].bytes) return 0;
    return 1;
}

/* The function returned: wait for its kernels, see that they did nothing wrong and left inputs and what lies around the
 * storages alone, and fetch the outputs. */
static td_status finish(const td_device *device, td_status returned, td_error *err) {
    td_error fault = {TD_OK, ""};
    td_status status = device->synchronize(&fault);
    if (status == TD_OK && td_emulated_fault) status = td_emulated_fault(&fault);
    if (status) return td_fail(err, status, "%s", fault.message);
    if (returned == TD_OK && td_emulated_device && needs_kernels() && !td_launch_notes())
        return td_fail(err, TD_WRONG, "no kernel was launched: all of it is to be computed on the device");
    for (int i = 0; i < used && returned == TD_OK; i++) returned = fetch(device, &storages[i], err);
    return returned;
}

enum { PLAIN, COUNTED, FUNCTIONS }; /* counted: what kernels asked of memory is put behind the outputs */

td_status td_child_serve(uint32_t what, td_wire_reader *request, td_wire_buffer *reply, td_error *err) {
    const td_device *device = find_device(err);
    if (!device) return TD_NO_DEVICE;
    if (what >= FUNCTIONS || (what == COUNTED && !td_emulated_counting))
        return td_fail(err, TD_INTERNAL, "function %u is not there", what);
    if (td_emulated_counting) td_emulated_counting(what == COUNTED), td_emulated_counts_reset();
    if (td_emulated_device) td_launch_log(1);
    td_status s = finish(device, td_child_kernels(device, request, err), err);
    for (int i = 0; i < used; i++) device->allocator.free(device->allocator.context, storages[i].device);
    used = 0;
    td_child_outputs(reply);
    if (what == COUNTED) {
        td_emulated_counts counts = td_emulated_counts_of(NULL);
        td_wire_put(reply, &counts, sizeof counts);
    }
    return s;
}
