/* What emulated code calls: -fsanitize=thread puts a call before each load and store, and the sanitizer's own runtime
 * is not linked; -fsanitize=bounds calls where an index leaves its array. Most accesses repeat one that was found right
 * since the last synchronisation: those are over in a few steps, some 3 ns; a first one takes ten times as long. */
#include "inside.h"

static inline bool read_before(const td_thread *t, const td_cell *c) {
    uint64_t stamp = __atomic_load_n(&c->read, __ATOMIC_RELAXED);
    if (stamp == t->now) return __atomic_load_n(&c->readers, __ATOMIC_RELAXED) & t->bit;
    return stamp == t->several || stamp == t->many;
}

static inline bool written_before(const td_thread *t, const td_cell *c) {
    return __atomic_load_n(&c->written, __ATOMIC_RELAXED) == t->now && c->writers == t->bit;
}

/* Shared memory that this block wrote before its last barrier, and now reads, or writes anew: what races.c would do. */
static inline bool settle(const td_thread *t, td_cell *c, td_access kind) {
    const td_worker *w = t->worker;
    uint64_t read = c->read;
    if (c->written - w->start >= w->floor - w->start || c->written & TD_IN_FLIGHT) return false;
    if (kind == TD_WRITE && read < w->floor)
        *c = (td_cell){0, t->now, 0, t->bit};
    else if (kind == TD_READ && read < w->floor)
        c->read = t->now, c->readers = t->bit;
    else if (kind == TD_READ && read == t->now)
        c->readers |= t->bit;
    else if (kind == TD_READ && (read ^ t->now) >> 34 == 0 && (read ^ t->now) & 0xff)
        c->read = t->several;
    else
        return false;
    return true;
}

static inline __attribute__((always_inline)) void touch(const void *p, size_t bytes, td_access kind, const void *site) {
    td_thread *t = td_running;
    uintptr_t address = (uintptr_t)p;
    if (!t) {
        td_emu_host_access(address);
        return;
    }
    if (__builtin_expect(--t->patience == 0, 0))
        td_emu_wrong(t, "waits: %d accesses with no barrier or warp operation", TD_PATIENCE);
    if (__builtin_expect(t->counting, 0)) td_emu_note(t, address, bytes, kind, site);
    const td_worker *w = t->worker;
    size_t offset = address - (uintptr_t)td_device_memory.data;
    td_cell *cell = td_device_memory.words;
    bool shared = address - (uintptr_t)w->dynamic < w->launch->shared_bytes;
    if (offset >= TD_ARENA) {
        if (address - (uintptr_t)t->stack < TD_STACK) return;
        offset = address - (uintptr_t)w->statics;
        shared = offset < w->statics_bytes;
        cell = shared ? w->static_words : NULL;
    }
    if (bytes >= 4 && cell && address % bytes == 0) {
        bool settled = true;
        cell += offset / 4;
        for (size_t i = 0; settled && i < bytes / 4; i++)
            settled = (kind == TD_READ ? read_before(t, cell + i) : written_before(t, cell + i)) ||
                      (shared && kind != TD_ATOMIC && settle(t, cell + i, kind));
        if (settled) return;
    }
    td_emu_access(t, address, bytes, bytes, kind);
}

void td_emu_use(const void *p, size_t bytes, td_access kind, const void *site) {
    touch(p, bytes, kind, site);
}

#define CALLBACKS(n)                                                                                                   \
    void __tsan_read##n(void *p) {                                                                                     \
        touch(p, n, TD_READ, __builtin_return_address(0));                                                             \
    }                                                                                                                  \
    void __tsan_write##n(void *p) {                                                                                    \
        touch(p, n, TD_WRITE, __builtin_return_address(0));                                                            \
    }
CALLBACKS(1)
CALLBACKS(2)
CALLBACKS(4)
CALLBACKS(8)
CALLBACKS(16)

/* Pieces whose type promises no alignment, and copies of whole objects. */
static void range(const void *p, size_t bytes, td_access kind, const void *site) {
    td_thread *t = td_running;
    if (!bytes) return;
    if (!t) {
        td_emu_host_access((uintptr_t)p);
        return;
    }
    for (size_t i = 0; t->counting && i < bytes; i++) td_emu_note(t, (uintptr_t)p + i, 1, kind, site);
    td_emu_access(t, (uintptr_t)p, bytes, 1, kind);
}
#define UNALIGNED(n)                                                                                                   \
    void __tsan_unaligned_read##n(void *p) {                                                                           \
        range(p, n, TD_READ, __builtin_return_address(0));                                                             \
    }                                                                                                                  \
    void __tsan_unaligned_write##n(void *p) {                                                                          \
        range(p, n, TD_WRITE, __builtin_return_address(0));                                                            \
    }
UNALIGNED(2)
UNALIGNED(4)
UNALIGNED(8)
UNALIGNED(16)
void __tsan_read_range(void *p, size_t bytes) {
    range(p, bytes, TD_READ, __builtin_return_address(0));
}
void __tsan_write_range(void *p, size_t bytes) {
    range(p, bytes, TD_WRITE, __builtin_return_address(0));
}
void __tsan_init(void) {
}

/* What GCC says of an index: where it stands, the array's type, the index's type (their names begin 4 bytes in). */
typedef struct td_bounds {
    const char *file;
    unsigned line, column;
    const char *array, *index;
} td_bounds;
void __ubsan_handle_out_of_bounds(td_bounds *b, void *index) {
    if (td_running)
        td_emu_wrong(td_running, "out of bounds: index %td of an array of type %s, at line %u", (ptrdiff_t)index,
                     b->array + 4, b->line);
}

typedef struct td_float4 {
    float x, y, z, w;
} td_float4;
td_float4 td_load4(const float *p) {
    touch(p, 16, TD_READ, __builtin_return_address(0));
    return *(const td_float4 *)(const void *)p;
}
void td_store4(float *p, td_float4 value) {
    touch(p, 16, TD_WRITE, __builtin_return_address(0));
    *(td_float4 *)(void *)p = value;
}

static float add(float *p, float value) {
    union {
        uint32_t bits;
        float value;
    } old = {.bits = __atomic_load_n((uint32_t *)(void *)p, __ATOMIC_RELAXED)}, sum;
    do sum.value = old.value + value;
    while (!__atomic_compare_exchange_n((uint32_t *)(void *)p, &old.bits, sum.bits, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
    return old.value;
}
float td_emulated_add_float(float *p, float value) {
    touch(p, 4, TD_ATOMIC, __builtin_return_address(0));
    return add(p, value);
}
void td_atomic_add4(float *p, td_float4 value) {
    touch(p, 16, TD_ATOMIC, __builtin_return_address(0));
    if ((uintptr_t)p - (uintptr_t)td_device_memory.data >= TD_GLOBAL)
        td_emu_wrong(td_running, "td_atomic_add4 is for global memory alone");
    add(p, value.x), add(p + 1, value.y), add(p + 2, value.z), add(p + 3, value.w);
}
int td_emulated_add_int(int *p, int value) {
    touch(p, 4, TD_ATOMIC, __builtin_return_address(0));
    return __atomic_fetch_add(p, value, __ATOMIC_RELAXED);
}
