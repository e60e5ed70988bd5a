/* What several test suites need: a folder of one's own, and build/tandem run as its users run it. */
#ifndef TANDEM_TESTS_SUPPORT_H
#define TANDEM_TESTS_SUPPORT_H

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A new empty folder; remove it with support_folder_remove. */
static inline void support_folder(char folder[64]) {
    strcpy(folder, "/tmp/tandem-test-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

static inline int support_unlink(const char *path, const struct stat *st, int kind, struct FTW *ftw) {
    (void)st, (void)kind, (void)ftw;
    return remove(path);
}

static inline void support_folder_remove(const char *folder) {
    nftw(folder, support_unlink, 8, FTW_DEPTH | FTW_PHYS);
}

/* How many entries a folder holds: 0 means that nothing was left behind. */
static inline int support_entries(const char *folder) {
    DIR *dir = opendir(folder);
    cr_assert_not_null(dir, "%s", folder);
    int n = -2; /* . and .. */
    while (readdir(dir)) n++;
    closedir(dir);
    return n;
}

/* "folder/name", in a buffer that the next four calls leave alone. */
static inline const char *support_path(const char *folder, const char *name) {
    static char path[4][PATH_MAX];
    static int turn;
    char joined[PATH_MAX]; /* `folder` may itself be one of the four */
    snprintf(joined, sizeof joined, "%.3800s/%.250s", folder, name);
    turn = (turn + 1) % 4;
    return strcpy(path[turn], joined);
}

/* The whole file as a string that the caller frees; NULL if it cannot be read. */
static inline char *support_read(const char *path) {
    FILE *in = fopen(path, "rb");
    if (!in) return NULL;
    char *text = NULL;
    size_t used = 0, got = 1;
    while (got > 0) {
        char *longer = realloc(text, used + 4097);
        cr_assert_not_null(longer);
        text = longer;
        got = fread(text + used, 1, 4096, in);
        used += got;
    }
    text[used] = '\0';
    fclose(in);
    return text;
}

static inline void support_write(const char *path, const void *bytes, size_t count) {
    FILE *out = fopen(path, "wb");
    cr_assert_not_null(out, "%s", path);
    cr_assert_eq(fwrite(bytes, 1, count, out), count);
    cr_assert_eq(fclose(out), 0);
}

/* How a child differs from its parent. */
typedef struct support_child {
    const char *folder;      /* working folder; NULL = the parent's */
    rlim_t largest_file;     /* bytes; 0 = no limit */
    uid_t user;              /* who it becomes, if the parent is root; 0 = stays */
    const char *stdout_path; /* instead of being captured: "/dev/full", or "" = closed */
} support_child;

typedef struct support_result {
    int status; /* of exit; 128 + n for signal n; 127 = could not be started */
    char out[65536], err[4096];
} support_result;

/* The program beside this test binary: build/tandem, or build/san/tandem; TANDEM in the environment overrides it. */
static inline void support_program(char path[PATH_MAX]) {
    const char *given = getenv("TANDEM");
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 16);
    cr_assert_gt(n, 0);
    path[n] = '\0';
    strcpy(strrchr(path, '/') + 1, "tandem");
    if (given) snprintf(path, PATH_MAX, "%s", given);
    cr_assert_eq(access(path, X_OK), 0, "%s is not built", path);
}

static inline void support_become(const support_child *child) {
    if (child->folder && chdir(child->folder) != 0) _exit(127);
    if (child->largest_file) {
        struct rlimit limit = {child->largest_file, child->largest_file};
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    if (child->user && getuid() == 0 && (setgid(child->user) != 0 || setuid(child->user) != 0)) _exit(127);
}

static inline void support_capture(FILE *from, char *text, size_t room) {
    rewind(from);
    text[fread(text, 1, room - 1, from)] = '\0';
    fclose(from);
}

/* Run tandem with the arguments, the last of which is NULL, and stdin empty. */
static inline void support_run(const support_child *child, support_result *result, char *const arguments[]) {
    char program[PATH_MAX], *argv[40] = {program};
    int n = 0;
    for (; arguments[n]; n++) {
        cr_assert_lt(n, 38);
        argv[n + 1] = arguments[n];
    }
    support_program(program);
    FILE *out = tmpfile(), *err = tmpfile();
    cr_assert(out && err);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        int in = open("/dev/null", O_RDONLY);
        const char *to = child ? child->stdout_path : NULL;
        dup2(in, STDIN_FILENO);
        dup2(to && *to ? open(to, O_WRONLY) : fileno(out), STDOUT_FILENO);
        dup2(fileno(err), STDERR_FILENO);
        if (to && !*to) close(STDOUT_FILENO);
        if (child) support_become(child);
        execv(program, argv);
        _exit(127);
    }
    int status;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    result->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    support_capture(out, result->out, sizeof result->out);
    support_capture(err, result->err, sizeof result->err);
}

/* Run a shell command; its exit status, and the start of what it printed. */
static inline int support_shell(const char *command, char *printed, size_t size) {
    FILE *pipe = popen(command, "r");
    cr_assert(pipe);
    size_t length = fread(printed, 1, size - 1, pipe);
    printed[length] = '\0';
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* It ended with exit status `status` and one line on stderr, which holds `said`. */
static inline void support_refused(const support_result *result, int status, const char *said) {
    cr_expect_eq(result->status, status, "%s: exit %d, '%s'", said, result->status, result->err);
    cr_expect(strstr(result->err, said), "'%s' in '%s'", said, result->err);
    const char *newline = strchr(result->err, '\n');
    cr_expect(newline && !newline[1], "one line: '%s'", result->err);
}

/* support_run with the arguments in the call: support_tandem(NULL, &result, "list", "--help"). */
#define support_tandem(child, result, ...) support_run(child, result, (char *[]){__VA_ARGS__, NULL})

/* The section `heading` of a lesson's output says on which GPU it ran, or SKIP and why; what it then shows of another
 * machine is labelled. */
static inline void support_gpu_section(const char *out, const char *heading) {
    const char *section = strstr(out, heading);
    cr_assert_not_null(section, "%s", heading);
    const char *here = strstr(section, "device  "), *skipped = strstr(section, "SKIP: ");
    cr_assert(here || skipped, "%s", section);
    if (here && (!skipped || here < skipped)) return;
    cr_expect(strstr(skipped, "no GPU"), "%.200s", skipped);
    const char *table = strstr(skipped, "  data: "), *label = strstr(skipped, "Recorded, not measured here: ");
    cr_expect(label && table && label < table, "%.400s", skipped);
}

#endif
