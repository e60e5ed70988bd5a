/* mpirun is told through the environment, which mpirun of another make ignores: options would differ between them. */
#include "launch.h"
#include "../cpu_ref/clock.h"
#include "launch_hear.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROOM = 1 << 20, MOST_ARGUMENTS = 64 };

static const char *const settings[][2] = {
    /* a container's user is root; Open MPI 4, then 5 */
    {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
    {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
    {"PRTE_ALLOW_RUN_AS_ROOT", "1"},
    {"PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
    /* more ranks than cores, which take turns instead of spinning */
    {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
    {"OMPI_MCA_hwloc_base_binding_policy", "none"},
    {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
    {"PRTE_MCA_hwloc_default_binding_policy", "none"},
    {"OMPI_MCA_mpi_yield_when_idle", "1"},
    /* reading another process's memory is what containers forbid; without it, ranks that sleep between looks need few
     * large messages: 16 MiB reduced by 4 ranks took 72 ms in messages of 32 KiB, 18 ms in these */
    {"OMPI_MCA_btl_vader_single_copy_mechanism", "none"},
    {"OMPI_MCA_btl_vader_max_send_size", "262144"},
    /* what went wrong is told by the ranks */
    {"OMPI_MCA_orte_execute_quiet", "1"},
    {"OMP_NUM_THREADS", "1"},
};

static int on_path(const char *program) {
    const char *path = getenv("PATH");
    for (const char *at = path ? path : ""; *at;) {
        size_t length = strcspn(at, ":");
        char file[PATH_MAX];
        snprintf(file, sizeof file, "%.*s/%s", (int)length, at, program);
        if (access(file, X_OK) == 0) return 1;
        at += length + (at[length] == ':');
    }
    return 0;
}

static td_status can_launch(int ranks, td_error *err) {
#ifdef TD_HAVE_MPI
    if (ranks < 1) return td_fail(err, TD_BAD_PARAM, "ranks = %d: must be at least 1", ranks);
    if (!on_path("mpirun")) return td_fail(err, TD_UNSUPPORTED, "no mpirun on the PATH: make setup installs Open MPI");
    return TD_OK;
#else
    (void)on_path, (void)ranks;
    return td_fail(err, TD_UNSUPPORTED, "this build has no MPI: make setup installs Open MPI");
#endif
}

static td_status program(const char *given, char path[PATH_MAX], td_error *err) {
    ssize_t n = given ? snprintf(path, PATH_MAX, "%s", given) : readlink("/proc/self/exe", path, PATH_MAX - 16);
    if (n <= 0 || n >= PATH_MAX - 15) return td_fail(err, TD_IO, "this program's own path cannot be read");
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    if (!given && slash) strcpy(slash + 1, "tandem");
    if (access(path, X_OK) != 0) return td_fail(err, TD_IO, "%.200s: %s", path, strerror(errno));
    return TD_OK;
}

/* Only returns if mpirun cannot be executed. */
static void become(int ranks, char *path, const char *const *arguments) {
    char count[16];
    snprintf(count, sizeof count, "%d", ranks);
    char *argv[MOST_ARGUMENTS + 8] = {"mpirun", "-n", count, path, "ranks"};
    for (int i = 0; i < MOST_ARGUMENTS && arguments[i]; i++) argv[5 + i] = (char *)arguments[i];
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) setenv(settings[i][0], settings[i][1], 0);
    execvp(argv[0], argv);
}

static td_status prepare(int ranks, const char *tandem, const char *const *arguments, char path[PATH_MAX],
                         td_error *err) {
    int count = 0;
    while (arguments[count]) count++;
    td_status status = can_launch(ranks, err);
    if (status == TD_OK) status = program(tandem, path, err);
    if (status) return status;
    if (count <= MOST_ARGUMENTS) return TD_OK;
    return td_fail(err, TD_BAD_PARAM, "%d arguments for ranks: at most %d are legal", count, MOST_ARGUMENTS);
}

td_status td_launch_here(int ranks, const char *tandem, const char *const *arguments, int *ended, td_error *err) {
    char path[PATH_MAX];
    int says[2], how;
    td_status status = prepare(ranks, tandem, arguments, path, err);
    if (status) return status;
    if (pipe2(says, O_CLOEXEC) != 0) return td_fail(err, TD_IO, "no pipe for what ranks say: %s", strerror(errno));
    fflush(NULL);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent) _exit(127);
        dup2(says[1], STDERR_FILENO);
        setenv("OMPI_MCA_orte_execute_quiet", "0", 0);
        become(ranks, path, arguments);
        dprintf(STDERR_FILENO, "tandem ranks: mpirun: %s\n", strerror(errno));
        _exit(127);
    }
    close(says[1]);
    if (pid > 0) {
        td_launcher_hear(says[0], pid);
        while (waitpid(pid, &how, 0) < 0 && errno == EINTR) {
        }
        *ended = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
    } else
        close(says[0]), status = td_fail(err, TD_IO, "mpirun cannot be started: %s", strerror(errno));
    return status;
}

/* In a session of its own, by which what it starts is found: mpirun puts each rank into another process group. It ends
 * when this process does. */
static void child(int ranks, char *path, const char *const *arguments, int out, int err) {
    pid_t parent = getppid();
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(127);
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    become(ranks, path, arguments);
    _exit(127);
}

/* Send a signal (0: none) to every process of the session that still runs; how many there are. */
static int signal_session(pid_t session, int signal) {
    DIR *all = opendir("/proc");
    int found = 0;
    for (struct dirent *d = all ? readdir(all) : NULL; d; d = readdir(all)) {
        pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);
        char path[64], text[512];
        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        FILE *stat = pid > 0 ? fopen(path, "r") : NULL;
        if (!stat) continue;
        text[fread(text, 1, sizeof text - 1, stat)] = '\0';
        fclose(stat);
        char *name_end = strrchr(text, ')'), state;
        int its;
        if (!name_end || sscanf(name_end + 1, " %c %*d %*d %d", &state, &its) != 2) continue;
        if (its != session || state == 'Z' || state == 'X') continue;
        found++;
        if (signal) kill(pid, signal);
    }
    if (all) closedir(all);
    return found;
}

static int has_ended(pid_t pid) {
    siginfo_t how = {0};
    return waitid(P_PID, (id_t)pid, &how, WEXITED | WNOWAIT | WNOHANG) == 0 && how.si_pid == pid;
}

static void nap(void) {
    const struct timespec t = {0, 5 * 1000 * 1000};
    nanosleep(&t, NULL);
}

/* mpirun, not yet waited for, keeps the session's number from being used again. It ends its ranks in order if asked to;
 * what is left after two seconds is killed. */
static void end_session(pid_t session) {
    double kill_at = td_now() + 2;
    if (has_ended(session))
        kill_at = 0;
    else
        kill(session, SIGTERM);
    while (signal_session(session, td_now() > kill_at ? SIGKILL : 0)) nap();
}

typedef struct sink {
    int fd;
    char *text;
    size_t used;
} sink;

/* What is beyond the room is read all the same, or the writer would wait. */
static void take(sink *s) {
    char beyond[4096];
    size_t room = ROOM - s->used;
    ssize_t n = read(s->fd, room ? s->text + s->used : beyond, room ? room : sizeof beyond);
    if (n < 0 && errno == EINTR) return;
    if (n <= 0) {
        close(s->fd);
        s->fd = -1;
    } else if (room)
        s->used += (size_t)n;
}

/* Until both are closed, or mpirun has ended and left a rank that keeps them open and silent, or the limit. */
static void listen_until(sink sinks[2], pid_t pid, double limit) {
    while (sinks[0].fd >= 0 || sinks[1].fd >= 0) {
        double left = limit - td_now();
        struct pollfd polled[2] = {{sinks[0].fd, POLLIN, 0}, {sinks[1].fd, POLLIN, 0}};
        int ready = left <= 0 ? 0 : poll(polled, 2, left > 0.1 ? 100 : 1 + (int)(1e3 * left));
        if (left <= 0 || (ready == 0 && has_ended(pid))) return;
        for (int i = 0; i < 2 && ready > 0; i++)
            if (polled[i].revents) take(&sinks[i]);
    }
}

td_status td_launch_ranks(int ranks, const char *tandem, const char *const *arguments, double limit_seconds,
                          td_launched *out, td_error *err) {
    char path[PATH_MAX];
    int pipes[2][2];
    *out = (td_launched){0};
    td_status status = prepare(ranks, tandem, arguments, path, err);
    if (status) return status;
    out->out = calloc(1, ROOM + 1);
    out->err = calloc(1, ROOM + 1);
    if (!out->out || !out->err) {
        td_launched_free(out);
        return td_fail(err, TD_NO_MEMORY, "no memory for the output of %d ranks", ranks);
    }
    if (pipe2(pipes[0], O_CLOEXEC) != 0 || pipe2(pipes[1], O_CLOEXEC) != 0) {
        td_launched_free(out);
        return td_fail(err, TD_IO, "no pipe for the output of %d ranks: %s", ranks, strerror(errno));
    }
    fflush(NULL);
    double began = td_now();
    pid_t pid = fork();
    if (pid == 0) child(ranks, path, arguments, pipes[0][1], pipes[1][1]);
    close(pipes[0][1]);
    close(pipes[1][1]);
    sink sinks[2] = {{pipes[0][0], out->out, 0}, {pipes[1][0], out->err, 0}};
    if (pid < 0) {
        status = td_fail(err, TD_IO, "mpirun cannot be started: %s", strerror(errno));
        td_launched_free(out);
    } else {
        double limit = began + limit_seconds;
        listen_until(sinks, pid, limit);
        while (!has_ended(pid) && td_now() < limit) nap();
        out->timed_out = !has_ended(pid);
        end_session(pid);
        listen_until(sinks, pid, td_now() + 1); /* what was on its way */
        int how;
        waitpid(pid, &how, 0);
        out->status = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
        out->seconds = td_now() - began;
    }
    for (int i = 0; i < 2; i++)
        if (sinks[i].fd >= 0) close(sinks[i].fd);
    return status;
}

void td_launched_free(td_launched *launched) {
    free(launched->out);
    free(launched->err);
    launched->out = launched->err = NULL;
}
