/* A submission's files become a program. */
#include "build.h"
#include "../../cpu_ref/clock.h"
#include "../file.h"
#include "build_files.h"
#include "wire.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MESSAGES = 16384, MOST_MESSAGES = 4 << 20, WALL_SECONDS = 120 };

static void say(td_program *program, td_built outcome, const char *text) {
    program->outcome = outcome;
    free(program->messages);
    program->messages = strdup(text);
}

/* All that the compiler says, of which the first is kept; NULL, or why it has to be stopped. */
static const char *listen(int from, char *text) {
    char bytes[16384];
    size_t kept = 0, sum = 0;
    const double until = td_now() + WALL_SECONDS;
    for (;;) {
        struct pollfd look = {from, POLLIN, 0};
        double left = until - td_now();
        if (left <= 0) return "the compiler was not done in time";
        if (poll(&look, 1, (int)(1000 * left) + 1) <= 0) continue;
        ssize_t n = read(from, bytes, sizeof bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return NULL;
        sum += (size_t)n;
        for (ssize_t i = 0; i < n && kept < MESSAGES - 1; i++) text[kept++] = bytes[i];
        text[kept] = '\0';
        if (sum > MOST_MESSAGES) return "the compiler said more than anybody can read";
    }
}

/* The folder's name, which says nothing to a student, out of the text. */
static void leave_out(char *text, const char *folder) {
    const size_t n = strlen(folder);
    for (char *at = text; (at = strstr(at, folder));) memmove(at, at + n, strlen(at + n) + 1);
}

/* A compiler outside the system's folders brings its own: bin/nvcc's is two above. NULL: it needs none. */
static const char *home_of(const char *compiler, char home[PATH_MAX]) {
    if (!realpath(compiler, home) || strncmp(home, "/usr/", 5) == 0) return NULL;
    for (int up = 0; up < 2; up++) *strrchr(home, '/') = '\0';
    return home[0] ? home : NULL;
}

/* Whoever compiled it can change it no more; a link, or what else a compiler could be made to leave there, is none. */
static int is_program(const char *path) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int good = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && fchown(fd, geteuid(), getegid()) == 0 &&
               fchmod(fd, 0555) == 0;
    if (fd >= 0) close(fd);
    return good;
}

static td_status compile(td_program *out, const td_sandbox *sandbox, const td_words *command, const char *folder,
                         td_error *err) {
    const td_limits limits = td_limits_of_compiler();
    char text[MESSAGES] = "", failed[MESSAGES + 128], home[PATH_MAX];
    const char *readable[] = {home_of(command->word[0], home), NULL};
    td_process process;
    td_ended ended;
    td_status status = td_sandbox_start(sandbox, &limits, command->word, folder, readable, -1, &process, err);
    if (status) return status;
    const char *stopped = listen(process.output, text);
    for (int i = 0; !stopped && i < 1000 && !td_sandbox_over(&process); i++) poll(NULL, 0, 1);
    td_sandbox_end(sandbox, &process, &ended);
    close(process.output);
    snprintf(home, sizeof home, "%s/", folder);
    leave_out(text, home);
    if (sandbox->tier == TD_TIER_BUBBLEWRAP) leave_out(text, TD_SANDBOX_FOLDER "/");
    if (!stopped && ended.status != 0 && !text[0]) stopped = "the compiler was stopped: too much time or memory";
    snprintf(failed, sizeof failed, "%s%s%s", text, text[0] && stopped ? "\n" : "", stopped ? stopped : "");
    say(out, ended.status == 0 && !stopped && is_program(out->path) ? TD_BUILT : TD_BUILD_FAILED, failed);
    return TD_OK;
}

/* C, or kernels for the emulator, or for the GPU: what keys of $(BUILD)/grade/flags begin with. */
static const char *kind_of(const td_part *part, int gpu) {
    return !strstr(part->file, ".cu") ? "c" : gpu ? "cuda" : "cu";
}

static td_status command_for(const char *kind, const td_words *sources, const td_words *objects, td_words *command,
                             td_error *err) {
    char key[16];
    snprintf(key, sizeof key, "%s_compiler", kind);
    td_status status = td_words_of_build(command, key, "", err);
    for (int i = 0; i < sources->n; i++) td_words_add(command, "%s", sources->word[i]);
    /* What follows is no source any more, whatever language the flags named; nvcc's name none. */
    if (strcmp(kind, "cuda") != 0) td_words_add(command, "-xnone");
    for (int i = 0; i < objects->n; i++) td_words_add(command, "grade/%s", objects->word[i]);
    snprintf(key, sizeof key, "%s_link", kind);
    if (!status) status = td_words_of_build(command, key, "", err);
    td_words_add(command, "-o");
    td_words_add(command, "program");
    if (!status && command->n < 0) status = td_fail(err, TD_BAD_PARAM, "too many files");
    return status;
}

/* The folder is filled, and the command run in it. */
static td_status build_in(td_program *out, const td_sandbox *sandbox, const td_part *part, const char *const *others,
                          const char *submission, const char *folder, td_error *err) {
    struct {
        td_words command, sources, objects;
    } *words = calloc(1, sizeof *words);
    if (!words) return td_fail(err, TD_NO_MEMORY, "no memory for a compiler's command");
    td_error refused = {TD_OK, ""};
    td_status status = td_build_sources(part, others, submission, folder, &words->sources, &refused);
    if (status == TD_BAD_PARAM) {
        say(out, TD_BUILD_FAILED, refused.message);
        free(words);
        return TD_OK;
    }
    const char *kind = kind_of(part, out->gpu);
    char key[16];
    snprintf(key, sizeof key, "%s_objects", kind);
    if (status && err) *err = refused;
    if (!status) status = td_build_headers("include", folder, err);
    if (!status && kind[1]) status = td_build_headers("grade/gpu", folder, err);
    if (!status) status = td_words_of_build(&words->objects, key, "", err);
    td_words_add(&words->objects, "serve_%s.o", part->serve);
    if (!status) status = td_build_objects(&words->objects, folder, err);
    if (!status) status = command_for(kind, &words->sources, &words->objects, &words->command, err);
    if (!status) status = compile(out, sandbox, &words->command, folder, err);
    free(words);
    return status;
}

td_status td_program_build(td_program *out, const td_sandbox *sandbox, const td_part *part, const char *const *others,
                           const char *submission, const char *scratch, int gpu, td_error *err) {
    char folder[3000], path[4096];
    struct stat st;
    *out = (td_program){.gpu = gpu && strstr(part->file, ".cu")};
    snprintf(path, sizeof path, "%.3000s/%s", submission, part->file);
    if (lstat(path, &st) != 0) {
        snprintf(path, sizeof path, "%s is not there", part->file);
        say(out, TD_NOT_THERE, path);
        return out->messages ? TD_OK : td_fail(err, TD_NO_MEMORY, "no memory for a message");
    }
    snprintf(folder, sizeof folder, "%.2900s/build-XXXXXX", scratch);
    if (!mkdtemp(folder)) return td_file_failed(scratch, "cannot take a folder", errno, err);
    snprintf(out->path, sizeof out->path, "%s/program", folder);
    say(out, TD_BUILD_FAILED, "");
    td_status status = build_in(out, sandbox, part, others, submission, folder, err);
    if (!status && !out->messages) status = td_fail(err, TD_NO_MEMORY, "no memory for the compiler's messages");
    return status;
}

void td_program_free(td_program *program) {
    free(program->messages);
    program->messages = NULL;
}
