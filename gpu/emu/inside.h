/* What the emulator's files share. A kernel is compiled with -fsanitize=thread, so that it calls out before each load
 * and store (callbacks.c). A block runs on one thread of the host (launch.c); its threads are contexts that take turns
 * there (threads.c) and change places at barriers and warp operations alone (barriers.c, warps.c). Each access is
 * looked up in what is known of its bytes: may they be touched, were they written (memory.c), who touched them last
 * (races.c). */
#ifndef TANDEM_GPU_EMU_INSIDE_H
#define TANDEM_GPU_EMU_INSIDE_H

#include "emu.h"
#include "tandem/device.h"
#include <stdbool.h>

enum {
    TD_WARP = 32,
    TD_MAX_THREADS = 1024,
    TD_MAX_STATIC_SHARED = 48 * 1024,
    TD_MAX_SHARED = 227 * 1024,
    TD_SHARED_SLOT = 256 * 1024, /* address space of one block's dynamic shared memory */
    TD_WORKERS = 256,            /* host threads, at most */
    TD_STACK = 512 * 1024,       /* of a thread, which is what a GPU gives it at most */
    TD_OVERFLOW = 512 * 1024,    /* below it: what lands there is reported */
    TD_PATIENCE = 1 << 26,       /* accesses of a thread between two synchronisations: more are a loop without end */
    TD_MAX_BARRIERS = 1 << 20,   /* of a block: more are a loop without end */
    TD_NAME = 64,                /* of a kernel */
    TD_MESSAGE = 320
};

/* In the place of a warp in a stamp (races.c); and a bit of the stamp of a word to which a copy is on its way. */
enum { TD_SEVERAL_WARPS = 62, TD_MANY_BLOCKS = 63, TD_IN_FLIGHT = 0x200 };

typedef enum { TD_READ, TD_WRITE, TD_ATOMIC } td_access;

/* Who touched a word of four bytes last, and when: see races.c. */
typedef struct td_cell {
    uint64_t read, written;
    uint32_t readers, writers;
} td_cell;

/* An access as the counts need it: where in the code, shared, kind and bytes in one number (counts.c); address. */
typedef struct td_note {
    uint64_t site, address;
} td_note;

/* A copy that was started: what will stand at `to`, which is shared memory, and `from` where, if not zeros. */
typedef struct td_copy {
    void *to;
    const void *from;
    td_cell *words; /* what is known of `to` */
    float value[4];
    size_t bytes;
    int group; /* groups of its thread that were closed before it */
} td_copy;

struct td_worker;

/* A thread of a kernel. */
typedef struct td_thread {
    uint64_t now;     /* stamp of its accesses: block, time of its warp's last synchronisation, warp */
    uint64_t several; /* stamp of accesses by several warps since the last barrier */
    uint64_t many;    /* stamp of accesses by several blocks of the launch */
    uint32_t bit;     /* of its lane */
    int index, lane, warp;
    int patience; /* accesses that it has left until it must synchronise */
    bool counting;
    struct td_worker *worker;
    unsigned id[3];
    enum { TD_READY, TD_AT_WARP, TD_AT_BARRIER, TD_FINISHED } state;
    /* What it waits for. */
    int line, site, kind, source; /* site: tells barriers apart that stand in one line */
    uint32_t mask;
    uint64_t value;
    bool fresh; /* its context must be made before it can run */
    void *context[5];
    char *stack;
    td_note *notes; /* since its last synchronisation, where accesses are counted */
    size_t noted, note_room;
    td_copy *copies; /* on their way from global to shared memory */
    size_t copying, copy_room;
    int groups;      /* of copies, that it has closed */
    void *registers; /* what it brings to a matrix operation, and takes from there */
} td_thread;

typedef struct td_warp {
    uint32_t ready, waiting; /* lanes that can run; lanes that wait at a warp operation */
    /* Lane t knows of lane u's accesses before time max(synced, known[t][u]). */
    uint64_t synced, known[TD_WARP][TD_WARP];
    bool partly; /* whether `known` says more than `synced` */
} td_warp;

