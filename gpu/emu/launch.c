/* A launch: its limits, then its blocks, which idle host threads take in order. When one goes wrong those before it are
 * finished, and the first of all is reported, so that it does not depend on the number of host threads. */
#include "../launches.h"
#include "inside.h"
#include <omp.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t one_launch = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t sums = PTHREAD_MUTEX_INITIALIZER;

typedef struct td_index {
    unsigned x, y, z;
} td_index;
td_index td_emulated_thread_index(void) {
    const unsigned *i = td_running->id;
    return (td_index){i[0], i[1], i[2]};
}
td_index td_emulated_block_index(void) {
    const unsigned *i = td_running->worker->block;
    return (td_index){i[0], i[1], i[2]};
}
td_index td_emulated_block_size(void) {
    const unsigned *n = td_running->worker->launch->block;
    return (td_index){n[0], n[1], n[2]};
}
td_index td_emulated_grid_size(void) {
    const unsigned *n = td_running->worker->launch->grid;
    return (td_index){n[0], n[1], n[2]};
}
int td_emulated_lane(void) {
    return td_running->lane;
}
void *td_emulated_dynamic_shared(void) {
    return td_running->worker->dynamic;
}

static void start_block(td_worker *w, int64_t index) {
    td_launch *l = w->launch;
    w->index = index;
    w->start = l->first + ((uint64_t)index << 34);
    for (int i = 0; l->counting && i < l->threads; i++) w->threads[i].noted = 0;
    w->block[0] = (unsigned)(index % l->grid[0]);
    w->block[1] = (unsigned)(index / l->grid[0] % l->grid[1]);
    w->block[2] = (unsigned)(index / l->grid[0] / l->grid[1]);
    td_emu_run_block(w);
    if (w->wrong) td_emu_report(l, index, w->message);
}

static void name_threads(td_worker *w) {
    const td_launch *l = w->launch;
    for (int i = 0; i < l->threads; i++) {
        td_thread *t = &w->threads[i];
        unsigned u = (unsigned)i;
        t->worker = w;
        t->index = i;
        t->lane = i % TD_WARP;
        t->warp = i / TD_WARP;
        t->bit = (uint32_t)1 << t->lane;
        t->many = l->many;
        t->counting = l->counting;
        t->id[0] = u % l->block[0];
        t->id[1] = u / l->block[0] % l->block[1];
        t->id[2] = u / l->block[0] / l->block[1];
    }
}

static void work(td_launch *l) {
    td_worker *w = td_emu_worker(omp_get_thread_num(), l);
    if (!w) {
        l->no_memory = true;
        return;
    }
    name_threads(w);
    w->counts = (td_emulated_counts){0};
    for (;;) {
        int64_t index = __atomic_fetch_add(&l->next, 1, __ATOMIC_RELAXED);
        if (index >= l->blocks || index > __atomic_load_n(&l->wrong, __ATOMIC_RELAXED)) break;
        start_block(w, index);
    }
    if (!l->counting) return;
    pthread_mutex_lock(&sums);
    td_emu_add_counts(&l->counts, &w->counts);
    pthread_mutex_unlock(&sums);
}

static const char *limit(const unsigned grid[3], const unsigned block[3], size_t shared_bytes, char *text,
                         size_t size) {
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    if (threads == 0 || block[0] > 1024 || block[1] > 1024 || block[2] > 64 || threads > TD_MAX_THREADS)
        snprintf(text, size, "limit: block (%u, %u, %u): 1 to 1024 threads, at most 64 in z", block[0], block[1],
                 block[2]);
    else if (grid[0] > 0x7fffffff || grid[1] > 65535 || grid[2] > 65535)
        snprintf(text, size, "limit: grid (%u, %u, %u): at most 2147483647 blocks in x, 65535 in y and z", grid[0],
                 grid[1], grid[2]);
    else if (shared_bytes > TD_MAX_SHARED)
        snprintf(text, size, "limit: %zu bytes of dynamic shared memory: at most %d", shared_bytes, TD_MAX_SHARED);
    else
        return NULL;
    return text;
}

