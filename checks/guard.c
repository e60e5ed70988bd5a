/* Guarded buffers: a band of a known pattern, the body, another band. */
#include "guard.h"
#include <stdint.h>
#include <string.h>

enum { BAND = TD_GUARD_BAND, WORD = 8 };

/* The pattern depends on the position: a piece of a band copied to another place of it is noticed too. It never looks
 * like poison (0xFF) or zeros for two bytes in a row. */
static unsigned char band_byte(size_t position) {
    return (unsigned char)(0xA5u ^ (position * 29u));
}

static void band_fill(unsigned char *band) {
    for (size_t i = 0; i < BAND; i++) band[i] = band_byte(i);
}

/* Position of the byte nearest to the body that was changed, or −1. `step` walks away from the body. */
static int band_changed(const unsigned char *band, int start, int step) {
    for (int i = start; i >= 0 && i < BAND; i += step)
        if (band[i] != band_byte((size_t)i)) return i;
    return -1;
}

uint64_t td_hash(const void *data, size_t bytes) {
    const unsigned char *p = data;
    const uint64_t prime = 0x100000001b3u;
    uint64_t h = 0xcbf29ce484222325u ^ bytes, word;
    for (; bytes >= WORD; p += WORD, bytes -= WORD) {
        memcpy(&word, p, WORD);
        h = (h ^ word) * prime;
    }
    if (bytes) {
        word = 0;
        memcpy(&word, p, bytes);
        h = (h ^ word) * prime;
    }
    /* FNV moves a change upwards only; the finish lets the top bits reach the bottom (MurmurHash3's constants). */
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdu;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53u;
    return h ^ (h >> 33);
}

td_status td_guard_new(td_guarded *buffer, const char *name, size_t bytes, const td_allocator *allocator, td_tag tag,
                       td_error *err) {
    unsigned char *block =
        bytes > SIZE_MAX - 2 * BAND ? NULL : allocator->alloc(allocator->context, bytes + 2 * BAND, tag);
    *buffer = (td_guarded){.name = name};
    if (!block) return td_fail(err, TD_NO_MEMORY, "%s: %zu bytes could not be allocated", name, bytes);
    buffer->block = block;
    buffer->data = block + BAND;
    buffer->bytes = bytes;
    band_fill(block);
    band_fill(block + BAND + bytes);
    td_guard_poison(buffer);
    return TD_OK;
}

void td_guard_free(td_guarded *buffer, const td_allocator *allocator) {
    if (buffer->block) allocator->free(allocator->context, buffer->block);
    *buffer = (td_guarded){0};
}

void td_guard_poison(td_guarded *buffer) {
    memset(buffer->data, 0xFF, buffer->bytes);
    buffer->hash = 0;
}

/* 0 means "not sealed", so a hash that happens to be 0 is remembered as 1. */
static uint64_t body_hash(const td_guarded *buffer) {
    uint64_t h = td_hash(buffer->data, buffer->bytes);
    return h ? h : 1;
}

void td_guard_seal(td_guarded *buffer) {
    buffer->hash = body_hash(buffer);
}

td_status td_guard_check(const td_guarded *buffer, td_error *err) {
    int before = band_changed(buffer->block, BAND - 1, -1);
    if (before >= 0)
        return td_fail(err, TD_WRONG, "%s: written %d bytes before its start", buffer->name, BAND - before);
    int after = band_changed((const unsigned char *)buffer->data + buffer->bytes, 0, 1);
    if (after >= 0) return td_fail(err, TD_WRONG, "%s: written %d bytes past its end", buffer->name, after + 1);
    if (buffer->hash && buffer->hash != body_hash(buffer))
        return td_fail(err, TD_WRONG, "%s: an input, but the run changed it", buffer->name);
    return TD_OK;
}