typedef struct td_launch {
    char name[TD_NAME];
    unsigned grid[3], block[3];
    size_t shared_bytes;
    void (*body)(const void *);
    const void *arguments;
    int threads;
    int64_t blocks, next; /* next: the block that the next idle worker takes */
    int era;              /* in which stamps are comparable */
    uint64_t first;       /* stamp of block 0 at time 0 */
    uint64_t many;        /* stamp of accesses by several blocks */
    bool counting;
    td_emulated_counts counts;
    bool no_memory;
    bool alone;               /* one worker runs it all */
    int64_t wrong;            /* the lowest block that went wrong; `blocks` if none did */
    char message[TD_MESSAGE]; /* of that block */
} td_launch;

/* A thread of the host, with the block that it runs. */
typedef struct td_worker {
    td_launch *launch;
    unsigned block[3];
    int64_t index;         /* of the block */
    uint64_t start, floor; /* stamps of the block at time 0 and at the last barrier */
    uint64_t clock;        /* counts synchronisations in the block */
    int passed;            /* counts its barriers */
    size_t static_shared;  /* bytes of it that the block has written */
    uintptr_t static_low;  /* the lowest address of it that the block has written */
    bool wrong;
    char complaint[TD_MESSAGE]; /* of an unwritten byte read, until the next barrier */
    char message[TD_MESSAGE];
    char *dynamic; /* its slot of dynamic shared memory */
    char *statics; /* the host thread's own data, among them __shared__ arrays */
    size_t statics_bytes;
    uintptr_t program, program_end; /* code and constants of the program or library */
    td_cell *static_words, *static_bytes;
    void *scheduler[5];
    const void *owner; /* the host thread: where its td_running lies */
    int made;          /* threads that have a stack */
    td_thread threads[TD_MAX_THREADS];
    td_warp warps[TD_MAX_THREADS / TD_WARP];
    int era; /* of what is known of its shared memory */
    struct td_counter *counter;
    td_emulated_counts counts;
} td_worker;

/* The kernel thread that this host thread runs now, or NULL. */
extern _Thread_local td_thread *td_running;

/* The arena: device memory and the blocks' dynamic shared memory, and what is known of each of its bytes. */
#ifndef TD_ARENA_MIB
#define TD_ARENA_MIB 4096
#endif
#define TD_ARENA ((size_t)TD_ARENA_MIB << 20)
#define TD_GLOBAL (TD_ARENA - (size_t)TD_WORKERS * TD_SHARED_SLOT) /* behind it lie the dynamic shared memories */
enum { TD_EXPOSED = 1, TD_INITIALISED = 2 };                       /* bits of a byte's state */
typedef struct td_arena {
    char *data;
    uint8_t *state;
    td_cell *words, *bytes;
} td_arena;
extern td_arena td_device_memory;

/* memory.c */
bool td_emu_start(void);
void *td_emu_map(size_t bytes); /* zeroed address space, paid for as it is touched; NULL if there is none */
void td_emu_forget(void *mapped, size_t bytes);
/* Device memory, if it is hidden, is to be touched now; it was. */
void td_emu_open(void);
void td_emu_close(void);
/* "buffer of 512 bytes + 516 (4 past its end)"; for a kernel's thread also shared memory and the like. */
void td_emu_describe_global(char *text, size_t size, uintptr_t address);
void td_emu_describe(char *text, size_t size, const td_thread *t, uintptr_t address);
void td_emu_mark(void *pointer, size_t bytes, uint8_t set, uint8_t clear);
bool td_emu_holds(const void *pointer, size_t bytes);
void *td_emu_alloc(void *context, size_t bytes, td_tag tag);
void td_emu_free(void *context, void *pointer);
bool td_emu_expose(void *pointer, size_t bytes);
/* Stamps begin anew: nothing is known of who touched what. */
void td_emu_forget_accesses(void);

