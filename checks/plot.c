/* gnuplot is started once a picture, without a shell; it writes to a temporary file, and only a whole one is renamed.
 */
#include "plot.h"
#include "file.h"
#include "text.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* "name='value'; " as gnuplot reads it: within single quotes only the quote itself is special, and is doubled. */
static void print_variable(FILE *out, const char *name, const char *value) {
    fprintf(out, "%s='", name);
    for (; *value; value++) {
        if (*value == '\'') fputc('\'', out);
        fputc(*value, out);
    }
    fputs("'; ", out);
}

/* The start of what gnuplot says on stderr; the rest is read and dropped, so that it never waits for us. */
static void read_complaint(int fd, char *text, size_t room) {
    size_t used = 0;
    char rest[256];
    for (;;) {
        int full = used + 1 >= room;
        ssize_t n = read(fd, full ? rest : text + used, full ? sizeof rest : room - 1 - used);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        if (!full) used += (size_t)n;
    }
    text[used] = '\0';
}

/* The last line that says something. */
static const char *last_line(char *text) {
    for (;;) {
        size_t length = strlen(text);
        while (length && strchr(" \n\t^", text[length - 1])) text[--length] = '\0';
        char *newline = strrchr(text, '\n');
        if (!newline) return text;
        if (newline[1]) return newline + 1;
        *newline = '\0';
    }
}

static td_status run_gnuplot(const char *setup, const char *script, td_error *err) {
    extern char **environ;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return td_fail(err, TD_IO, "no pipe to gnuplot: %s", strerror(errno));
    char *copy = strdup(setup), *path = strdup(script), name[] = "gnuplot", dash_e[] = "-e";
    char *argv[] = {name, dash_e, copy, path, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    pid_t child = -1;
    fflush(stdout); /* what we printed comes before what the child prints */
    int failed = copy && path ? posix_spawnp(&child, "gnuplot", &actions, NULL, argv, environ) : ENOMEM;
    posix_spawn_file_actions_destroy(&actions);
    free(copy), free(path);
    close(ends[1]);
    char complaint[2048] = "", shown[200];
    int status = 0;
    if (!failed) {
        read_complaint(ends[0], complaint, sizeof complaint);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    }
    close(ends[0]);
    if (failed == ENOENT) return td_fail(err, TD_UNSUPPORTED, "no plot: gnuplot is not installed");
    if (failed) return td_fail(err, TD_UNSUPPORTED, "no plot: gnuplot cannot be started: %s", strerror(failed));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return TD_OK;
    return td_fail(err, TD_UNSUPPORTED, "no plot: gnuplot says: %s",
                   td_shown(last_line(complaint), shown, sizeof shown));
}

/* Run `script` with csv, out, terminal, columns and plots (the folder of style.gp) set. */
static td_status render(const char *script, const char *csv, const char *terminal, const char *out, td_error *err) {
    char *setup = NULL, folder[PATH_MAX];
    size_t size = 0;
    FILE *line = open_memstream(&setup, &size);
    if (!line) return td_fail(err, TD_NO_MEMORY, "no memory for gnuplot's command line");
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(script, '/') - script), script);
    print_variable(line, "csv", csv);
    print_variable(line, "terminal", terminal);
    print_variable(line, "out", out);
    print_variable(line, "plots", folder);
    fprintf(line, "columns=%d", td_terminal_columns(stdout));
    fclose(line);
    td_status status = run_gnuplot(setup, script, err);
    free(setup);
    return status;
}

/* A full disk can cut gnuplot's output without an error: `ending` is what a whole file ends with. */
static int is_whole(const char *path, const char *ending) {
    char tail[24] = "";
    FILE *in = fopen(path, "rbe");
    if (!in) return 0;
    size_t got = fseek(in, -16, SEEK_END) == 0 ? fread(tail, 1, 16, in) : 0;
    fclose(in);
    return memmem(tail, got, ending, strlen(ending)) != NULL;
}

static td_status draw_file(const char *script, const char *csv, const char *terminal, const char *ending,
                           const char *out_base, td_error *err) {
    char path[PATH_MAX];
    td_file file;
    if (snprintf(path, sizeof path, "%s.%s", out_base, terminal) >= (int)sizeof path)
        return td_file_failed(out_base, "cannot be written", ENAMETOOLONG, err);
    td_status status = td_file_create(&file, path, err);
    if (status != TD_OK) return status;
    status = render(script, csv, terminal, file.temporary, err);
    if (status == TD_OK && !is_whole(file.temporary, ending))
        status = td_file_failed(path, "cannot be written", ENOSPC, err);
    if (status == TD_OK) status = td_file_finish(&file, err);
    if (status == TD_OK) status = td_file_publish(&file, err);
    td_file_discard(&file);
    if (status == TD_OK) printf("  plot: %s\n", path);
    return status;
}

td_status td_plot(const char *script, const char *csv, const char *out_base, int ascii, td_error *err) {
    char name[128], path[PATH_MAX];
    snprintf(name, sizeof name, "plots/%s.gp", script);
    td_status status = td_resource_find(name, path, sizeof path, err);
    if (status != TD_OK) return status;
    if (access(csv, R_OK) != 0) return td_file_failed(csv, "cannot be read", errno, err);
    if (ascii) status = render(path, csv, "dumb", "", err);
    if (status == TD_OK) status = draw_file(path, csv, "svg", "</svg>", out_base, err);
    if (status == TD_OK) status = draw_file(path, csv, "png", "IEND", out_base, err);
    return status;
}
