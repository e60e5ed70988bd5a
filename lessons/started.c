/* Ranks' files and failures, for the lessons that start them. */
#include "started.h"
#include "../checks/file.h"
#include "commands.h"
#include "lesson.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

td_status td_started_folder(const td_arguments *arguments, int number, char path[PATH_MAX], td_error *err) {
    td_status status = td_lesson_path(arguments, number, ".run-XXXXXX", path, PATH_MAX, err);
    if (!status && !mkdtemp(path)) status = td_file_failed(path, "cannot be made", errno, err);
    return status;
}

void td_started_remove(const char *folder) {
    DIR *files = opendir(folder);
    for (struct dirent *entry; files && (entry = readdir(files));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(files), entry->d_name, 0);
    if (files) closedir(files);
    rmdir(folder);
}

td_status td_started_read(const char *folder, const char *file, const char *what, td_record **out, td_error *err) {
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    *out = NULL;
    if (access(path, F_OK) != 0)
        return td_fail(err, TD_IO, "%s: the ranks ended without a word and wrote no %s", what, file);
    return td_record_read_csv(out, path, err);
}

/* A rank's own words, which begin with the program's name; or mpirun's last line. */
static const char *said(const char *text, int *is_own, int *length) {
    const char *own = strstr(text, "tandem ranks"), *last = text;
    *is_own = own != NULL;
    for (const char *line = text; *line && !own; line += strcspn(line, "\n"), line += *line == '\n')
        if (*line != '\n' && *line != '-') last = line;
    if (own) last = own;
    *length = (int)strcspn(last, "\n");
    return last;
}

static td_status as_status(int exit_status) {
    switch (exit_status) {
    case TD_EXIT_WRONG: return TD_WRONG;
    case TD_EXIT_USAGE: return TD_BAD_PARAM;
    case TD_EXIT_INTERNAL: return TD_INTERNAL;
    default: return TD_IO;
    }
}

td_status td_started_failed(const td_launched *launched, const char *what, double limit, const char *remedy,
                            td_error *err) {
    if (launched->timed_out) return td_fail(err, TD_WRONG, "%s: not done after %g s%s", what, limit, remedy);
    if (launched->status >= 128) {
        int signal = launched->status - 128;
        return td_fail(err, TD_IO, "%s: a rank was killed by signal %d (%s)", what, signal, strsignal(signal));
    }
    int is_own, length;
    const char *text = said(launched->err ? launched->err : "", &is_own, &length);
    return td_fail(err, is_own ? as_status(launched->status) : TD_IO, "%s: exit status %d: %.*s", what,
                   launched->status, length, text);
}