/* access.c: the access is legal, or this does not return. */
void td_emu_access(td_thread *t, uintptr_t address, size_t bytes, size_t alignment, td_access kind);
/* What is known of the word at an address of the block's shared memory; NULL anywhere else. */
td_cell *td_emu_shared_word(const td_worker *w, uintptr_t address);

/* callbacks.c: the running thread touches p, from this place in its code: counted, and legal, or it does not return. */
void td_emu_use(const void *p, size_t bytes, td_access kind, const void *site);

/* races.c: the same for the bytes of one word, in what is known of it and of its four bytes. */
typedef struct td_conflict {
    bool found;
    td_access kind;
    int lane, warp; /* -1: several */
    int64_t block;  /* -1: several */
} td_conflict;
td_conflict td_emu_touch(const td_thread *t, td_cell *word, td_cell *bytes, unsigned first, unsigned count,
                         td_access kind, bool shared);
/* As if only this thread had ever touched them. */
void td_emu_take_over(const td_thread *t, td_cell *word, td_cell *bytes, unsigned first, unsigned count,
                      td_access kind);
bool td_emu_block_wrote(const td_thread *t, const td_cell *word, const td_cell *bytes, unsigned first, unsigned count);

/* counts.c */
bool td_emu_counting(void);
void td_emu_note(td_thread *t, uintptr_t address, size_t bytes, td_access kind, const void *site);
/* These lanes of the warp have met: what they asked for since they last did is added to the worker's counts. */
void td_emu_count_lanes(td_worker *w, int warp, uint32_t lanes);
void td_emu_add_counts(td_emulated_counts *to, const td_emulated_counts *from);
bool td_emu_count_into(const char *kernel, const td_emulated_counts *counts);
struct td_counter *td_emu_counter(void); /* NULL: no memory */

/* threads.c */
td_worker *td_emu_worker(int number, td_launch *launch); /* NULL: no memory */
/* Until no lane of the warp is ready: they switch from one to the next, the lowest first. */
void td_emu_run_lanes(td_worker *w, int warp);
void td_emu_pause(td_thread *t);
_Noreturn void td_emu_leave(td_worker *w); /* to the scheduler, for good */

/* barriers.c */
void td_emu_run_block(td_worker *w);
uint64_t td_emu_tick(td_worker *w); /* a synchronisation in the block: its time */

/* faults.c */
/* The thread's block goes no further, for this reason. Returns only to the scheduler, not to a kernel's thread. */
void td_emu_wrong(td_thread *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same at the next barrier, if nothing else is found until then. */
void td_emu_complain(td_thread *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The worker's block goes no further; an earlier complaint comes first, since what went wrong now may follow from it.
 */
void td_emu_give_up(td_worker *w);
/* Of two blocks that meet it is the later one that went wrong, whichever of them ran first; returns if this is not t's.
 */
void td_emu_race(td_thread *t, uintptr_t address, td_access kind, const td_conflict *c);
/* The host's part of a .cu file touches this; on a GPU it could not, if it is device memory. */
void td_emu_host_access(uintptr_t address);
td_status td_emu_host_fault(td_error *err); /* TD_WRONG if it has, since it was last asked */
/* A block went wrong; the lowest one counts. */
void td_emu_report(td_launch *l, int64_t block, const char message[TD_MESSAGE]);

/* warps.c */
enum { TD_SYNC, TD_VOTE, TD_SHUFFLE, TD_MMA_BF16, TD_MMA_FP16, TD_LDMATRIX, TD_LDMATRIX_TRANSPOSED };
/* The thread comes to an operation of the lanes in `mask`. True: all others wait there already; td_emu_go_on lets them
 * and itself go on. False: another one has done the work meanwhile. */
bool td_emu_arrive(td_thread *t, int kind, uint32_t mask, int line);
void td_emu_go_on(td_thread *t);
void td_emu_blame_warp(td_worker *w, int warp);

#endif
