/* The threads of a block as contexts that take turns on one thread of the host. makecontext creates one; after that
 * GCC's setjmp and longjmp switch, which cost a few instructions and no system call. A context outlives its thread and
 * runs the thread of the same number in the next block. */
#include "inside.h"
#include <link.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

_Thread_local td_thread *td_running;

/* In a function of its own: the two builtins may not stand in the same one. */
static _Noreturn __attribute__((noinline)) void jump(void **context) {
    __builtin_longjmp(context, 1);
}

_Noreturn void td_emu_leave(td_worker *w) {
    jump(w->scheduler);
}

static void live(void) {
    for (;;) {
        td_thread *t = td_running;
        t->copying = 0;
        t->groups = 0;
        t->worker->launch->body(t->worker->launch->arguments);
        if (t->copying) td_emu_wrong(t, "copy in flight: ends with %zu copies not waited for", t->copying);
        t->state = TD_FINISHED;
        td_emu_pause(t);
    }
}

static __attribute__((noinline)) void begin(td_thread *t) {
    ucontext_t u;
    t->fresh = false;
    getcontext(&u);
    u.uc_stack.ss_sp = t->stack;
    u.uc_stack.ss_size = TD_STACK;
    u.uc_link = NULL;
    makecontext(&u, live, 0);
    setcontext(&u);
}

static _Noreturn void enter(td_thread *t) {
    td_running = t;
    t->patience = TD_PATIENCE;
    if (t->fresh) begin(t);
    jump(t->context);
}

static td_thread *next_lane(td_worker *w, int number) {
    td_warp *warp = &w->warps[number];
    if (!warp->ready) return NULL;
    td_thread *t = &w->threads[number * TD_WARP + __builtin_ctz(warp->ready)];
    warp->ready &= ~t->bit;
    return t;
}

__attribute__((noinline)) void td_emu_run_lanes(td_worker *w, int warp) {
    td_thread *first = next_lane(w, warp);
    if (first && !__builtin_setjmp(w->scheduler)) enter(first);
    td_running = NULL;
}

__attribute__((noinline)) void td_emu_pause(td_thread *t) {
    if (__builtin_setjmp(t->context)) return;
    td_thread *next = next_lane(t->worker, t->warp);
    if (next) enter(next);
    jump(t->worker->scheduler);
}

/* Stacks, each with some room below it for what is too large, and below that an inaccessible page. */
static bool make_stacks(td_worker *w, int count) {
    size_t page = 4096 * 16, each = TD_STACK + TD_OVERFLOW + page; /* 64 KiB: the largest page there is */
    if (w->made >= count) return true;
    int wanted = count - w->made;
    char *stacks = td_emu_map((size_t)wanted * each);
    if (!stacks) return false;
    for (int i = 0; i < wanted; i++) {
        /* At worst the system has no more mappings to give, and an overflow goes unnoticed. */
        (void)mprotect(stacks + (size_t)i * each, page, PROT_NONE);
        w->threads[w->made + i].stack = stacks + (size_t)i * each + page + TD_OVERFLOW;
    }
    w->made = count;
    return true;
}

/* Where this host thread's own data of our program or library lies: the module that holds this very function. */
static int find_statics(struct dl_phdr_info *info, size_t size, void *data) {
    td_worker *w = data;
    (void)size;
    bool ours = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        ours = ours || (p->p_type == PT_LOAD && (uintptr_t)live - (info->dlpi_addr + p->p_vaddr) < p->p_memsz);
    }
    for (int i = 0; ours && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_TLS) {
            w->statics = info->dlpi_tls_data;
            w->statics_bytes = p->p_memsz;
        } else if (p->p_type == PT_LOAD) {
            if (!w->program || begin < w->program) w->program = begin;
            if (begin + p->p_memsz > w->program_end) w->program_end = begin + p->p_memsz;
        }
    }
    return ours;
}

td_worker *td_emu_worker(int number, td_launch *launch) {
    static td_worker *workers[TD_WORKERS];
    td_worker *w = workers[number];
    if (!w) {
        w = workers[number] = calloc(1, sizeof *w);
        if (!w) return NULL;
        w->dynamic = td_device_memory.data + TD_ARENA - (size_t)(number + 1) * TD_SHARED_SLOT;
    }
    if (w->owner != &td_running) { /* another host thread: contexts know the old one's own data */
        for (int i = 0; i < TD_MAX_THREADS; i++) w->threads[i].fresh = true;
        td_running = NULL;
        dl_iterate_phdr(find_statics, w);
        if (!w->static_words) {
            w->static_words = td_emu_map((w->statics_bytes / 4 + 1) * sizeof(td_cell));
            w->static_bytes = td_emu_map((w->statics_bytes + 4) * sizeof(td_cell));
            if (!w->static_words || !w->static_bytes) return NULL;
        }
        w->owner = &td_running;
    }
    if (w->era != launch->era) {
        td_emu_forget(w->static_words, w->statics_bytes / 4 * sizeof(td_cell));
        td_emu_forget(w->static_bytes, w->statics_bytes * sizeof(td_cell));
        w->era = launch->era;
    }
    w->launch = launch;
    if (launch->counting && !w->counter && !(w->counter = td_emu_counter())) return NULL;
    return make_stacks(w, launch->threads) ? w : NULL;
}
