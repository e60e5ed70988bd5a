/* What kernels asked of memory, counted as a GPU's memory system sees it: by warp requests.
 *
 * Lanes run one after the other here, from one synchronisation of their warp to the next, and each keeps a list of its
 * accesses. At the synchronisation the lists are laid side by side: the n-th time that one place in the code was passed
 * is one request of all lanes that passed it n times. This is what a warp does that runs in step, and where lanes part
 * ways within a loop it is the closest that they could meet. */
#include "inside.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SITES = 1 << 14 };

/* One request: what its lanes touch. `next`: that of the same site's next passage, 0 if there is none. */
typedef struct request {
    uint64_t site, address[TD_WARP];
    uint32_t lanes, next;
} request;

typedef struct site {
    uint64_t site, flush; /* `flush`: when this entry was made; older ones are free */
    uint32_t first, last; /* requests: of the first passage, of the present lane's last one */
    int lane;
} site;

typedef struct td_counter {
    site sites[SITES];
    uint64_t flush;
    request *requests; /* from 1 on */
    uint32_t used, room;
} td_counter;

/* By kernel, since the reset. */
typedef struct entry {
    char name[TD_NAME];
    td_emulated_counts counts;
} entry;
static entry *entries;
static size_t count;
static int counting;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void td_emulated_counting(int on) {
    counting = on;
}

bool td_emu_counting(void) {
    return counting;
}

void td_emulated_counts_reset(void) {
    pthread_mutex_lock(&lock);
    free(entries);
    entries = NULL;
    count = 0;
    pthread_mutex_unlock(&lock);
}

struct td_counter *td_emu_counter(void) {
    return calloc(1, sizeof(struct td_counter));
}

/* All members are int64_t. */
void td_emu_add_counts(td_emulated_counts *to, const td_emulated_counts *from) {
    for (size_t i = 0; i < sizeof *to / sizeof(int64_t); i++) ((int64_t *)to)[i] += ((const int64_t *)from)[i];
}

td_emulated_counts td_emulated_counts_of(const char *kernel) {
    td_emulated_counts sum = {0};
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++)
        if (!kernel || strncmp(entries[i].name, kernel, strlen(kernel)) == 0)
            td_emu_add_counts(&sum, &entries[i].counts);
    pthread_mutex_unlock(&lock);
    return sum;
}

bool td_emu_count_into(const char *name, const td_emulated_counts *counts) {
    pthread_mutex_lock(&lock);
    size_t i = 0;
    while (i < count && strcmp(entries[i].name, name) != 0) i++;
    if (i == count) {
        entry *grown = realloc(entries, (count + 1) * sizeof *grown);
        if (grown) {
            entries = grown;
            entries[count] = (entry){0};
            snprintf(entries[count++].name, TD_NAME, "%s", name);
        }
    }
    if (i < count) td_emu_add_counts(&entries[i].counts, counts);
    pthread_mutex_unlock(&lock);
    return i < count;
}

void td_emu_note(td_thread *t, uintptr_t address, size_t bytes, td_access kind, const void *site) {
    const td_worker *w = t->worker;
    bool shared =
        address - (uintptr_t)w->dynamic < TD_SHARED_SLOT || address - (uintptr_t)w->statics < w->statics_bytes;
    if (!shared && address - (uintptr_t)td_device_memory.data >= TD_ARENA) return; /* local memory, constants */
    if (t->noted == t->note_room) {
        size_t more = t->note_room ? 2 * t->note_room : 64;
        td_note *grown = realloc(t->notes, more * sizeof *grown);
        if (!grown) td_emu_wrong(t, "no memory for counting");
        t->notes = grown;
        t->note_room = more;
    }
    t->notes[t->noted++] =
        (td_note){(uint64_t)(uintptr_t)site << 8 | (uint64_t)shared << 7 | (uint64_t)kind << 5 | bytes, address};
}

/* Distinct values among n. */
static int distinct(const uint64_t *value, int n) {
    int found = 0;
    for (int i = 0; i < n; i++) {
        bool before = false;
        for (int j = 0; j < i && !before; j++) before = value[j] == value[i];
        found += !before;
    }
    return found;
}

/* Shared memory delivers a word from each of its 32 banks at a time; lanes that want the same word share it. Wider
 * accesses are served 16 lanes at a time (8 bytes) or 8 (16 bytes). Passes beyond one for each such group. */
