/* Device memory: one arena of address space, and beside it, at the same offsets, what is known of each of its bytes.
 * Allocations lie apart, so that what is a little out of one's bounds is in no other's. */
#include "inside.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { GAP = 64 * 1024 };

td_arena td_device_memory;

/* Sorted by address; `exposed` is the part that kernels may touch. */
typedef struct td_allocation {
    char *data, *exposed;
    size_t bytes, exposed_bytes;
    char name[16];
} td_allocation;
static td_allocation *allocations;
static size_t count, room;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *td_emu_map(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void td_emu_forget(void *mapped, size_t bytes) {
    (void)madvise(mapped, bytes, MADV_DONTNEED);
}

bool td_emu_start(void) {
    td_arena *a = &td_device_memory;
    if (a->data) return true;
    a->state = td_emu_map(TD_ARENA);
    a->words = td_emu_map(TD_ARENA / 4 * sizeof(td_cell));
    a->bytes = td_emu_map(TD_ARENA * sizeof(td_cell));
    if (a->state && a->words && a->bytes) a->data = td_emu_map(TD_ARENA);
    return a->data != NULL;
}

static bool hidden;

void td_emu_open(void) {
    if (hidden) mprotect(td_device_memory.data, TD_ARENA, PROT_READ | PROT_WRITE);
}

void td_emu_close(void) {
    if (hidden) mprotect(td_device_memory.data, TD_ARENA, PROT_NONE);
}

void td_emulated_hide(void) {
    hidden = td_emu_start();
    td_emu_close();
}

void td_emu_forget_accesses(void) {
    td_emu_forget(td_device_memory.words, TD_ARENA / 4 * sizeof(td_cell));
    td_emu_forget(td_device_memory.bytes, TD_ARENA * sizeof(td_cell));
}

/* The allocation with the highest address that is not above `p`: its index, or -1. */
static ptrdiff_t below(const void *p) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((uintptr_t)allocations[middle].data <= (uintptr_t)p)
            low = middle + 1;
        else
            high = middle;
    }
    return (ptrdiff_t)low - 1;
}

static td_allocation *holder(const void *p, size_t bytes) {
    ptrdiff_t i = below(p);
    if (i < 0) return NULL;
    size_t offset = (size_t)((const char *)p - allocations[i].data);
    return offset <= allocations[i].bytes && bytes <= allocations[i].bytes - offset ? &allocations[i] : NULL;
}

bool td_emu_holds(const void *pointer, size_t bytes) {
    pthread_mutex_lock(&lock);
    bool yes = holder(pointer, bytes) != NULL;
    pthread_mutex_unlock(&lock);
    return yes;
}

void td_emu_mark(void *pointer, size_t bytes, uint8_t set, uint8_t clear) {
    uint8_t *state = td_device_memory.state + ((char *)pointer - td_device_memory.data);
    for (size_t i = 0; i < bytes; i++) state[i] = (uint8_t)((state[i] & ~clear) | set);
}

static size_t footprint(size_t bytes) {
    return (bytes + 4095) / 4096 * 4096 + GAP;
}

