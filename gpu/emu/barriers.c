/* One block from its first thread to its last barrier: a warp runs until none of its lanes can go on, then the next
 * does; when all wait at the barrier, all are let through. The order is always the same, so that what a block does
 * depends on nothing but its input. */
#include "inside.h"

uint64_t td_emu_tick(td_worker *w) {
    if (++w->clock >= (uint64_t)1 << 24)
        td_emu_wrong(&w->threads[0], "waits: %d barriers and warp operations in the block: a loop without end",
                     1 << 24);
    return w->clock;
}

void td_emulated_barrier(int line, int site) {
    td_thread *t = td_running;
    t->line = line;
    t->site = site;
    t->state = TD_AT_BARRIER;
    td_emu_pause(t);
}

/* All threads start, or go on after a barrier. */
static void release(td_worker *w) {
    uint64_t time = td_emu_tick(w);
    int threads = w->launch->threads;
    w->floor = w->start | time << 10;
    for (int i = 0; i < threads; i++) {
        td_thread *t = &w->threads[i];
        t->state = TD_READY;
        t->now = w->floor | (uint64_t)t->warp;
        t->several = w->floor | TD_SEVERAL_WARPS;
    }
    for (int i = 0; i * TD_WARP < threads; i++) {
        int lanes = threads - i * TD_WARP;
        w->warps[i].ready = lanes >= TD_WARP ? 0xffffffffu : ((uint32_t)1 << lanes) - 1;
        w->warps[i].waiting = 0;
        w->warps[i].synced = time;
        w->warps[i].partly = false;
    }
}

static void run_warp(td_worker *w, int number) {
    td_warp *warp = &w->warps[number];
    td_emu_run_lanes(w, number);
    if (!w->wrong && warp->waiting) td_emu_blame_warp(w, number);
}

/* Every thread waits at a barrier or has finished: true if all wait at the same one, and nobody complains. */
static bool all_at_barrier(td_worker *w) {
    td_thread *first = NULL, *other = NULL;
    int threads = w->launch->threads;
    if (w->complaint[0]) {
        td_emu_give_up(w);
        return false;
    }
    for (int i = 0; w->launch->counting && i < threads; i += TD_WARP) td_emu_count_lanes(w, i / TD_WARP, 0xffffffffu);
    for (int i = 0; i < threads && !first; i++)
        if (w->threads[i].state == TD_AT_BARRIER) first = &w->threads[i];
    if (!first) return false;
    for (int i = 0; i < threads && !other; i++)
        if (w->threads[i].state != TD_AT_BARRIER || w->threads[i].line != first->line ||
            w->threads[i].site != first->site)
            other = &w->threads[i];
    if (!other && ++w->passed < TD_MAX_BARRIERS) return true;
    if (!other)
        td_emu_wrong(first, "waits: __syncthreads at line %d is the block's barrier %d: a loop without end",
                     first->line, w->passed);
    else if (other->state == TD_AT_BARRIER && other->line == first->line)
        td_emu_wrong(first, "__syncthreads at line %d, but thread %d waits at another one in that line", first->line,
                     other->index);
    else if (other->state == TD_AT_BARRIER)
        td_emu_wrong(first, "__syncthreads at line %d, but thread %d waits at the one at line %d", first->line,
                     other->index, other->line);
    else
        td_emu_wrong(first, "__syncthreads at line %d, but thread %d has finished", first->line, other->index);
    return false;
}

void td_emu_run_block(td_worker *w) {
    w->wrong = false;
    w->clock = 0;
    w->passed = 0;
    w->complaint[0] = '\0';
    w->static_shared = 0;
    w->static_low = UINTPTR_MAX;
    do {
        release(w);
        for (int i = 0; i * TD_WARP < w->launch->threads && !w->wrong; i++) run_warp(w, i);
        w->counts.barriers++;
    } while (!w->wrong && all_at_barrier(w));
    w->counts.barriers--; /* the end is none */
}