static int conflicts(const request *r, size_t bytes) {
    int group = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8, extra = 0;
    for (int from = 0; from < TD_WARP; from += group) {
        uint64_t words[TD_WARP], bank[TD_WARP];
        int n = 0, most = 1;
        for (int lane = from; lane < from + group; lane++)
            if (r->lanes >> lane & 1)
                for (size_t i = 0; i < (bytes + 3) / 4; i++) words[n++] = r->address[lane] / 4 + i;
        for (int b = 0; b < 32; b++) {
            int m = 0;
            for (int i = 0; i < n; i++)
                if (words[i] % 32 == (uint64_t)b) bank[m++] = words[i];
            int passes = distinct(bank, m);
            if (passes > most) most = passes;
        }
        extra += most - 1;
    }
    return extra;
}

static void count_request(td_emulated_counts *c, const request *r) {
    size_t bytes = r->site & 31;
    td_access kind = (td_access)(r->site >> 5 & 3);
    int lanes = __builtin_popcount(r->lanes), n = 0;
    uint64_t sector[TD_WARP];
    if (r->site >> 7 & 1) {
        if (kind == TD_READ) c->shared_load_requests++, c->shared_load_conflicts += conflicts(r, bytes);
        if (kind == TD_WRITE) c->shared_store_requests++, c->shared_store_conflicts += conflicts(r, bytes);
        return;
    }
    for (int lane = 0; lane < TD_WARP; lane++)
        if (r->lanes >> lane & 1) sector[n++] = r->address[lane] / 32;
    if (kind == TD_ATOMIC) {
        c->global_atomics += lanes * (int64_t)(bytes / 4);
    } else if (kind == TD_READ) {
        c->global_load_requests++;
        c->global_load_sectors += distinct(sector, n);
        c->global_bytes_read += lanes * (int64_t)bytes;
    } else {
        c->global_store_requests++;
        c->global_store_sectors += distinct(sector, n);
        c->global_bytes_written += lanes * (int64_t)bytes;
    }
}

/* The entry of a site in this flush's table. NULL: too many sites. */
static site *look_up(td_counter *c, uint64_t key) {
    size_t i = key * 0x9E3779B97F4A7C15u >> 50; /* 14 bits */
    for (int tries = 0; tries < SITES; tries++, i = (i + 1) % SITES) {
        site *s = &c->sites[i];
        if (s->flush != c->flush) *s = (site){key, c->flush, 0, 0, -1};
        if (s->site == key) return s;
    }
    return NULL;
}

static uint32_t new_request(td_counter *c, uint64_t key) {
    if (c->used + 1 >= c->room) {
        uint32_t more = c->room ? 2 * c->room : 256;
        request *grown = realloc(c->requests, more * sizeof *grown);
        if (!grown) return 0;
        c->requests = grown;
        c->room = more;
    }
    c->requests[++c->used] = (request){.site = key};
    return c->used;
}

/* The lane passes its site once more: the request that this belongs to, or 0 for want of memory. */
static uint32_t passage(td_counter *c, const td_note *note, int lane) {
    site *s = look_up(c, note->site);
    if (!s) return 0;
    uint32_t before = s->lane == lane ? s->last : 0;
    uint32_t r = before ? c->requests[before].next : s->first;
    if (!r) {
        r = new_request(c, note->site);
        if (before)
            c->requests[before].next = r;
        else
            s->first = r;
    }
    s->lane = lane;
    s->last = r;
    return r;
}

void td_emu_count_lanes(td_worker *w, int warp, uint32_t lanes) {
    td_counter *c = w->counter;
    c->flush++;
    c->used = 0;
    for (int lane = 0; lane < TD_WARP; lane++) {
        td_thread *t = &w->threads[warp * TD_WARP + lane];
        if (!(lanes >> lane & 1)) continue;
        for (size_t i = 0; i < t->noted; i++) {
            uint32_t r = passage(c, &t->notes[i], lane);
            if (!r) {
                td_emu_wrong(t, "no memory for counting");
                return;
            }
            c->requests[r].lanes |= (uint32_t)1 << lane;
            c->requests[r].address[lane] = t->notes[i].address;
        }
        t->noted = 0;
    }
    for (uint32_t r = 1; r <= c->used; r++) count_request(&w->counts, &c->requests[r]);
}
