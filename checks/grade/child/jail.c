/* The launcher: the last program before one that nobody trusts. It lays down limits, gives up its uid and every
 * descriptor, puts the filter in place, and becomes that program. If one of these fails, nothing is run. */
#include "jail.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void fail(const char *what, int reason) {
    dprintf(TD_JAIL_REPORT_FD, "%s: %s", what, strerror(reason));
    dprintf(STDERR_FILENO, "the launcher: %s: %s\n", what, strerror(reason));
    _exit(TD_JAIL_FAILED);
}

static void limit(int what, const char *name, unsigned long long soft, unsigned long long hard) {
    struct rlimit r = {soft, hard};
    if (setrlimit(what, &r) != 0) fail(name, errno);
}

static void set_limits(unsigned long long address, unsigned long long file, unsigned long long cpu,
                       unsigned long long processes) {
    enum { STACK = 8 << 20, DESCRIPTORS = 256 };
    if (address) limit(RLIMIT_AS, "RLIMIT_AS", address, address);
    limit(RLIMIT_FSIZE, "RLIMIT_FSIZE", file, file);
    limit(RLIMIT_CPU, "RLIMIT_CPU", cpu, cpu + 1);
    if (processes) limit(RLIMIT_NPROC, "RLIMIT_NPROC", processes, processes);
    limit(RLIMIT_CORE, "RLIMIT_CORE", 0, 0);
    limit(RLIMIT_STACK, "RLIMIT_STACK", STACK, STACK);
    limit(RLIMIT_NOFILE, "RLIMIT_NOFILE", DESCRIPTORS, DESCRIPTORS);
}

static void become(long uid) {
    if (uid < 0) return;
    if (setgroups(0, NULL) != 0) fail("setgroups", errno);
    if (setgid((gid_t)uid) != 0) fail("setgid", errno);
    if (setuid((uid_t)uid) != 0) fail("setuid", errno);
    if (setuid(0) == 0) fail("root is still within reach", EPERM);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "ok") == 0) return 0; /* the sandbox is tried out with us inside */
    if (argc < TD_JAIL_ARGUMENTS + 3) {
        fputs("jail is called by tandem\n", stderr);
        return 2;
    }
    unsigned long long n[TD_JAIL_ARGUMENTS + 1];
    for (int i = 1; i < TD_JAIL_ARGUMENTS; i++) n[i] = strtoull(argv[i], NULL, 10);
    char **program = argv + TD_JAIL_ARGUMENTS + 2, threads[40], go;
    snprintf(threads, sizeof threads, "OMP_NUM_THREADS=%llu", n[7]);
    char *child[] = {threads, "OMP_WAIT_POLICY=passive", NULL};
    char *compiler[] = {
        "PATH=/usr/local/bin:/usr/bin:/bin", "TMPDIR=.", "HOME=.", "LC_ALL=C", "CCACHE_DISABLE=1", NULL};

    const int given = fcntl(TD_JAIL_PROGRAM_FD, F_SETFD, FD_CLOEXEC) == 0;
    if (fcntl(TD_JAIL_REPORT_FD, F_SETFD, FD_CLOEXEC) != 0) return TD_JAIL_FAILED;
    if (syscall(SYS_close_range, TD_JAIL_ITSELF_FD, ~0U, 0) != 0)
        for (int fd = TD_JAIL_ITSELF_FD; fd < 65536; fd++) close(fd);
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
    signal(SIGXFSZ, SIG_IGN); /* to write too large a file is an error then, and no death */
    umask(022);
    set_limits(n[3], n[4], n[5], n[6]);
    become(strtol(argv[2], NULL, 10));
    /* After the change of uid, which would forget it. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail("PR_SET_PDEATHSIG", errno);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail("PR_SET_NO_NEW_PRIVS", errno);
    int failed = strcmp(argv[TD_JAIL_ARGUMENTS], "-") == 0 ? 0 : td_jail_fence(argv[TD_JAIL_ARGUMENTS]);
    if (failed) fail("files cannot be put out of reach", -failed);
    failed = td_jail_filter_make((td_jail_filter)n[1]);
    if (failed) fail("the filter cannot be made", -failed);
    if (write(TD_JAIL_REPORT_FD, "R", 1) != 1 || read(TD_JAIL_REPORT_FD, &go, 1) != 1) return TD_JAIL_FAILED;
    failed = td_jail_filter_load();
    if (failed) fail("the filter cannot be loaded", -failed);
    char **environment = given ? child : compiler;
    if (given)
        syscall(SYS_execveat, TD_JAIL_PROGRAM_FD, "", program, environment, AT_EMPTY_PATH);
    else
        execve(program[0], program, environment);
    if (errno != ENOMEM) fail(program[0], errno);
    fputs("it needs more memory than there is\n", stderr); /* arrays too large: its own fault */
    return TD_JAIL_FAILED;
}
