/* Copies from global to shared memory that a thread starts now and waits for later. */
#include "inside.h"
#include <stdlib.h>
#include <string.h>

/* A copy lands when its thread waits for it, the latest that a GPU may take. It may land at once, too, so that its
 * place counts as written from the start on; and anything between, so that until then nobody may touch the place. */
void td_emulated_copy(void *to, const void *from, size_t bytes, bool inside, const char *name) {
    td_thread *t = td_running;
    if (inside) td_emu_use(from, bytes, TD_READ, __builtin_return_address(0));
    td_emu_use(to, bytes, TD_WRITE, __builtin_return_address(0));
    td_cell *words = td_emu_shared_word(t->worker, (uintptr_t)to);
    if (!words) td_emu_wrong(t, "%s is for shared memory alone", name);
    if (t->copying == t->copy_room) {
        size_t more = t->copy_room ? 2 * t->copy_room : 64;
        td_copy *grown = realloc(t->copies, more * sizeof *grown);
        if (!grown) td_emu_wrong(t, "the emulator has no memory for %zu copies", more);
        t->copies = grown;
        t->copy_room = more;
    }
    td_copy *c = &t->copies[t->copying++];
    *c = (td_copy){.to = to, .from = inside ? from : NULL, .words = words, .bytes = bytes, .group = t->groups};
    if (inside) memcpy(c->value, from, bytes);
    for (size_t i = 0; i < bytes / 4; i++) words[i].written |= TD_IN_FLIGHT;
}

void td_emulated_copies_commit(void) {
    td_running->groups++;
}

void td_emulated_copies_land(int but) {
    td_thread *t = td_running;
    size_t landed = 0;
    for (; landed < t->copying && t->copies[landed].group + but < t->groups; landed++) {
        const td_copy *c = &t->copies[landed];
        if (c->from && memcmp(c->value, c->from, c->bytes)) {
            char where[120];
            td_emu_describe(where, sizeof where, t, (uintptr_t)c->from);
            td_emu_wrong(t, "copy in flight: its source, %s, was written before the copy was waited for", where);
        }
        for (size_t k = 0; k < c->bytes / 4; k++) c->words[k].written &= ~(uint64_t)TD_IN_FLIGHT;
        td_emu_access(t, (uintptr_t)c->to, c->bytes, c->bytes, TD_WRITE);
        memcpy(c->to, c->value, c->bytes);
    }
    t->copying -= landed;
    memmove(t->copies, t->copies + landed, t->copying * sizeof *t->copies);
}
