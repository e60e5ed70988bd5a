/* Every core writes its share of the buffer, so that the private caches are swept too. */
#include "flush.h"
#include "ceilings.h"
#include <stdlib.h>
#include <string.h>

enum { PIECE = 4096 };

td_status td_flush_new(td_flush *flush, const td_device *device, td_error *err) {
    td_machine machine;
    td_machine_read(&machine);
    flush->device = device;
    if (device) {
        flush->bytes = 2 * device->cache_bytes;
        flush->data = device->allocator.alloc(device->allocator.context, flush->bytes, TD_MEM_WORKSPACE);
    } else {
        flush->bytes = 2 * (size_t)(machine.llc_bytes > 0 ? machine.llc_bytes : 32 << 20);
        flush->data = calloc(flush->bytes, 1);
    }
    return flush->data ? TD_OK
                       : td_fail(err, TD_NO_MEMORY, "no memory for %zu bytes that flush the cache", flush->bytes);
}

void td_flush_free(td_flush *flush) {
    if (flush->device && flush->data)
        flush->device->allocator.free(flush->device->allocator.context, flush->data);
    else
        free(flush->data);
    flush->data = NULL;
}

void td_flush_now(td_flush *flush) {
    if (!flush->data) return;
    if (flush->device) {
        (void)flush->device->poison(flush->data, flush->bytes, NULL); /* a fault would be met again by the run */
        return;
    }
    unsigned char value = (unsigned char)(flush->data[0] + 1);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < flush->bytes / PIECE; i++) memset(flush->data + i * PIECE, value, PIECE);
}