void *td_emu_alloc(void *context, size_t bytes, td_tag tag) {
    (void)context;
    (void)tag;
    if (bytes > TD_GLOBAL || !td_emu_start()) return NULL;
    pthread_mutex_lock(&lock);
    char *found = NULL, *at = td_device_memory.data + GAP;
    size_t i = 0;
    for (; i < count && (size_t)(allocations[i].data - at) < footprint(bytes); i++)
        at = allocations[i].data + footprint(allocations[i].bytes);
    if (count == room) {
        size_t more = room ? 2 * room : 64;
        td_allocation *grown = realloc(allocations, more * sizeof *grown);
        if (grown) allocations = grown, room = more;
    }
    if (count < room && (size_t)(at - td_device_memory.data) + footprint(bytes) <= TD_GLOBAL) {
        memmove(allocations + i + 1, allocations + i, (count - i) * sizeof *allocations);
        allocations[i] = (td_allocation){at, at, bytes, bytes, ""};
        count++;
        td_emu_mark(at, bytes, TD_EXPOSED, 0);
        found = at;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void td_emu_free(void *context, void *pointer) {
    (void)context;
    if (!pointer) return;
    pthread_mutex_lock(&lock);
    ptrdiff_t i = below(pointer);
    if (i >= 0 && allocations[i].data == pointer) {
        td_arena *a = &td_device_memory;
        size_t offset = (size_t)(allocations[i].data - a->data), bytes = footprint(allocations[i].bytes) - GAP;
        td_emu_forget(pointer, bytes);
        td_emu_forget(a->state + offset, bytes);
        td_emu_forget(a->words + offset / 4, bytes / 4 * sizeof(td_cell));
        td_emu_forget(a->bytes + offset, bytes * sizeof(td_cell));
        count--;
        memmove(allocations + i, allocations + i + 1, (count - (size_t)i) * sizeof *allocations);
    }
    pthread_mutex_unlock(&lock);
}

bool td_emu_expose(void *pointer, size_t bytes) {
    pthread_mutex_lock(&lock);
    td_allocation *a = holder(pointer, bytes);
    if (a) {
        td_emu_mark(a->data, a->bytes, 0, TD_EXPOSED);
        td_emu_mark(pointer, bytes, TD_EXPOSED, 0);
        a->exposed = pointer;
        a->exposed_bytes = bytes;
    }
    pthread_mutex_unlock(&lock);
    return a != NULL;
}

void td_emulated_name(void *allocation, const char *name) {
    pthread_mutex_lock(&lock);
    td_allocation *a = holder(allocation, 0);
    if (a) snprintf(a->name, sizeof a->name, "%s", name);
    pthread_mutex_unlock(&lock);
}

/* "buffer of 512 bytes + 516 (4 past its end)" */
static void place(char *text, size_t size, const char *what, ptrdiff_t offset, size_t bytes) {
    if (offset < 0)
        snprintf(text, size, "%s - %td (before its start)", what, -offset);
    else if ((size_t)offset < bytes)
        snprintf(text, size, "%s + %td", what, offset);
    else
        snprintf(text, size, "%s + %td (%td past its end)", what, offset, offset - (ptrdiff_t)bytes);
}

void td_emu_describe_global(char *text, size_t size, uintptr_t address) {
    char what[48];
    pthread_mutex_lock(&lock);
    ptrdiff_t i = below((void *)address);
    /* In the gap between two allocations: of the nearer one. */
    if (i < 0 || address >= (uintptr_t)allocations[i].data + footprint(allocations[i].bytes) - GAP / 2) i++;
    if (address - (uintptr_t)td_device_memory.data < TD_GLOBAL && i < (ptrdiff_t)count) {
        const td_allocation *a = &allocations[i];
        snprintf(what, sizeof what, a->name[0] ? "%s (%zu bytes)" : "%sbuffer of %zu bytes", a->name, a->exposed_bytes);
        place(text, size, what, (ptrdiff_t)(address - (uintptr_t)a->exposed), a->exposed_bytes);
    } else {
        snprintf(text, size, "address %#jx, which is in no allocation", (uintmax_t)address);
    }
    pthread_mutex_unlock(&lock);
}

void td_emu_describe(char *text, size_t size, const td_thread *t, uintptr_t address) {
    const td_worker *w = t->worker;
    size_t slot = address - (uintptr_t)w->dynamic;
    if (slot < TD_SHARED_SLOT) {
        place(text, size, "dynamic shared memory", (ptrdiff_t)slot, w->launch->shared_bytes);
        return;
    }
    if (address - (uintptr_t)w->statics < w->statics_bytes) {
        /* Where its arrays begin nobody told us; where the block has written them, we know. */
        uintptr_t from = w->static_low < address ? w->static_low : address;
        snprintf(text, size, "static shared memory + %ju", (uintmax_t)(address - from));
        return;
    }
    for (int i = 0; i < w->launch->threads; i++) {
        if (address - (uintptr_t)w->threads[i].stack >= TD_STACK) continue;
        snprintf(text, size, "a local variable of thread %d", i);
        return;
    }
    if ((uintptr_t)t->stack - address <= TD_OVERFLOW) {
        snprintf(text, size, "a local variable beyond the %d KiB that a thread may have of them", TD_STACK / 1024);
        return;
    }
    if (address - w->program < w->program_end - w->program) {
        snprintf(text, size, "a variable of the host's program");
        return;
    }
    td_emu_describe_global(text, size, address);
}
