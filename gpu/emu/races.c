/* Races: two threads meet at a byte, at least one of them writes, not both are atomic, and nothing orders them.
 *
 * Of each word the last readers and the last writers are kept, each as a stamp, with a mask of lanes. A stamp holds,
 * from its highest bits down: the block's number, counted on from launch to launch; the time, in synchronisations of
 * that block; whether a copy is still on its way there (access.c sees to those); whether it was atomic; and the warp.
 * So `stamp < launch->first` is an access of an earlier launch, and one in [start, floor) is of this block, before its
 * last barrier: both are ordered before whatever comes now. Where that many must be remembered that no one stamp holds
 * them, it says only "several warps since the last barrier" or "several blocks of this launch", and this is all that a
 * later access needs to know. (The idea is FastTrack's: Flanagan & Freund, PLDI 2009, section 3.)
 *
 * A word touched in smaller pieces is kept byte by byte from then on, until it is written as a whole. */
#include "inside.h"

enum { ATOMIC = 0x100, WARP_BITS = 0xff };
#define IN_BYTES UINT64_MAX /* no stamp: see the word's bytes */

static int time_bits(uint64_t stamp) {
    return (int)(stamp >> 10 & 0xffffff);
}

/* Does all that happened by (stamp, lanes) come before t's present? Lanes that do are taken out of `lanes`. */
static bool ordered(const td_thread *t, uint64_t stamp, uint32_t *lanes) {
    const td_worker *w = t->worker;
    if (stamp < w->launch->first || stamp - w->start < w->floor - w->start) return true;
    if ((stamp ^ t->now) & ~(uint64_t)(ATOMIC | (uint64_t)0xffffff << 10)) return false; /* another block or warp */
    const td_warp *warp = &w->warps[t->warp];
    uint64_t time = (uint64_t)time_bits(stamp);
    if (time < warp->synced) return true;
    if (warp->partly)
        for (int lane = 0; lane < TD_WARP; lane++)
            if (*lanes >> lane & 1 && time < warp->known[t->lane][lane]) *lanes &= ~((uint32_t)1 << lane);
    return (*lanes & ~t->bit) == 0;
}

static td_conflict conflict(const td_thread *t, uint64_t stamp, uint32_t lanes, td_access kind) {
    int warp = (int)(stamp & WARP_BITS);
    td_conflict c = {true, kind, -1, -1, -1};
    if (warp == TD_MANY_BLOCKS) return c;
    c.block = (int64_t)((stamp >> 34) - (t->worker->launch->first >> 34));
    if (warp == TD_SEVERAL_WARPS) return c;
    c.warp = warp;
    uint32_t others = c.block == t->worker->index && warp == t->warp ? lanes & ~t->bit : lanes;
    c.lane = __builtin_ctz(others);
    return c;
}

/* Add t to those who read (or, with the flag, added) without order among each other. */
static void join(const td_thread *t, uint64_t *stamp, uint32_t *lanes, uint64_t flag) {
    uint32_t left = *lanes;
    if (ordered(t, *stamp, &left)) {
        *stamp = t->now | flag;
        *lanes = t->bit;
    } else if ((*stamp ^ t->now) >> 34 || (*stamp & WARP_BITS) == TD_MANY_BLOCKS) {
        *stamp = t->worker->launch->many | flag;
        *lanes = 0;
    } else if ((*stamp ^ t->now) & WARP_BITS) {
        *stamp = t->several | flag;
        *lanes = 0;
    } else {
        *stamp = t->now | flag;
        *lanes = left | t->bit;
    }
}

static td_conflict touch(const td_thread *t, td_cell *cell, td_access kind) {
    uint32_t lanes = cell->writers;
    bool both_atomic = kind == TD_ATOMIC && cell->written & ATOMIC;
    if (!both_atomic && !ordered(t, cell->written, &lanes))
        return conflict(t, cell->written, lanes, cell->written & ATOMIC ? TD_ATOMIC : TD_WRITE);
    lanes = cell->readers;
    if (kind != TD_READ && !ordered(t, cell->read, &lanes)) return conflict(t, cell->read, lanes, TD_READ);
    if (kind == TD_READ) {
        join(t, &cell->read, &cell->readers, 0);
    } else if (both_atomic) {
        join(t, &cell->written, &cell->writers, ATOMIC);
    } else {
        *cell = (td_cell){0, t->now | (kind == TD_ATOMIC ? ATOMIC : 0), 0, t->bit};
    }
    return (td_conflict){0};
}

/* What another block did in this host thread's shared memory was in its own. */
static void forget_others(const td_thread *t, td_cell *cell) {
    if ((cell->read ^ t->now) >> 34) cell->read = 0;
    if ((cell->written ^ t->now) >> 34) cell->written = 0;
}

td_conflict td_emu_touch(const td_thread *t, td_cell *word, td_cell *bytes, unsigned first, unsigned count,
                         td_access kind, bool shared) {
    if (word->read != IN_BYTES) {
        if (shared) forget_others(t, word);
        if (count == 4) return touch(t, word, kind);
        for (int i = 0; i < 4; i++) bytes[i] = *word;
        word->read = IN_BYTES;
    }
    for (unsigned i = first; i < first + count; i++) {
        if (shared) forget_others(t, &bytes[i]);
        td_conflict c = touch(t, &bytes[i], kind);
        if (c.found) return c;
    }
    if (count == 4 && kind == TD_WRITE) *word = bytes[0];
    return (td_conflict){0};
}

void td_emu_take_over(const td_thread *t, td_cell *word, td_cell *bytes, unsigned first, unsigned count,
                      td_access kind) {
    for (unsigned i = first; i < first + count; i++) bytes[i] = (td_cell){0};
    if (word->read != IN_BYTES) *word = (td_cell){0};
    (void)td_emu_touch(t, word, bytes, first, count, kind, false);
}

bool td_emu_block_wrote(const td_thread *t, const td_cell *word, const td_cell *bytes, unsigned first, unsigned count) {
    uint64_t block = t->now >> 34;
    if (word->read != IN_BYTES) return word->written >> 34 == block;
    for (unsigned i = first; i < first + count; i++)
        if (bytes[i].written >> 34 != block) return false;
    return true;
}
