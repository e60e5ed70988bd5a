/* Warp operations: the lanes that a mask names meet, exchange values, and from then on each of them knows what the
 * others did before. That they run in step otherwise is nothing to build on, here as on a GPU. */
#include "inside.h"

static const char *const names[] = {
    "__syncwarp", "vote", "shuffle", "td_mma", "td_mma", "td_ldmatrix4", "td_ldmatrix4_transposed"};

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

bool td_emu_arrive(td_thread *t, int kind, uint32_t mask, int line) {
    td_warp *warp = &t->worker->warps[t->warp];
    const td_thread *lanes = &t->worker->threads[t->warp * TD_WARP];
    if (!(mask & t->bit))
        td_emu_wrong(t, "%s at line %d: the mask %08x leaves out the lane itself, %d", names[kind], line, mask,
                     t->lane);
    t->kind = kind;
    t->mask = mask;
    t->line = line;
    t->state = TD_AT_WARP;
    warp->waiting |= t->bit;
    bool here = (mask & ~warp->waiting) == 0;
    for (int i = 0; here && i < TD_WARP; i++)
        if (mask >> i & 1)
            here = lanes[i].kind == kind && lanes[i].mask == mask && (kind == TD_SYNC || lanes[i].line == line);
    if (!here) td_emu_pause(t);
    return here;
}

void td_emu_go_on(td_thread *t) {
    td_worker *w = t->worker;
    td_warp *warp = &w->warps[t->warp];
    for (int i = 0; i < TD_WARP; i++)
        if (t->mask >> i & 1) w->threads[t->warp * TD_WARP + i].state = TD_READY;
    warp->waiting &= ~t->mask;
    warp->ready |= t->mask & ~t->bit;
    if (w->launch->counting) td_emu_count_lanes(w, t->warp, t->mask);
}

static uint64_t meet(int kind, unsigned mask, uint64_t value, int source, int line) {
    td_thread *t = td_running;
    td_worker *w = t->worker;
    td_thread *lanes = &w->threads[t->warp * TD_WARP];
    t->value = value;
    t->source = source;
    if (!td_emu_arrive(t, kind, mask, line)) return t->value;
    uint64_t values[TD_WARP], ballot = 0;
    for (int i = 0; i < TD_WARP; i++) {
        if (!(mask >> i & 1)) continue;
        values[i] = lanes[i].value;
        if (values[i]) ballot |= (uint64_t)1 << i;
    }
    for (int i = 0; i < TD_WARP; i++) {
        if (!(mask >> i & 1)) continue;
        if (kind == TD_SHUFFLE && !(mask >> lanes[i].source & 1))
            td_emu_wrong(&lanes[i], "shuffle at line %d: takes from lane %d, which the mask %08x leaves out", line,
                         lanes[i].source, mask);
        lanes[i].value = kind == TD_SHUFFLE ? values[lanes[i].source] : ballot;
    }
    td_emu_go_on(t);
    w->counts.shuffles += kind == TD_SHUFFLE;
    int last = w->launch->threads - t->warp * TD_WARP;
    learn(w, &w->warps[t->warp], mask, last >= TD_WARP ? 0xffffffffu : ((uint32_t)1 << last) - 1);
    return t->value;
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
            (t->kind == TD_SYNC || other->line == t->line))
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
    return meet(TD_SHUFFLE, mask, value, source, line);
}
unsigned td_emulated_ballot(unsigned mask, int value, int line) {
    return (unsigned)meet(TD_VOTE, mask, value != 0, 0, line);
}
void td_emulated_sync_warp(unsigned mask, int line) {
    meet(TD_SYNC, mask, 0, 0, line);
}
