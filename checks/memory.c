/* The counting allocator. Each block carries its size and tag in front of it, and all blocks hang in one list, so that
 * a leak can be counted and given back. One lock guards the lot: allocations are rare beside the work they hold. */
#include "memory.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

/* In front of a block, padded to the alignment so that the block behind it keeps its own. */
typedef union td_block {
    struct {
        size_t bytes;
        td_tag tag;
        union td_block *previous, *next;
    };
    char pad[ALIGNMENT];
} td_block;

struct td_memory {
    pthread_mutex_t lock;
    size_t limit, total, peak_total;
    size_t current[TD_MEM_TAGS], peak[TD_MEM_TAGS], at_peak[TD_MEM_TAGS];
    int64_t allocations;
    td_block list; /* a ring through this head */
};

static void *aligned(size_t bytes) {
    void *p = NULL;
    return posix_memalign(&p, ALIGNMENT, bytes ? bytes : 1) ? NULL : p;
}

static void *plain_alloc(void *context, size_t bytes, td_tag tag) {
    (void)context, (void)tag;
    return aligned(bytes);
}

static void plain_free(void *context, void *pointer) {
    (void)context;
    free(pointer);
}

td_allocator td_plain_allocator(void) {
    return (td_allocator){NULL, plain_alloc, plain_free};
}

td_memory *td_memory_new(size_t limit_bytes) {
    td_memory *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    pthread_mutex_init(&m->lock, NULL);
    m->limit = limit_bytes;
    m->list.previous = m->list.next = &m->list;
    return m;
}

int64_t td_memory_delete(td_memory *memory) {
    int64_t leaks = 0;
    if (!memory) return 0;
    for (td_block *b = memory->list.next, *next; b != &memory->list; b = next, leaks++) {
        next = b->next;
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
    if ((unsigned)tag >= TD_MEM_TAGS || bytes > SIZE_MAX - sizeof(td_block)) return NULL;
    pthread_mutex_lock(&m->lock);
    int fits = m->limit == 0 || (m->total <= m->limit && bytes <= m->limit - m->total);
    td_block *b = fits ? aligned(sizeof(td_block) + bytes) : NULL;
    if (b) {
        b->bytes = bytes, b->tag = tag;
        b->previous = &m->list, b->next = m->list.next;
        b->next->previous = b->previous->next = b;
        m->allocations++;
        m->total += bytes;
        m->current[tag] += bytes;
        if (m->current[tag] > m->peak[tag]) m->peak[tag] = m->current[tag];
        note_peak(m);
    }
    pthread_mutex_unlock(&m->lock);
    return b ? b + 1 : NULL;
}

static void counted_free(void *context, void *pointer) {
    td_memory *m = context;
    if (!pointer) return;
    td_block *b = (td_block *)pointer - 1;
    pthread_mutex_lock(&m->lock);
    b->previous->next = b->next, b->next->previous = b->previous;
    m->total -= b->bytes;
    m->current[b->tag] -= b->bytes;
    pthread_mutex_unlock(&m->lock);
    free(b);
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
