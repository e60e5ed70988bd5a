/* What went wrong, in one line: "KERNEL, block 3, thread (5, 1, 0): …". */
#include "inside.h"
#include <pthread.h>
#include <stdarg.h>
#include <string.h>

static const char *const actors[] = {"read", "write", "atomic operation"};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ", block 3" or "thread (5, 1, 0)": the index-th in an array of this size. */
static void append(char *text, size_t size, const char *what, int64_t index, const unsigned sizes[3]) {
    size_t used = strlen(text);
    unsigned x = (unsigned)(index % sizes[0]), y = (unsigned)(index / sizes[0] % sizes[1]),
             z = (unsigned)(index / sizes[0] / sizes[1]);
    if (sizes[1] == 1 && sizes[2] == 1)
        snprintf(text + used, size - used, "%s %u", what, x);
    else
        snprintf(text + used, size - used, "%s (%u, %u, %u)", what, x, y, z);
}

static __attribute__((format(printf, 5, 0))) void compose(char message[TD_MESSAGE], const td_launch *l, int64_t block,
                                                          int thread, const char *format, va_list arguments) {
    snprintf(message, TD_MESSAGE, "%s", l->name);
    append(message, TD_MESSAGE, ", block", block, l->grid);
    if (thread >= 0) append(message, TD_MESSAGE, ", thread", thread, l->block);
    strcat(message, ": ");
    size_t head = strlen(message);
    vsnprintf(message + head, TD_MESSAGE - head, format, arguments);
}

void td_emu_report(td_launch *l, int64_t block, const char message[TD_MESSAGE]) {
    pthread_mutex_lock(&lock);
    if (block < l->wrong) {
        memcpy(l->message, message, TD_MESSAGE);
        __atomic_store_n(&l->wrong, block, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&lock);
}

void td_emu_give_up(td_worker *w) {
    if (w->complaint[0]) memcpy(w->message, w->complaint, TD_MESSAGE);
    w->wrong = true;
    for (int i = 0; i < w->launch->threads; i++) w->threads[i].fresh = true;
    if (td_running) td_emu_leave(w);
}

void td_emu_wrong(td_thread *t, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    compose(t->worker->message, t->worker->launch, t->worker->index, t->index, format, arguments);
    va_end(arguments);
    td_emu_give_up(t->worker);
}

void td_emu_complain(td_thread *t, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (!t->worker->complaint[0])
        compose(t->worker->complaint, t->worker->launch, t->worker->index, t->index, format, arguments);
    va_end(arguments);
}

static __attribute__((format(printf, 5, 6))) void compose_race(char message[TD_MESSAGE], const td_launch *l,
                                                               int64_t block, int thread, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    compose(message, l, block, thread, format, arguments);
    va_end(arguments);
}

void td_emu_race(td_thread *t, uintptr_t address, td_access kind, const td_conflict *c) {
    td_worker *w = t->worker;
    td_launch *l = w->launch;
    char where[120], who[120] = "", message[TD_MESSAGE];
    int other = c->lane < 0 ? -1 : c->warp * TD_WARP + c->lane;
    bool later = c->block > w->index, same = c->block == w->index;
    int64_t partner = later ? w->index : c->block;
    int partners_thread = later ? t->index : other;
    td_emu_describe(where, sizeof where, t, address);
    if (c->block < 0)
        snprintf(who, sizeof who, " several blocks");
    else if (!same)
        append(who, sizeof who, " block", partner, l->grid);
    if (c->block >= 0 && partners_thread >= 0)
        append(who, sizeof who, same ? " thread" : ", thread", partners_thread, l->block);
    else if (same)
        snprintf(who, sizeof who, " several threads");
    compose_race(message, l, later ? c->block : w->index, later ? other : t->index,
                 "race: its %s at %s and the %s of%s have no barrier between", actors[later ? c->kind : kind], where,
                 actors[later ? kind : c->kind], who);
    if (later) {
        td_emu_report(l, c->block, message);
        return;
    }
    w->complaint[0] = '\0';
    memcpy(w->message, message, TD_MESSAGE);
    td_emu_give_up(w);
}

static char host_fault[TD_MESSAGE];

void td_emu_host_access(uintptr_t address) {
    if (!td_device_memory.data || address - (uintptr_t)td_device_memory.data >= TD_ARENA) return;
    char where[120];
    td_emu_describe_global(where, sizeof where, address);
    pthread_mutex_lock(&lock);
    snprintf(host_fault, sizeof host_fault, "host code touches device memory: %s", where);
    pthread_mutex_unlock(&lock);
}

td_status td_emu_host_fault(td_error *err) {
    td_status s = TD_OK;
    pthread_mutex_lock(&lock);
    if (host_fault[0]) s = td_fail(err, TD_WRONG, "%s", host_fault);
    host_fault[0] = '\0';
    pthread_mutex_unlock(&lock);
    return s;
}
