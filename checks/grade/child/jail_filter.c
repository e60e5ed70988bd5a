/* Which system calls a submission may make. A child: memory, threads, time, and its descriptors; whatever it would do
 * to files fails as if they were forbidden, and what has no honest use at all ends it. */
#include "jail.h"
#include <errno.h>
#ifdef TD_HAVE_LIBSECCOMP
#include <fcntl.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <unistd.h>

#define COUNT(list) (int)(sizeof(list) / sizeof *(list))
static scmp_filter_ctx filter;

/* A system call that this libseccomp or this machine does not know has a negative number: the default holds for it. */
static int all(uint32_t action, const int *calls, int n) {
    for (int i = 0; i < n; i++) {
        int failed = calls[i] < 0 ? 0 : seccomp_rule_add(filter, action, calls[i], 0);
        if (failed) return failed;
    }
    return 0;
}

static const int harmless[] = {SCMP_SYS(read),
                               SCMP_SYS(write),
                               SCMP_SYS(readv),
                               SCMP_SYS(writev),
                               SCMP_SYS(close),
                               SCMP_SYS(lseek),
                               SCMP_SYS(fstat),
                               SCMP_SYS(mmap),
                               SCMP_SYS(munmap),
                               SCMP_SYS(mprotect),
                               SCMP_SYS(mremap),
                               SCMP_SYS(madvise),
                               SCMP_SYS(brk),
                               SCMP_SYS(futex),
                               SCMP_SYS(set_robust_list),
                               SCMP_SYS(rseq),
                               SCMP_SYS(rt_sigprocmask),
                               SCMP_SYS(rt_sigreturn),
                               SCMP_SYS(rt_sigaction),
                               SCMP_SYS(sigaltstack),
                               SCMP_SYS(restart_syscall),
                               SCMP_SYS(exit),
                               SCMP_SYS(exit_group),
                               SCMP_SYS(sched_getaffinity),
                               SCMP_SYS(sched_yield),
                               SCMP_SYS(clock_gettime),
                               SCMP_SYS(clock_getres),
                               SCMP_SYS(gettimeofday),
                               SCMP_SYS(time),
                               SCMP_SYS(nanosleep),
                               SCMP_SYS(clock_nanosleep),
                               SCMP_SYS(pause),
                               SCMP_SYS(getpid),
                               SCMP_SYS(getppid),
                               SCMP_SYS(gettid),
                               SCMP_SYS(getuid),
                               SCMP_SYS(geteuid),
                               SCMP_SYS(getgid),
                               SCMP_SYS(getegid),
                               SCMP_SYS(getrandom),
                               SCMP_SYS(getcpu),
                               SCMP_SYS(getrusage),
                               SCMP_SYS(times),
                               SCMP_SYS(getrlimit),
                               SCMP_SYS(uname),
                               SCMP_SYS(sysinfo),
                               SCMP_SYS(arch_prctl),
                               SCMP_SYS(set_tid_address)};
static const int files[] = {SCMP_SYS(open),     SCMP_SYS(openat),    SCMP_SYS(openat2),    SCMP_SYS(creat),
                            SCMP_SYS(stat),     SCMP_SYS(lstat),     SCMP_SYS(newfstatat), SCMP_SYS(statx),
                            SCMP_SYS(access),   SCMP_SYS(faccessat), SCMP_SYS(readlink),   SCMP_SYS(readlinkat),
                            SCMP_SYS(unlink),   SCMP_SYS(unlinkat),  SCMP_SYS(rename),     SCMP_SYS(renameat2),
                            SCMP_SYS(truncate), SCMP_SYS(mkdir),     SCMP_SYS(chdir),      SCMP_SYS(chmod)};
/* No submission that solves an exercise needs these. */
static const int hostile[] = {SCMP_SYS(fork),
                              SCMP_SYS(vfork),
                              SCMP_SYS(execve),
                              SCMP_SYS(kill),
                              SCMP_SYS(tkill),
                              SCMP_SYS(rt_sigqueueinfo),
                              SCMP_SYS(rt_tgsigqueueinfo),
                              SCMP_SYS(pidfd_send_signal),
                              SCMP_SYS(pidfd_open),
                              SCMP_SYS(pidfd_getfd),
                              SCMP_SYS(ptrace),
                              SCMP_SYS(process_vm_readv),
                              SCMP_SYS(process_vm_writev),
                              SCMP_SYS(socket),
                              SCMP_SYS(socketpair),
                              SCMP_SYS(connect),
                              SCMP_SYS(bind),
                              SCMP_SYS(unshare),
                              SCMP_SYS(setns),
                              SCMP_SYS(mount),
                              SCMP_SYS(umount2),
                              SCMP_SYS(pivot_root),
                              SCMP_SYS(chroot),
                              SCMP_SYS(bpf),
                              SCMP_SYS(perf_event_open),
                              SCMP_SYS(io_uring_setup),
                              SCMP_SYS(userfaultfd),
                              SCMP_SYS(keyctl),
                              SCMP_SYS(add_key),
                              SCMP_SYS(request_key),
                              SCMP_SYS(init_module),
                              SCMP_SYS(finit_module),
                              SCMP_SYS(kexec_load),
                              SCMP_SYS(reboot),
                              SCMP_SYS(memfd_create),
                              SCMP_SYS(shmget),
                              SCMP_SYS(setuid),
                              SCMP_SYS(setgid),
                              SCMP_SYS(setreuid),
                              SCMP_SYS(setresuid),
                              SCMP_SYS(seccomp)};
