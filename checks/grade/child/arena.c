/* A call's arrays, each in pages of its own: the page at one side of it may not be touched, so that the first element
 * too far stops the program, and the parent can say which element of which array it was. At its other side the rest of
 * its pages is looked at after the call. */
#include "arena.h"
#include <stdio.h>
#include <sys/mman.h>

enum { ARRAYS = 256, PAGE = 4096, UNTOUCHED = 0xA5 };

typedef struct array {
    char *block, *data; /* guard page, pages of the data, guard page */
    size_t bytes, pages;
    uint64_t hash;
    int output;
    char name[32];
} array;
static array arrays[ARRAYS];
static int used;

#pragma weak td_child_describe_device /* most children have no such memory */

static uint64_t hash(const void *data, size_t bytes) {
    const unsigned char *at = data;
    uint64_t h = 0xcbf29ce484222325u, word;
    for (; bytes >= 8; at += 8, bytes -= 8) {
        memcpy(&word, at, 8);
        h = (h ^ word) * 0x100000001b3u;
        h ^= h >> 29;
    }
    for (; bytes; at++, bytes--) h = (h ^ *at) * 0x100000001b3u;
    return h ^ h >> 32;
}

/* The first byte outside the data, but within its pages, that was written; NULL: none. */
static const char *touched(const array *a) {
    for (const char *at = a->block + PAGE, *end = at + a->pages; at < end; at++)
        if (at == a->data)
            at += a->bytes - (a->bytes != 0);
        else if (*(const unsigned char *)at != UNTOUCHED)
            return at;
    return NULL;
}

/* Room for one array, writable. A length of 0 has an address too: the edge between two pages, of which one may not be
 * touched. */
static array *room(const char *name, size_t bytes, int at_start, td_error *err) {
    if (used == ARRAYS || bytes > SIZE_MAX / 4) {
        td_fail(err, TD_INTERNAL, "%s: too many arrays, or too long a one", name);
        return NULL;
    }
    size_t pages = (bytes / PAGE + (bytes % PAGE != 0)) * PAGE;
    char *block = mmap(NULL, pages + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED || (pages && mprotect(block + PAGE, pages, PROT_READ | PROT_WRITE) != 0)) {
        if (block != MAP_FAILED) munmap(block, pages + 2 * PAGE);
        td_fail(err, TD_NO_MEMORY, "%s: no room for %zu bytes", name, bytes);
        return NULL;
    }
    array *a = &arrays[used++];
    *a = (array){block, block + PAGE + (at_start ? 0 : pages - bytes), bytes, pages, 0, 0, ""};
    snprintf(a->name, sizeof a->name, "%s", name);
    if (pages) memset(block + PAGE, UNTOUCHED, pages);
    return a;
}

static void seal(array *a) {
    a->hash = hash(a->data, a->bytes);
    if (a->pages) mprotect(a->block + PAGE, a->pages, PROT_READ);
}

void *td_child_array(td_wire_reader *request, const char *name, size_t bytes, int writable, td_error *err) {
    const void *from = td_wire_take(request, bytes);
    if (!from) {
        td_fail(err, TD_INTERNAL, "%s: the request ends before its %zu bytes", name, bytes);
        return NULL;
    }
    array *a = room(name, bytes, 0, err);
    if (!a) return NULL;
    if (bytes) memcpy(a->data, from, bytes);
    a->output = 2 * writable; /* not an input, and not sent back by itself */
    if (!writable) seal(a);
    return a->data;
}

td_status td_child_tensor(td_wire_reader *request, const char *name, td_tensor *out, td_error *err) {
    td_wire_tensor t;
    if (!td_wire_get(request, &t, sizeof t)) return td_fail(err, TD_INTERNAL, "%s: the request ends before it", name);
    *out = (td_tensor){NULL, (td_dtype)t.dtype, {0}, {0}};
    memcpy(out->size, t.size, sizeof t.size);
    memcpy(out->stride, t.stride, sizeof t.stride);
    if (!t.wanted) return TD_OK;
    size_t element = td_dtype_size((td_dtype)t.dtype);
    if (t.elements < 0 || (uint64_t)t.elements > SIZE_MAX / 8 / element || t.first < 0 || t.first > t.elements)
        return td_fail(err, TD_INTERNAL, "%s: the request's lengths are wrong", name);
    size_t bytes = (size_t)t.elements * element;
    const void *from = t.is_output ? NULL : td_wire_take(request, bytes);
    if (!t.is_output && !from) return td_fail(err, TD_INTERNAL, "%s: the request ends within it", name);
    array *a = room(name, bytes, t.at_start, err);
    if (!a) return TD_NO_MEMORY;
    a->output = t.is_output != 0;
    if (t.is_output) {
        memset(a->data, 0xFF, bytes);
    } else {
        if (bytes) memcpy(a->data, from, bytes);
        seal(a);
    }
    out->data = a->data + (size_t)t.first * element;
    return TD_OK;
}

void td_child_outputs(td_wire_buffer *reply) {
    for (int i = 0; i < used; i++)
        if (arrays[i].output == 1) td_wire_put(reply, arrays[i].data, arrays[i].bytes);
}

int td_child_inputs_changed(void) {
    for (int i = 0; i < used; i++)
        if (!arrays[i].output && hash(arrays[i].data, arrays[i].bytes) != arrays[i].hash) return 1;
    return 0;
}

const void *td_child_outside(void) {
    for (int i = 0; i < used; i++) {
        const char *at = arrays[i].output ? touched(&arrays[i]) : NULL;
        if (at) return at;
    }
    return NULL;
}

void td_child_release(void) {
    for (int i = 0; i < used; i++) munmap(arrays[i].block, arrays[i].pages + 2 * PAGE);
    used = 0;
}

int td_child_describe(const void *address, char *out, int size) {
    const char *at = address;
    for (int i = 0; i < used; i++) {
        const array *a = &arrays[i];
        const char *end = a->data + a->bytes;
        if (at < a->block || at >= a->block + a->pages + 2 * PAGE) continue;
        if (at == end)
            snprintf(out, (size_t)size, "right behind the end of %s", a->name);
        else if (at > end)
            snprintf(out, (size_t)size, "%zu bytes behind the end of %s", (size_t)(at - end), a->name);
        else if (at < a->data)
            snprintf(out, (size_t)size, "%zu bytes before the start of %s", (size_t)(a->data - at), a->name);
        else
            snprintf(out, (size_t)size, "to byte %zu of %s%s", (size_t)(at - a->data), a->name,
                     a->output ? "" : ", which is an input and may not be written");
        return 1;
    }
    return td_child_describe_device && td_child_describe_device(address, out, size);
}
