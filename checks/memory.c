/* The counting allocator. Each block has a note of its address, size and tag; all notes hang in one list, newest first,
 * so that a leak can be counted and given back. The note lies apart from the block, which may be memory that the host
 * cannot touch. One lock guards the lot: allocations are rare beside the work they hold. */
#include "memory.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

typedef struct td_block {
    void *pointer;
    size_t bytes;
    td_tag tag;
    struct td_block *previous, *next;
} td_block;

struct td_memory {
    pthread_mutex_t lock;
    td_allocator inner;
    size_t limit, total, peak_total;
    size_t current[TD_MEM_TAGS], peak[TD_MEM_TAGS], at_peak[TD_MEM_TAGS];
    int64_t allocations;
    td_block list; /* a ring through this head */
};

static void *plain_alloc(void *context, size_t bytes, td_tag tag) {
    void *p = NULL;
    (void)context, (void)tag;
    return posix_memalign(&p, ALIGNMENT, bytes ? bytes : 1) ? NULL : p;
}

static void plain_free(void *context, void *pointer) {
    (void)context;
    free(pointer);
}

td_allocator td_plain_allocator(void) {
    return (td_allocator){NULL, plain_alloc, plain_free};
}

td_memory *td_memory_over(const td_allocator *inner, size_t limit_bytes) {
    td_memory *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    pthread_mutex_init(&m->lock, NULL);
    m->inner = *inner;
    m->limit = limit_bytes;
    m->list.previous = m->list.next = &m->list;
    return m;
}

td_memory *td_memory_new(size_t limit_bytes) {
    td_allocator plain = td_plain_allocator();
    return td_memory_over(&plain, limit_bytes);
}

int64_t td_memory_delete(td_memory *memory) {
    int64_t leaks = 0;
    if (!memory) return 0;
    for (td_block *b = memory->list.next, *next; b != &memory->list; b = next, leaks++) {
        next = b->next;
        memory->inner.free(memory->inner.context, b->pointer);
        free(b);
    }
    pthread_mutex_destroy(&memory->lock);
    free(memory);
    return leaks;
}

/* Called with the lock held, after `total` grew. */
static void note_peak(td_memory *m) {
    if (m->total <= m->peak_total) return;
    m->peak_total = m->total;
    memcpy(m->at_peak, m->current, sizeof m->current);
}

static void *counted_alloc(void *context, size_t bytes, td_tag tag) {
    td_memory *m = context;
    td_block *b = (unsigned)tag < TD_MEM_TAGS ? malloc(sizeof *b) : NULL;
    if (!b) return NULL;
    pthread_mutex_lock(&m->lock);
    int fits = m->limit == 0 || (m->total <= m->limit && bytes <= m->limit - m->total);
    void *pointer = fits ? m->inner.alloc(m->inner.context, bytes, tag) : NULL;
    if (pointer) {
        *b = (td_block){.pointer = pointer, .bytes = bytes, .tag = tag};
        b->previous = &m->list, b->next = m->list.next;
        b->next->previous = b->previous->next = b;
        m->allocations++;
        m->total += bytes;
        m->current[tag] += bytes;
        if (m->current[tag] > m->peak[tag]) m->peak[tag] = m->current[tag];
        note_peak(m);
    }
    pthread_mutex_unlock(&m->lock);
    if (!pointer) free(b);
    return pointer;
}

static void counted_free(void *context, void *pointer) {
    td_memory *m = context;
    if (!pointer) return;
    pthread_mutex_lock(&m->lock);
    td_block *b = m->list.next;
    while (b != &m->list && b->pointer != pointer) b = b->next;
    if (b != &m->list) {
        b->previous->next = b->next, b->next->previous = b->previous;
        m->total -= b->bytes;
        m->current[b->tag] -= b->bytes;
        m->inner.free(m->inner.context, pointer);
        free(b);
    }
    pthread_mutex_unlock(&m->lock);
}

td_allocator td_memory_allocator(td_memory *memory) {
    return (td_allocator){memory, counted_alloc, counted_free};
}

/* A reader locks too: another thread may be in the middle of counting. */
static size_t read_locked(const td_memory *memory, const size_t *counter) {
    pthread_mutex_t *lock = (pthread_mutex_t *)&memory->lock;
    pthread_mutex_lock(lock);
    size_t value = *counter;
    pthread_mutex_unlock(lock);
    return value;
}

size_t td_memory_current(const td_memory *memory, td_tag tag) {
    return read_locked(memory, &memory->current[tag]);
}

size_t td_memory_peak(const td_memory *memory, td_tag tag) {
    return read_locked(memory, &memory->peak[tag]);
}

size_t td_memory_peak_total(const td_memory *memory, size_t *by_tag) {
    pthread_mutex_t *lock = (pthread_mutex_t *)&memory->lock;
    pthread_mutex_lock(lock);
    size_t peak = memory->peak_total;
    if (by_tag) memcpy(by_tag, memory->at_peak, sizeof memory->at_peak);
    pthread_mutex_unlock(lock);
    return peak;
}

void td_memory_reset_peak(td_memory *memory) {
    pthread_mutex_lock(&memory->lock);
    memcpy(memory->peak, memory->current, sizeof memory->peak);
    memcpy(memory->at_peak, memory->current, sizeof memory->at_peak);
    memory->peak_total = memory->total;
    pthread_mutex_unlock(&memory->lock);
}

int64_t td_memory_allocations(const td_memory *memory) {
    pthread_mutex_t *lock = (pthread_mutex_t *)&memory->lock;
    pthread_mutex_lock(lock);
    int64_t n = memory->allocations;
    pthread_mutex_unlock(lock);
    return n;
}
