/* Programs that nobody trusts: started, and ended whole. */
#include "sandbox.h"
#include "../file.h"
#include "wire.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

const char *td_tier_name(td_tier tier) {
    static const char *const names[] = {"bubblewrap", "second uid", "none (UNSANDBOXED)"};
    return (unsigned)tier < TD_TIERS ? names[tier] : "?";
}

td_limits td_limits_of_child(void) {
    return (td_limits){(size_t)4 << 30, (size_t)4 << 30, 0, 60, 64, 2, 0};
}

td_limits td_limits_of_compiler(void) {
    return (td_limits){(size_t)4 << 30, (size_t)4 << 30, (size_t)64 << 20, 60, 64, 1, 0};
}

td_status td_sandbox_find(td_sandbox *out, td_tier wanted, td_error *err) {
    *out = (td_sandbox){TD_TIER_NONE, 0, "", ""};
    if (wanted != TD_TIERS && wanted != TD_TIER_NONE)
        return td_fail(err, TD_UNSUPPORTED, "the tier '%s' is not there", td_tier_name(wanted));
    snprintf(out->why, sizeof out->why, "no other tier is there");
    return TD_OK;
}

static void limit(int what, rlim_t most) {
    struct rlimit r = {most, most};
    setrlimit(what, &r);
}

static void become(const td_limits *limits, const char *const *argv, const char *folder, int fd, int output) {
    char threads[32];
    int empty = open("/dev/null", O_RDONLY);
    snprintf(threads, sizeof threads, "OMP_NUM_THREADS=%d", limits->threads);
    char *const environment[] = {threads, "OMP_WAIT_POLICY=passive", "PATH=/usr/bin:/bin", NULL};
    if (setsid() < 0 || (folder && chdir(folder) != 0) || dup2(empty, 0) < 0) _exit(127);
    if (dup2(output, 1) < 0 || dup2(output, 2) < 0 || (fd >= 0 && dup2(fd, TD_WIRE_FD) < 0)) _exit(127);
    for (int i = fd >= 0 ? 4 : 3; i < 256; i++) close(i);
    if (limits->address_bytes) limit(RLIMIT_AS, limits->address_bytes);
    limit(RLIMIT_CPU, (rlim_t)limits->cpu_seconds);
    limit(RLIMIT_CORE, 0);
    execve(argv[0], (char *const *)argv, environment);
    _exit(127);
}

td_status td_sandbox_start(const td_sandbox *sandbox, const td_limits *limits, const char *const *argv,
                           const char *folder, const char *const *readable, int fd, td_process *process,
                           td_error *err) {
    (void)sandbox, (void)readable;
    int out[2];
    if (pipe2(out, O_CLOEXEC) != 0) return td_fail(err, TD_IO, "no pipe for a program: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0) become(limits, argv, folder, fd, out[1]);
    close(out[1]);
    if (pid < 0) {
        close(out[0]);
        return td_fail(err, TD_IO, "no process for a program: %s", strerror(errno));
    }
    *process = (td_process){pid, pid, out[0], -1, -1, 0};
    return TD_OK;
}

size_t td_sandbox_resident(const td_process *process) {
    char path[64], line[256];
    unsigned long long kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", process->inner);
    FILE *in = fopen(path, "r");
    if (!in) return 0;
    while (fgets(line, sizeof line, in) && sscanf(line, "VmHWM: %llu", &kib) != 1) continue;
    fclose(in);
    return (size_t)kib * 1024;
}

int td_sandbox_over(const td_process *process) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)process->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

void td_sandbox_end(const td_sandbox *sandbox, td_process *process, td_ended *ended) {
    struct rusage used;
    (void)sandbox;
    ended->resident_bytes = td_sandbox_resident(process);
    kill(process->inner, SIGKILL);
    while (wait4(process->pid, &ended->status, 0, &used) < 0 && errno == EINTR) continue;
    ended->cpu_seconds = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                         1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}
