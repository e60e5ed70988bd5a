/* Where code that nobody trusts runs: three tiers, of which the best that works here is used, and named in every
 * report.
 *
 *   bubblewrap   namespaces of its own (no network, no processes but its own, no files but the system's libraries and
 *                what is given, an empty /tmp), and all that the next tier has
 *   second uid   root starts it under a uid that owns nothing; a seccomp filter; limits
 *   none         limits, and the filter where there is one, but the caller's own uid: "unsandboxed", said loudly
 *
 * The filter (child/jail.c): no file is opened, nothing is executed, no process but threads, no socket, no signal to
 * others. It stands before the first instruction of the program, constructors included; the program is static, and
 * needs none of it. Compilers get namespaces or the second uid, and limits, but no filter; without namespaces Landlock
 * keeps other files from them, where the kernel has it. */
#ifndef TANDEM_GRADE_SANDBOX_H
#define TANDEM_GRADE_SANDBOX_H

#include "tandem/status.h"
#include <stddef.h>
#include <sys/types.h>

typedef enum td_tier { TD_TIER_BUBBLEWRAP = 0, TD_TIER_SECOND_UID, TD_TIER_NONE, TD_TIERS } td_tier;
/* "bubblewrap", "second uid", "none (UNSANDBOXED)" */
const char *td_tier_name(td_tier tier);

typedef struct td_sandbox {
    td_tier tier;
    int filtered;    /* seccomp is there */
    int fenced;      /* a compiler reads no file but the system's programs and what it is given */
    char why[160];   /* why no better tier; "" for the best */
    char jail[4096]; /* path of the launcher that sets limits and filter */
} td_sandbox;

/* The best tier that works, found by trying it (bwrap may be there and yet forbidden); `wanted` TD_TIERS. Else that
 * tier, or TD_UNSUPPORTED with the reason. */
td_status td_sandbox_find(td_sandbox *out, td_tier wanted, td_error *err);

typedef struct td_limits {
    size_t address_bytes; /* 0 = none: CUDA cannot bear one, a watchdog looks at what is resident instead */
    size_t resident_bytes;
    size_t file_bytes; /* largest file that may be written; 0 for none */
    int cpu_seconds;
    int processes; /* and threads; where it has a uid of its own, whose the kernel counts */
    int threads;   /* OMP_NUM_THREADS, and how many processors it has */
    int gpu;       /* the GPU's device files are there, and the filter lets its driver work */
} td_limits;
td_limits td_limits_of_child(void), td_limits_of_compiler(void);

/* A program under way. `pid` is what the caller's process waits for; `inner` is the program itself, seen from here. */
typedef struct td_process {
    pid_t pid, inner;
    int output;   /* its standard output and errors, one pipe; whoever started it reads and closes this */
    int handle;   /* pidfd of inner: it cannot come to mean another process; −1: this kernel has none */
    int init;     /* pidfd of its namespace's first process; −1: it has none of its own */
    int uid_lock; /* holds its uid for it alone; −1: it runs under the caller's */
    uid_t uid;
} td_process;

/* Where a namespace has its working folder. */
#define TD_SANDBOX_FOLDER "/work"

/* A program started: argv[0] is its full path. `folder` is its working folder, writable if file_bytes > 0 (NULL: the
 * root folder); read-only it may see `readable` (NULL-terminated, full paths; a child needs none). fd becomes
 * descriptor TD_WIRE_FD; −1: none. Standard input is empty. */
td_status td_sandbox_start(const td_sandbox *sandbox, const td_limits *limits, const char *const *argv,
                           const char *folder, const char *const *readable, int fd, td_process *process, td_error *err);
/* Kill all of it and wait; afterwards no process of it is left. May be called when it has ended by itself. */
typedef struct td_ended {
    int status; /* of waitpid */
    double cpu_seconds;
    size_t resident_bytes; /* most that it ever had, told by the kernel */
} td_ended;
void td_sandbox_end(const td_sandbox *sandbox, td_process *process, td_ended *ended);
/* A signal to the program itself. */
void td_sandbox_signal(const td_process *process, int number);
/* Has it ended by itself? Its end is still to be asked for. */
int td_sandbox_over(const td_process *process);
/* The most memory that it had until now: its own, whatever started it. 0 when it is no more. */
size_t td_sandbox_resident(const td_process *process);
/* The same of its address space, which is what has a limit. */
size_t td_sandbox_address(const td_process *process);

#endif
