/* A program started in its tier: bubblewrap's arguments, the launcher's, and the handshake with it. */
#include "child/jail.h"
#include "sandbox_parts.h"
#include "wire.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 400, START_SECONDS = 20 };

typedef struct command {
    const char *word[WORDS];
    int n;
    char words[2048]; /* those that are not the caller's */
    size_t used;
} command;

static void add(command *c, const char *word) {
    if (c->n < WORDS - 1) c->word[c->n++] = word;
}
/* What a compiler is made of. */
static const char *const system_files[] = {"/usr", "/bin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache",
                                           NULL};

static void add_files(command *c, const char *how, const char *const *paths) {
    for (; paths && *paths; paths++) add(c, how), add(c, *paths), add(c, *paths);
}

/* Words in one string, each ended by a space: longer lists than an eye likes. */
static void add_words(command *c, const char *words) {
    char *to = c->words + c->used;
    c->used += (size_t)snprintf(to, sizeof c->words - c->used, "%s", words) + 1;
    for (char *rest, *word = strtok_r(to, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) add(c, word);
}

/* No network, no other processes, no files but the launcher's own copy. A compiler sees the system's programs too, and
 * its folder. */
static void add_bubblewrap(command *c, const td_limits *limits, const char *folder, const char *const *readable) {
    add(c, td_bubblewrap());
    add_words(c, "--die-with-parent --new-session --unshare-ipc --unshare-pid --unshare-net --unshare-uts");
    add_words(c, "--unshare-cgroup-try --cap-drop ALL --tmpfs /tmp --perms 0555 --ro-bind-data 6 /jail");
    add_words(c,
              geteuid() == 0 ? "--cap-add CAP_SETUID --cap-add CAP_SETGID" : "--unshare-user --uid 65534 --gid 65534");
    if (folder || limits->gpu) {
        add_words(c, "--perms 0755 --dir /etc --perms 0755 --dir /dev"); /* bwrap would make them for root alone */
        add_files(c, "--ro-bind-try", system_files);
        add_words(c, limits->gpu ? "--dev-bind /dev /dev --proc /proc --ro-bind-try /sys /sys"
                                 : "--dev-bind /dev/null /dev/null");
    }
    add_files(c, "--ro-bind", readable);
    if (folder) {
        add(c, limits->file_bytes ? "--bind" : "--ro-bind");
        add(c, folder), add(c, TD_SANDBOX_FOLDER);
        add_words(c, "--chdir " TD_SANDBOX_FOLDER);
    }
    add(c, "--");
}

/* Descriptors move to their numbers by way of high ones, so that none is overwritten before it has moved. */
static void place(int fd, int number) {
    if (fd < 0)
        close(number);
    else if (dup2(fd, number) != number)
        _exit(TD_JAIL_FAILED);
}

/* As many processors as it has threads, whatever it starts: nobody is faster for taking more than the reference
 * solution has. Children of one grader get the same ones, those of several graders side by side others. */
static void share_processors(int threads, pid_t grader) {
    cpu_set_t all, some;
    CPU_ZERO(&some);
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) <= threads) return;
    int n = CPU_COUNT(&all), first = (int)((unsigned)grader * 2654435761u % (unsigned)n), index = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all) && (index++ - first + n) % n < threads) CPU_SET(cpu, &some);
    sched_setaffinity(0, sizeof some, &some);
}

static void become(const command *c, const char *folder, int wire, int out, int report, int program, int jail) {
    int given[] = {out, wire, report, program, jail}, high[5];
    for (int i = 0; i < 5; i++) high[i] = given[i] < 0 ? -1 : fcntl(given[i], F_DUPFD_CLOEXEC, 64);
    int empty = open("/dev/null", O_RDONLY | O_CLOEXEC);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (setsid() < 0 || (folder && chdir(folder) != 0) || (!folder && chdir("/") != 0)) _exit(TD_JAIL_FAILED);
    place(empty, 0);
    place(high[0], 1);
    place(high[0], 2);
    place(high[1], TD_WIRE_FD);
    place(high[2], TD_JAIL_REPORT_FD);
    place(high[3], TD_JAIL_PROGRAM_FD);
    place(high[4], TD_JAIL_ITSELF_FD);
    char *const environment[] = {NULL};
    execve(c->word[0], (char *const *)c->word, environment);
    dprintf(TD_JAIL_REPORT_FD, "%s: %s", c->word[0], strerror(errno));
    _exit(TD_JAIL_FAILED);
}

