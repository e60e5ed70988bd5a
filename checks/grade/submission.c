/* Links are not followed: what they lead to was not handed in. */
#include "submission.h"
#include "../file.h"
#include "../text.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

td_status td_submission_open(const char *given, char path[4096], td_error *err) {
    char resolved[PATH_MAX], shown[160];
    struct stat st;
    td_shown(given, shown, sizeof shown);
    if (!realpath(given, resolved) || stat(resolved, &st) != 0) {
        if (errno == EACCES) return td_file_failed(given, "cannot be read", errno, err);
        return td_fail(err, TD_BAD_PARAM, "SUBMISSION=%s: must be a folder: %s", shown, strerror(errno));
    }
    if (!S_ISDIR(st.st_mode)) return td_fail(err, TD_BAD_PARAM, "SUBMISSION=%s: must be a folder; it is none", shown);
    if (strlen(resolved) >= 4096 - 320) return td_file_failed(given, "cannot be read", ENAMETOOLONG, err);
    if (access(resolved, R_OK | X_OK) != 0) return td_file_failed(given, "cannot be read", errno, err);
    snprintf(path, 4096, "%s", resolved);
    return TD_OK;
}

static int is(const char *path, mode_t kind) {
    struct stat st;
    return lstat(path, &st) == 0 && (!kind || (st.st_mode & S_IFMT) == kind);
}

int td_submission_holds(const char *path, const td_exercise *exercise, char folder[4096]) {
    char file[4096 + 320];
    snprintf(folder, 4096, "%.4000s/lesson-%d", path, exercise->number);
    if (!is(folder, S_IFDIR)) snprintf(folder, 4096, "%s", path);
    for (int p = 0; p < exercise->parts; p++) {
        snprintf(file, sizeof file, "%s/%s", folder, exercise->part[p].file);
        if (is(file, 0)) return 1; /* of whatever kind: building tells what is wrong with it */
    }
    return 0;
}

static int is_visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

void td_submission_lacks(const char *path, const td_exercise *exercise, char *out, int size) {
    struct dirent **entry;
    int n = scandir(path, &entry, is_visible, alphasort), used = 0;
    out[0] = '\0';
    for (int p = 0; exercise && p < exercise->parts; p++)
        used += snprintf(out + used, (size_t)(size - used), "%s%s", p ? ", no " : "no ", exercise->part[p].file);
    if (!exercise) used = snprintf(out, (size_t)size, "no exercise's file is there");
    used += snprintf(out + used, (size_t)(size - used), n > 0 ? "; the folder holds " : "; the folder is empty");
    int full = 0; /* a name takes 50 bytes at most, with its comma */
    for (int i = 0; i < n; i++) {
        char shown[48];
        int room = used < size - 60;
        td_shown(entry[i]->d_name, shown, sizeof shown);
        if (!full) used += snprintf(out + used, (size_t)(size - used), "%s%s", i ? ", " : "", room ? shown : "…");
        full = full || !room;
        free(entry[i]);
    }
    if (n >= 0) free(entry);
}
