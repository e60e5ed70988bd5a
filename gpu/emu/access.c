/* One access of a kernel's thread: may it touch these bytes, and in this way? */
#include "inside.h"
#include <stdatomic.h>
#include <string.h>

static const char *const verbs[] = {"reads", "writes", "adds to"};

/* Blocks on several host threads meet at what is known of global memory: a spin lock for each of many pieces. */
enum { LOCKS = 1024 };
static atomic_flag locks[LOCKS];

static void outside(td_thread *t, uintptr_t address, size_t bytes, td_access kind) {
    char where[120];
    td_emu_describe(where, sizeof where, t, address);
    td_emu_wrong(t, "out of bounds: %s %zu bytes at %s", verbs[kind], bytes, where);
}

/* Nobody wrote these bytes yet. If another thread does so before the next barrier, what is wrong is that race, and it
 * will be found then; so the complaint waits, and the thread goes on with a NaN. */
static void unwritten(td_thread *t, uintptr_t address, size_t bytes) {
    char where[120];
    memset((void *)address, 0xFF, bytes);
    td_emu_describe(where, sizeof where, t, address);
    td_emu_complain(t, "unwritten: reads %zu bytes at %s, which nobody wrote", bytes, where);
}

/* A copy lands there at any moment until its thread has waited for it. */
static void in_flight(td_thread *t, uintptr_t address, size_t bytes, td_access kind, const td_cell *word) {
    char where[120];
    int owner = (int)(word->written & 0xff) * TD_WARP + __builtin_ctz(word->writers);
    td_emu_describe(where, sizeof where, t, address);
    td_emu_wrong(t, "copy in flight: %s %zu bytes at %s before thread %d has waited for its copy there", verbs[kind],
                 bytes, where, owner);
}

/* Of static shared memory nobody told us the size: it is what a block writes of it. */
static void count_static(td_thread *t, uintptr_t address, size_t bytes) {
    td_worker *w = t->worker;
    w->static_shared += bytes;
    if (address < w->static_low) w->static_low = address;
    if (w->static_shared > TD_MAX_STATIC_SHARED)
        td_emu_wrong(t, "limit: more than %d bytes of static shared memory", TD_MAX_STATIC_SHARED);
    if (w->static_shared + w->launch->shared_bytes > TD_MAX_SHARED)
        td_emu_wrong(t, "limit: more than %d bytes of shared memory, static and dynamic", TD_MAX_SHARED);
}

/* Word by word, in what is known of the memory that begins at `base`. */
static void look_up(td_thread *t, uintptr_t address, size_t bytes, td_access kind, uintptr_t base, td_cell *words,
                    td_cell *each) {
    td_worker *w = t->worker;
    bool global = words == td_device_memory.words && address - (uintptr_t)w->dynamic >= TD_SHARED_SLOT;
    for (size_t done = 0, some; done < bytes; done += some) {
        size_t at = address - base + done, first = at % 4;
        some = bytes - done < 4 - first ? bytes - done : 4 - first;
        td_cell *word = words + at / 4, *byte = each + at / 4 * 4;
        bool copying = !global && word->written & TD_IN_FLIGHT && (word->written ^ t->now) >> 34 == 0;
        if (copying) in_flight(t, address, bytes, kind, word);
        if (!global && !td_emu_block_wrote(t, word, byte, first, some)) {
            if (kind != TD_WRITE) unwritten(t, address, bytes);
            if (words == w->static_words) count_static(t, address + done, some);
        }
        atomic_flag *lock = global && !w->launch->alone ? &locks[at / 4 % LOCKS] : NULL;
        while (lock && atomic_flag_test_and_set_explicit(lock, memory_order_acquire)) continue;
        td_conflict c = td_emu_touch(t, word, byte, first, some, kind, !global);
        if (c.found && c.block > w->index) td_emu_take_over(t, word, byte, first, some, kind);
        if (lock) atomic_flag_clear_explicit(lock, memory_order_release);
        if (c.found) td_emu_race(t, address, kind, &c);
    }
}

static void touch_global(td_thread *t, uintptr_t address, size_t bytes, td_access kind) {
    td_arena *a = &td_device_memory;
    uint8_t *state = a->state + (address - (uintptr_t)a->data);
    for (size_t i = 0; i < bytes; i++)
        if (!(state[i] & TD_EXPOSED)) outside(t, address, bytes, kind);
    for (size_t i = 0; i < bytes && kind != TD_WRITE; i++)
        if (!(state[i] & TD_INITIALISED)) unwritten(t, address, bytes);
    look_up(t, address, bytes, kind, (uintptr_t)a->data, a->words, a->bytes);
    if (kind == TD_WRITE) memset(state, TD_EXPOSED | TD_INITIALISED, bytes);
}

td_cell *td_emu_shared_word(const td_worker *w, uintptr_t address) {
    td_arena *a = &td_device_memory;
    if (address - (uintptr_t)w->dynamic < w->launch->shared_bytes) return a->words + (address - (uintptr_t)a->data) / 4;
    size_t offset = address - (uintptr_t)w->statics;
    return offset < w->statics_bytes ? w->static_words + offset / 4 : NULL;
}

void td_emu_access(td_thread *t, uintptr_t address, size_t bytes, size_t alignment, td_access kind) {
    td_worker *w = t->worker;
    td_arena *a = &td_device_memory;
    if (address - (uintptr_t)t->stack < TD_STACK) return;
    if (address % alignment) {
        char where[120];
        td_emu_describe(where, sizeof where, t, address);
        td_emu_wrong(t, "misaligned: %s %zu bytes at %s, which is no multiple of %zu", verbs[kind], bytes, where,
                     alignment);
    }
    if (address - (uintptr_t)w->dynamic < TD_SHARED_SLOT) {
        size_t offset = address - (uintptr_t)w->dynamic;
        if (offset + bytes > w->launch->shared_bytes) outside(t, address, bytes, kind);
        look_up(t, address, bytes, kind, (uintptr_t)a->data, a->words, a->bytes);
    } else if (address - (uintptr_t)a->data < TD_ARENA - bytes) {
        touch_global(t, address, bytes, kind);
    } else if (address - (uintptr_t)w->statics < w->statics_bytes) {
        look_up(t, address, bytes, kind, (uintptr_t)w->statics, w->static_words, w->static_bytes);
    } else if (kind != TD_READ || address - w->program >= w->program_end - w->program) {
        outside(t, address, bytes, kind); /* constants of the program may be read */
    }
}