/* The first process of the program's namespace is its parent, and with it all of the namespace ends. */
static pid_t parent_of(pid_t pid) {
    char path[64], line[512];
    int parent = -1;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *in = fopen(path, "r");
    if (!in) return -1;
    const char *after = fgets(line, sizeof line, in) ? strrchr(line, ')') : NULL;
    if (!after || sscanf(after + 1, " %*c %d", &parent) != 1) parent = -1;
    fclose(in);
    return parent;
}

/* The launcher's end closes as the program begins; before that it may still say what failed: a folder from which
 * nothing is executed, a compiler that is not there. */
static td_status is_executed(int report, td_error *err) {
    char text[200];
    struct pollfd look = {report, POLLIN, 0};
    ssize_t n = poll(&look, 1, 1000 * START_SECONDS) > 0 ? recv(report, text, sizeof text - 1, 0) : -1;
    if (n == 0) return TD_OK;
    text[n > 0 ? n : 0] = '\0';
    return td_fail(err, TD_INTERNAL, "the sandbox does not start: %s", n > 0 ? text : "no program begins");
}

/* The launcher's byte comes with its pid, which the kernel fills in, as it is called here. Only then does it go on. */
static td_status shake_hands(int report, td_process *process, int namespaced, td_error *err) {
    char text[200] = "";
    union {
        char room[CMSG_SPACE(sizeof(struct ucred))];
        struct cmsghdr align;
    } control;
    struct iovec part = {text, sizeof text - 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
    struct pollfd look = {report, POLLIN, 0};
    ssize_t n = poll(&look, 1, 1000 * START_SECONDS) > 0 ? recvmsg(report, &message, MSG_CMSG_CLOEXEC) : -1;
    struct cmsghdr *head = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (n != 1 || text[0] != 'R' || !head || head->cmsg_type != SCM_CREDENTIALS) {
        char printed[120] = "";
        struct pollfd words = {process->output, POLLIN, 0};
        if (n <= 0 && poll(&words, 1, 100) > 0) {
            ssize_t got = read(process->output, printed, sizeof printed - 1);
            printed[got > 0 ? got : 0] = '\0';
            printed[strcspn(printed, "\n")] = '\0';
        }
        return td_fail(err, TD_INTERNAL, "the sandbox does not start: %s", n > 0 ? text : printed);
    }
    struct ucred from;
    memcpy(&from, CMSG_DATA(head), sizeof from);
    process->inner = from.pid;
    process->handle = td_process_handle(from.pid);
    process->init = namespaced ? td_process_handle(parent_of(from.pid)) : -1;
    /* Without a handle its number will do, as long as it is our own child: that is not given away before we wait. */
    if ((process->handle < 0 || process->init < 0) && namespaced)
        return td_fail(err, TD_INTERNAL, "the sandbox does not start: its process is not to be found");
    if (process->uid_lock >= 0 && from.uid != process->uid)
        return td_fail(err, TD_INTERNAL, "the sandbox does not start: it kept its uid");
    if (send(report, "G", 1, MSG_NOSIGNAL) != 1)
        return td_fail(err, TD_INTERNAL, "the sandbox does not start: it ended at once");
    return is_executed(report, err);
}

static void add_jail(command *c, const td_sandbox *sandbox, const td_limits *limits, const td_process *process,
                     const char *const *argv, int is_child, const char *fence) {
    td_jail_filter filter = !is_child || !sandbox->filtered ? TD_FILTER_NONE
                            : limits->gpu                   ? TD_FILTER_GPU
                                                            : TD_FILTER_CHILD;
    char numbers[256];
    snprintf(numbers, sizeof numbers, "%d %ld %zu %zu %d %d %d", (int)filter,
             process->uid_lock >= 0 ? (long)process->uid : -1L, limits->address_bytes, limits->file_bytes,
             limits->cpu_seconds, process->uid_lock >= 0 ? limits->processes : 0, limits->threads);
    add(c, sandbox->tier == TD_TIER_BUBBLEWRAP ? "/jail" : sandbox->jail);
    add_words(c, numbers);
    add(c, fence);
    add(c, "--");
    while (*argv) add(c, *argv++);
}

/* What a compiler may read, joined by ':'. */
static void join(char *out, size_t room, const char *const *paths) {
    for (size_t n = strlen(out); paths && *paths && n < room; paths++)
        n += (size_t)snprintf(out + n, room - n, "%s%s", n ? ":" : "", *paths);
}

/* What a start needs open: both ends of the pipe for output, both of the launcher's socket, the program, the launcher.
 */
typedef struct ends {
    int out[2], report[2], program, jail;
} ends;

static void shut(int *fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

static td_status open_ends(ends *e, const char *program, const char *jail, td_error *err) {
    const int on = 1;
    if (pipe2(e->out, O_CLOEXEC) != 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, e->report) != 0 ||
        setsockopt(e->report[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0)
        return td_fail(err, TD_IO, "no pipe for a program: %s", strerror(errno));
    if (program && (e->program = open(program, O_RDONLY | O_CLOEXEC)) < 0)
        return td_fail(err, TD_IO, "%s: cannot be opened: %s", program, strerror(errno));
    if (jail && (e->jail = open(jail, O_RDONLY | O_CLOEXEC)) < 0)
        return td_fail(err, TD_IO, "%s: cannot be opened: %s", jail, strerror(errno));
    return TD_OK;
}

/* A uid for it alone, to which its folder then belongs. */
static td_status give_uid(const td_limits *limits, const char *folder, td_process *process, td_error *err) {
    td_status status = td_uid_take(&process->uid, &process->uid_lock, err);
    if (!status && folder && limits->file_bytes &&
        (chmod(folder, 0755) != 0 || chown(folder, process->uid, (gid_t)process->uid) != 0))
        status = td_fail(err, TD_IO, "%s: cannot be given away: %s", folder, strerror(errno));
    return status;
}

td_status td_sandbox_start(const td_sandbox *sandbox, const td_limits *limits, const char *const *argv,
                           const char *folder, const char *const *readable, int fd, td_process *process,
                           td_error *err) {
    const int is_child = fd >= 0, namespaced = sandbox->tier == TD_TIER_BUBBLEWRAP;
    ends e = {{-1, -1}, {-1, -1}, -1, -1};
    command c = {{NULL}, 0, "", 0};
    char fence[4096] = "";
    td_status status = TD_OK;
    *process = (td_process){-1, -1, -1, -1, -1, -1, 0};
    if (sandbox->tier != TD_TIER_NONE && geteuid() == 0) status = give_uid(limits, folder, process, err);
    if (!status) status = open_ends(&e, is_child ? argv[0] : NULL, namespaced ? sandbox->jail : NULL, err);
    if (!namespaced && !is_child && sandbox->fenced) {
        join(fence, sizeof fence, system_files);
        join(fence, sizeof fence, readable);
    }
    if (namespaced) add_bubblewrap(&c, limits, folder, readable);
    add_jail(&c, sandbox, limits, process, argv, is_child, fence[0] ? fence : "-");
    if (!status && c.n >= WORDS - 1) status = td_fail(err, TD_BAD_PARAM, "a command of too many words");
    if (namespaced) prctl(PR_SET_CHILD_SUBREAPER, 1); /* no dead process is left to an init that may not look */
    if (!status) {
        process->pid = fork();
        if (process->pid == 0 && is_child) share_processors(limits->threads, getppid());
        if (process->pid == 0) become(&c, folder, fd, e.out[1], e.report[1], e.program, e.jail);
        if (process->pid < 0) status = td_fail(err, TD_IO, "no process for a program: %s", strerror(errno));
    }
    shut(&e.out[1]), shut(&e.report[1]);
    process->output = e.out[0];
    if (!status) status = shake_hands(e.report[0], process, namespaced, err);
    if (status) {
        td_ended ended;
        td_sandbox_end(sandbox, process, &ended);
        shut(&e.out[0]);
        process->output = -1;
    }
    shut(&e.report[0]), shut(&e.program), shut(&e.jail);
    return status;
}
