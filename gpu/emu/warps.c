/* Warp operations: the lanes that a mask names meet, exchange values, and from then on each of them knows what the
 * others did before. That they run in step otherwise is nothing to build on, here as on a GPU. */
#include "inside.h"

enum { SYNC, BALLOT, SHUFFLE };
static const char *const names[] = {"__syncwarp", "vote", "shuffle"};

static void learn(td_worker *w, td_warp *warp, uint32_t mask, uint32_t all) {
    uint64_t time = td_emu_tick(w);
    td_thread *lanes = &w->threads[(warp - w->warps) * TD_WARP];
    uint64_t together[TD_WARP];
    if (mask == all) {
        warp->synced = time;
        warp->partly = false;
    } else {
        if (!warp->partly)
            for (int i = 0; i < TD_WARP; i++)
                for (int j = 0; j < TD_WARP; j++) warp->known[i][j] = warp->synced;
        warp->partly = true;
        for (int j = 0; j < TD_WARP; j++) {
            together[j] = mask >> j & 1 ? time : 0;
            for (int i = 0; i < TD_WARP; i++)
                if (mask >> i & 1 && together[j] < warp->known[i][j]) together[j] = warp->known[i][j];
        }
    }
    for (int i = 0; i < TD_WARP; i++) {
        if (!(mask >> i & 1)) continue;
        if (mask != all)
            for (int j = 0; j < TD_WARP; j++) warp->known[i][j] = together[j];
        lanes[i].now = w->start | time << 10 | (uint64_t)lanes[i].warp;
    }
}

static void meet(td_thread *t, int kind, unsigned mask, uint64_t value, int source, int line) {
    td_worker *w = t->worker;
    td_warp *warp = &w->warps[t->warp];
    td_thread *lanes = &w->threads[t->warp * TD_WARP];
    if (!(mask & t->bit))
        td_emu_wrong(t, "%s at line %d: the mask %08x leaves out the lane itself, %d", names[kind], line, mask,
                     t->lane);
    t->kind = kind;
    t->mask = mask;
    t->value = value;
    t->source = source;
    t->line = line;
    t->state = TD_AT_WARP;
    warp->waiting |= t->bit;
    bool here = (mask & ~warp->waiting) == 0;
    for (int i = 0; here && i < TD_WARP; i++)
        if (mask >> i & 1)
            here = lanes[i].kind == kind && lanes[i].mask == mask && (kind == SYNC || lanes[i].line == line);
    if (!here) {
        td_emu_pause(t);
        return;
    }
    uint64_t values[TD_WARP], ballot = 0;
    for (int i = 0; i < TD_WARP; i++) {
        if (!(mask >> i & 1)) continue;
        values[i] = lanes[i].value;
        if (values[i]) ballot |= (uint64_t)1 << i;
    }
    for (int i = 0; i < TD_WARP; i++) {
        if (!(mask >> i & 1)) continue;
        if (kind == SHUFFLE && !(mask >> lanes[i].source & 1))
            td_emu_wrong(&lanes[i], "shuffle at line %d: takes from lane %d, which the mask %08x leaves out", line,
                         lanes[i].source, mask);
        lanes[i].value = kind == SHUFFLE ? values[lanes[i].source] : ballot;
        lanes[i].state = TD_READY;
    }
    warp->waiting &= ~mask;
    warp->ready |= mask & ~t->bit;
    int last = w->launch->threads - t->warp * TD_WARP;
    if (w->launch->counting) {
        td_emu_count_lanes(w, t->warp, mask);
        w->counts.shuffles += kind == SHUFFLE;
    }
    learn(w, warp, mask, last >= TD_WARP ? 0xffffffffu : ((uint32_t)1 << last) - 1);
}

/* No lane of the warp can go on, and some wait at a warp operation. */
void td_emu_blame_warp(td_worker *w, int warp) {
    td_thread *lanes = &w->threads[warp * TD_WARP], *t = &lanes[__builtin_ctz(w->warps[warp].waiting)];
    int count = w->launch->threads - warp * TD_WARP;
    uint32_t missing = 0;
    const char *where = "which do not exist";
    for (int i = TD_WARP - 1; i >= 0; i--) {
        if (!(t->mask >> i & 1)) continue;
        const td_thread *other = &lanes[i];
        bool absent = i >= count;
        if (!absent && other->state == TD_AT_WARP && other->kind == t->kind && other->mask == t->mask &&
            (t->kind == SYNC || other->line == t->line))
            continue;
        missing |= (uint32_t)1 << i;
        where = absent                          ? "do not exist"
                : other->state == TD_FINISHED   ? "have finished"
                : other->state == TD_AT_BARRIER ? "wait at __syncthreads"
                                                : "wait at another warp operation";
    }
    td_emu_wrong(t, "%s at line %d: lanes %08x of the mask %08x never arrive: they %s", names[t->kind], t->line,
                 missing, t->mask, where);
}

uint64_t td_emulated_shuffle(unsigned mask, uint64_t value, int source, int line) {
    td_thread *t = td_running;
    meet(t, SHUFFLE, mask, value, source, line);
    return t->value;
}
unsigned td_emulated_ballot(unsigned mask, int value, int line) {
    td_thread *t = td_running;
    meet(t, BALLOT, mask, value != 0, 0, line);
    return (unsigned)t->value;
}
void td_emulated_sync_warp(unsigned mask, int line) {
    meet(td_running, SYNC, mask, 0, 0, line);
}