/* Numbers for the launch's blocks, which no other block has had since the last era began: stamps have 30 bits for them.
 * The first era is short, so that the step into the next is taken every day. */
static void number_blocks(td_launch *l) {
    static uint64_t next = ((uint64_t)1 << 30) - 4096;
    static int era;
    if (next + (uint64_t)l->blocks >= (uint64_t)1 << 30) {
        td_emu_forget_accesses();
        next = 1;
        era++;
    }
    l->era = era;
    l->first = next << 34;
    l->many = l->first | (uint64_t)0xffffff << 10 | TD_MANY_BLOCKS;
    next += (uint64_t)l->blocks;
}

static void run(td_launch *l) {
    number_blocks(l);
    l->wrong = l->blocks;
    l->counting = td_emu_counting();
    l->counts = (td_emulated_counts){.launches = 1, .blocks = l->blocks, .threads = l->blocks * l->threads};
    int workers = omp_in_parallel() ? 1 : omp_get_max_threads();
    if (workers > TD_WORKERS) workers = TD_WORKERS;
    if (workers > l->blocks) workers = (int)l->blocks;
    l->alone = workers == 1;
#pragma omp parallel num_threads(workers)
    work(l);
    if (l->counting && !td_emu_count_into(l->name, &l->counts)) l->no_memory = true;
}

static td_status launch(td_error *err, const char *name, const unsigned grid[3], const unsigned block[3],
                        size_t shared_bytes, void (*body)(const void *), const void *arguments) {
    td_launch l = {.shared_bytes = shared_bytes, .body = body, .arguments = arguments};
    char text[160];
    size_t bracket = name[0] == '('; /* of a kernel with template arguments */
    snprintf(l.name, sizeof l.name, "%.*s", (int)(strlen(name) - 2 * bracket), name + bracket);
    td_status s = td_emu_host_fault(err);
    if (s) return s;
    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) return TD_OK;
    if (limit(grid, block, shared_bytes, text, sizeof text)) return td_fail(err, TD_WRONG, "%s: %s", l.name, text);
    memcpy(l.grid, grid, sizeof l.grid);
    memcpy(l.block, block, sizeof l.block);
    l.threads = (int)(block[0] * block[1] * block[2]);
    if (__builtin_mul_overflow((int64_t)grid[0] * grid[1], grid[2], &l.blocks) || l.blocks >= 1 << 29)
        return td_fail(err, TD_UNSUPPORTED, "%s: 2^29 blocks or more take the emulator too long", l.name);
    if (!td_emu_start()) return td_fail(err, TD_NO_MEMORY, "emulator: no address space for device memory");
    pthread_mutex_lock(&one_launch);
    td_launch_add(l.name, grid, block, shared_bytes, NULL);
    td_emu_open();
    run(&l);
    td_emu_close();
    pthread_mutex_unlock(&one_launch);
    if (l.no_memory) return td_fail(err, TD_NO_MEMORY, "%s: no memory for the emulator's threads", l.name);
    return l.wrong < l.blocks ? td_fail(err, TD_WRONG, "%s", l.message) : TD_OK;
}

static td_error first_fault; /* under one_launch */

td_status td_emulated_fault(td_error *err) {
    pthread_mutex_lock(&one_launch);
    td_error fault = first_fault;
    first_fault.status = TD_OK;
    pthread_mutex_unlock(&one_launch);
    return fault.status ? td_fail(err, fault.status, "%s", fault.message) : TD_OK;
}

td_status td_emulated_launch(td_error *err, const char *name, const unsigned grid[3], const unsigned block[3],
                             size_t shared_bytes, void (*body)(const void *), const void *arguments) {
    td_error fault = {TD_OK, ""};
    if (launch(&fault, name, grid, block, shared_bytes, body, arguments) == TD_OK) return TD_OK;
    pthread_mutex_lock(&one_launch);
    if (first_fault.status == TD_OK) first_fault = fault;
    pthread_mutex_unlock(&one_launch);
    return td_fail(err, fault.status, "%s", fault.message);
}