static const int hostile_to_gpu[] = {SCMP_SYS(kill),
                                     SCMP_SYS(tkill),
                                     SCMP_SYS(rt_sigqueueinfo),
                                     SCMP_SYS(pidfd_send_signal),
                                     SCMP_SYS(pidfd_getfd),
                                     SCMP_SYS(ptrace),
                                     SCMP_SYS(process_vm_readv),
                                     SCMP_SYS(process_vm_writev),
                                     SCMP_SYS(unshare),
                                     SCMP_SYS(setns),
                                     SCMP_SYS(mount),
                                     SCMP_SYS(pivot_root),
                                     SCMP_SYS(chroot),
                                     SCMP_SYS(bpf),
                                     SCMP_SYS(io_uring_setup),
                                     SCMP_SYS(userfaultfd),
                                     SCMP_SYS(keyctl),
                                     SCMP_SYS(add_key),
                                     SCMP_SYS(init_module),
                                     SCMP_SYS(reboot)};
/* A driver tries some of these, and goes on without them. */
static const int refused_to_gpu[] = {SCMP_SYS(fork), SCMP_SYS(vfork), SCMP_SYS(execve), SCMP_SYS(socket)};

/* Threads, but no processes; the one program, once (its descriptor closes as it starts); limits are read, not set;
 * signals go to itself, as a failed assertion sends one. clone3 hides its flags in memory: the C library then takes
 * clone. */
static int in_part(td_jail_filter kind) {
    const uint32_t kill = SCMP_ACT_KILL_PROCESS, fork = kind == TD_FILTER_GPU ? SCMP_ACT_ERRNO(EPERM) : kill;
    const uint32_t allow = SCMP_ACT_ALLOW, gpu = kind == TD_FILTER_GPU;
    int failed = 0;
    if (!failed)
        failed = seccomp_rule_add(filter, fork, SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
    if (!failed) failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    if (!failed)
        failed = seccomp_rule_add(filter, gpu ? SCMP_ACT_ERRNO(EPERM) : kill, SCMP_SYS(execveat), 1,
                                  SCMP_A0(SCMP_CMP_NE, TD_JAIL_PROGRAM_FD));
    if (!failed)
        failed = seccomp_rule_add(filter, kill, SCMP_SYS(tgkill), 1, SCMP_A0(SCMP_CMP_NE, (scmp_datum_t)getpid()));
    if (failed || gpu) return failed;
    failed =
        seccomp_rule_add(filter, allow, SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
    if (!failed)
        failed = seccomp_rule_add(filter, allow, SCMP_SYS(execveat), 2, SCMP_A0(SCMP_CMP_EQ, TD_JAIL_PROGRAM_FD),
                                  SCMP_A4(SCMP_CMP_EQ, AT_EMPTY_PATH));
    if (!failed)
        failed = seccomp_rule_add(filter, allow, SCMP_SYS(tgkill), 1, SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
    if (!failed)
        failed =
            seccomp_rule_add(filter, allow, SCMP_SYS(prlimit64), 2, SCMP_A0(SCMP_CMP_EQ, 0), SCMP_A2(SCMP_CMP_EQ, 0));
    return failed;
}

int td_jail_filter_make(td_jail_filter kind) {
    if (kind == TD_FILTER_NONE) return 0;
    const int gpu = kind == TD_FILTER_GPU;
    filter = seccomp_init(gpu ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(EPERM));
    if (!filter) return -ENOMEM;
    int failed = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (!failed) failed = in_part(kind);
    if (gpu) {
        if (!failed) failed = all(SCMP_ACT_KILL_PROCESS, hostile_to_gpu, COUNT(hostile_to_gpu));
        return failed ? failed : all(SCMP_ACT_ERRNO(EPERM), refused_to_gpu, COUNT(refused_to_gpu));
    }
    if (!failed) failed = all(SCMP_ACT_ALLOW, harmless, COUNT(harmless));
    if (!failed) failed = all(SCMP_ACT_ERRNO(EACCES), files, COUNT(files));
    return failed ? failed : all(SCMP_ACT_KILL_PROCESS, hostile, COUNT(hostile));
}

int td_jail_filter_load(void) {
    return filter ? seccomp_load(filter) : 0;
}

#else

int td_jail_filter_make(td_jail_filter kind) {
    return kind == TD_FILTER_NONE ? 0 : -ENOSYS;
}
int td_jail_filter_load(void) {
    return 0;
}

#endif
