/* Programs that nobody trusts: which tier there is, and how they are ended whole. */
#include "sandbox.h"
#include "../file.h"
#include "sandbox_parts.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

const char *td_tier_name(td_tier tier) {
    static const char *const names[] = {"bubblewrap", "second uid", "none (UNSANDBOXED)"};
    return (unsigned)tier < TD_TIERS ? names[tier] : "?";
}

td_limits td_limits_of_child(void) {
    return (td_limits){(size_t)4 << 30, 0, 0, 60, 64, 2, 0};
}

td_limits td_limits_of_compiler(void) {
    return (td_limits){(size_t)4 << 30, 0, (size_t)64 << 20, 30, 64, 1, 0};
}

const char *td_bubblewrap(void) {
    static const char *const places[] = {"/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (access(places[i], X_OK) == 0) return places[i];
    return NULL;
}

/* The launcher, run in the tier as a child is, filter and all. */
static td_status try_out(const td_sandbox *sandbox, td_error *err) {
    const char *argv[] = {sandbox->jail, "ok", NULL};
    td_limits limits = td_limits_of_child();
    td_process process;
    td_ended ended;
    if (sandbox->tier == TD_TIER_BUBBLEWRAP && !td_bubblewrap())
        return td_fail(err, TD_UNSUPPORTED, "bwrap is not installed");
    if (sandbox->tier == TD_TIER_SECOND_UID && geteuid() != 0)
        return td_fail(err, TD_UNSUPPORTED, "only root has a second uid to give");
    if (sandbox->tier != TD_TIER_NONE && !sandbox->filtered)
        return td_fail(err, TD_UNSUPPORTED, "this build has no libseccomp");
    td_status status = td_sandbox_start(sandbox, &limits, argv, NULL, NULL, STDERR_FILENO, &process, err);
    if (status) return status;
    td_process_gone(process.handle, 10);
    for (int i = 0; i < 1000 && !td_sandbox_over(&process); i++) usleep(1000);
    td_sandbox_end(sandbox, &process, &ended);
    close(process.output);
    return ended.status == 0 ? TD_OK : td_fail(err, TD_UNSUPPORTED, "a program does not run there");
}

/* Its version, if this kernel has it. */
static int landlock(void) {
#ifdef SYS_landlock_create_ruleset
    const unsigned version = 1;
    return syscall(SYS_landlock_create_ruleset, NULL, 0, version) > 0;
#else
    return 0;
#endif
}

/* Below it no child could be given its own limit; and threads of ours would end the grader, one knows not how. */
static td_status room(td_error *err) {
    struct rlimit limit;
    const size_t most = td_limits_of_child().address_bytes;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= most) return TD_OK;
    return td_fail(err, TD_NO_MEMORY,
                   "address space is limited to %llu MiB (ulimit -v): a grader needs %zu, or no limit",
                   (unsigned long long)limit.rlim_cur >> 20, most >> 20);
}

td_status td_sandbox_find(td_sandbox *out, td_tier wanted, td_error *err) {
    td_error first = {TD_OK, ""}, why;
    td_status status;
    *out = (td_sandbox){.tier = TD_TIER_NONE};
#ifdef TD_HAVE_LIBSECCOMP
    out->filtered = 1;
#endif
    if ((status = room(err)) || (status = td_resource_find("grade/jail", out->jail, sizeof out->jail, err)))
        return status;
    for (int tier = 0; tier < TD_TIERS; tier++) {
        if (wanted != TD_TIERS && tier != (int)wanted) continue;
        out->tier = (td_tier)tier;
        status = try_out(out, &why);
        if (status && tier == TD_TIER_NONE && out->filtered) {
            out->filtered = 0; /* a container may forbid filters too */
            status = try_out(out, &why);
        }
        if (!status) break;
        if (!first.message[0]) first = why;
    }
    out->fenced = out->tier == TD_TIER_BUBBLEWRAP || landlock();
    snprintf(out->why, sizeof out->why, "%.150s", first.message);
    if (!status) return TD_OK;
    return wanted == TD_TIERS ? td_fail(err, TD_INTERNAL, "no program can be started: %s", why.message)
                              : td_fail(err, TD_UNSUPPORTED, "%s: %s", td_tier_name(wanted), why.message);
}

