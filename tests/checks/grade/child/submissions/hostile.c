/* A submission that does what it is told to, most of which no submission should. */

#define _GNU_SOURCE
#include "hostile.h"
#include "tandem/status.h"
#include "tandem/tensor.h"
#include <fcntl.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xmmintrin.h>

typedef struct reader {
    const char *at, *end;
} reader;
td_status td_child_ask(uint32_t what, const void *question, size_t bytes, reader *answer, td_error *err);

static volatile int zero;
static volatile char sink;

static int deep(int n) {
    volatile char much[4096];
    much[n % 4096] = 1;
    return n < 0 ? 0 : deep(n + 1) + much[n % 4096];
}

static void say(const void *bytes, size_t n) {
    if (write(3, bytes, n) != (ssize_t)n) _exit(9);
}

static void *late(void *what) {
    usleep(20000);
    say("too late for anybody to hear", 28);
    return what;
}

static int processors(void) {
    int sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += 1;
    return sum;
}

static void use_memory(void) {
    for (;;) {
        char *more = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(more, 1, 8 << 20); /* MAP_FAILED, at last */
    }
}

/* TD_WRONG if what must not work works. */
static td_status refused(int failed) {
    return failed ? TD_OK : TD_WRONG;
}

static td_status attempt(uint32_t what, float *y, long n) {
    char *const words[] = {"/bin/sh", "-c", "true", NULL};
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    uint64_t head[2] = {(uint64_t)what << 32 | 0x7d05, (uint64_t)1 << 40};
    uint32_t done[(16 + 328) / 4] = {0x7d05, what, 328};
    pthread_t thread;
    switch (what) {
    case ABORTS: abort();
    case EXITS: exit(0);
    case LOOPS:
        for (;;) zero = 0;
    case STOPS: raise(SIGSTOP); return TD_OK;
    case PRINTS:
        for (;;) sink = write(1, words, sizeof words) > 0;
    case GARBLES: say("no message at all", 17); return TD_OK;
    case CLAIMS_MUCH: say(head, sizeof head); return TD_OK;
    case SAYS_HALF:
        say(head, 7);
        pause();
        return TD_OK;
    case HANGS_UP:
        close(3);
        for (;;) pause();
    case CLOSES_ALL:
        for (int fd = 0; fd < 1024; fd++) close(fd);
        for (;;) pause();
    case FORKS: return refused(fork() < 0);
    case CONNECTS: return refused(socket(AF_INET, SOCK_STREAM, 0) < 0);
    case KILLS: return refused(kill(getppid(), SIGKILL) != 0);
    case EXECUTES: return refused(execv(words[0], words) != 0);
    case TRACES: return refused(ptrace(PTRACE_TRACEME, 0, 0, 0) != 0);
    case OPENS: return refused(open("/etc/passwd", O_RDONLY) < 0 && open("out", O_CREAT | O_WRONLY, 0644) < 0);
    case LIFTS_LIMITS: return refused(setrlimit(RLIMIT_AS, &limit) != 0 || geteuid() == 0);
    case OUTLIVES: return refused(prctl(PR_SET_PDEATHSIG, 0) != 0);
    case USES_MEMORY: use_memory(); return TD_OK;
    case UNMAPS: munmap((void *)((uintptr_t)y & ~4095UL), 4096); return TD_OK;
    case ROUNDS_UP: fesetround(FE_UPWARD); return TD_OK;
    case FLUSHES: _mm_setcsr(_mm_getcsr() | 0x8040); return TD_OK;
    case GOES_ON: pthread_create(&thread, NULL, late, NULL); return TD_OK;
    case FAKES_DONE: say(done, 16 + 328); return TD_OK;
    case IS_PARALLEL: y[0] = (float)processors(); return TD_OK;
    case OVERFLOWS: return (td_status)deep(0);
    case DIVIDES: return (td_status)((int)n / zero);
    default: return TD_OK;
    }
}

td_status probe(uint32_t what, const td_tensor *x, const td_tensor *y, td_error *err) {
    float *in = x->data, *out = y->data;
    long n = x->size[3];
    reader answer;
    if (what == WRITES_BEHIND) out[n] = 0;
    if (what == READS_BEFORE) out[0] = in[-1];
    if (what == WRITES_INPUT) in[0] = 0;
    if (what == WRITES_NULL) *(volatile int *)(uintptr_t)zero = 1;
    if (what == DECLINES) return td_fail(err, TD_UNSUPPORTED, "not written yet");
    for (long i = 0; i < n; i++) out[i] = 2 * in[i];
    while (what == ASKS_ON) td_child_ask(77, "question", 8, &answer, err);
    if (what != ASKS) return attempt(what, out, n);
    td_status status = td_child_ask(77, "question", 8, &answer, err);
    if (!status) memcpy(out, answer.at, 4);
    return status;
}