/* A line of /proc/PID/status. These figures begin at 0 when a program is started; those of wait4 do not: they hold
 * what the process was before, a copy of us. */
static size_t bytes_of(const td_process *process, const char *format) {
    char path[64], line[256];
    unsigned long long kib = 0;
    if (process->inner <= 0 || (process->handle >= 0 && td_process_gone(process->handle, 0))) return 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)process->inner);
    FILE *in = fopen(path, "r");
    if (!in) return 0;
    while (fgets(line, sizeof line, in) && sscanf(line, format, &kib) != 1) continue;
    fclose(in);
    return (size_t)kib * 1024;
}

size_t td_sandbox_resident(const td_process *process) {
    return bytes_of(process, "VmHWM: %llu");
}
size_t td_sandbox_address(const td_process *process) {
    return bytes_of(process, "VmPeak: %llu");
}

int td_sandbox_over(const td_process *process) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)process->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

void td_sandbox_signal(const td_process *process, int number) {
    if (process->handle >= 0)
        syscall(SYS_pidfd_send_signal, process->handle, number, NULL, 0);
    else if (process->inner > 0 && process->inner == process->pid)
        kill(process->pid, number);
}

/* From the inside out, so that each parent can still say how its child ended. A namespace is empty once its first
 * process has gone. */
static void kill_all(td_process *process) {
    enum { PATIENCE = 2 };
    td_sandbox_signal(process, SIGKILL);
    td_process_gone(process->handle, PATIENCE);
    for (int i = 0; i < 200 && process->init >= 0 && !td_sandbox_over(process); i++) usleep(1000);
    if (process->init >= 0) {
        syscall(SYS_pidfd_send_signal, process->init, SIGKILL, NULL, 0);
        td_process_gone(process->init, PATIENCE);
    }
    if (process->pid > 0) kill(-process->pid, SIGKILL), kill(process->pid, SIGKILL);
    if (process->uid_lock >= 0) td_uid_kill(process->uid);
}

static double processor_seconds(const struct rusage *used) {
    return (double)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) +
           1e-6 * (double)(used->ru_utime.tv_usec + used->ru_stime.tv_usec);
}

void td_sandbox_end(const td_sandbox *sandbox, td_process *process, td_ended *ended) {
    enum { OF_PIDFD = 3 }; /* P_PIDFD, which glibc names since 2.36 */
    struct rusage used = {0}, inside = {0};
    siginfo_t orphan;
    *ended = (td_ended){.resident_bytes = td_sandbox_resident(process)};
    kill_all(process);
    while (process->pid > 0 && wait4(process->pid, &ended->status, 0, &used) < 0 && errno == EINTR) continue;
    /* bwrap leaves its namespace's first process to whoever takes in orphans: td_sandbox_start made that us. */
    if (process->init >= 0) syscall(SYS_waitid, OF_PIDFD, process->init, &orphan, WEXITED, &inside);
    ended->cpu_seconds = processor_seconds(&used) + processor_seconds(&inside);
    /* bwrap ends as a shell would: 128 and the number of the signal. */
    if (sandbox->tier == TD_TIER_BUBBLEWRAP && WIFEXITED(ended->status) && WEXITSTATUS(ended->status) > 128)
        ended->status = WEXITSTATUS(ended->status) - 128;
    if (process->handle >= 0) close(process->handle);
    if (process->init >= 0) close(process->init);
    if (process->uid_lock >= 0) close(process->uid_lock);
    process->handle = process->init = process->uid_lock = -1;
    process->pid = process->inner = -1;
}
