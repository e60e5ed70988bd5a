/* Is a folder a working copy of this very exercise? A wrong WORK= must never move anything else. */
#include "../checks/file.h"
#include "../checks/text.h"
#include "exercise.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int first_line(const char *folder, const char *name, char line[256]) {
    char path[PATH_MAX];
    struct stat st;
    line[0] = '\0';
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return 0;
    if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode)) return 0;
    FILE *in = fopen(path, "re");
    int read = in && fgets(line, 256, in);
    if (in) fclose(in);
    return read;
}

/* Copies of before there was a marker: the README of this exercise, and each of its skeletons' names. */
static int looks_like_one(const td_work *work) {
    char ours[256], theirs[256], path[PATH_MAX];
    int files = 0, there = 0;
    if (!first_line(work->exercise, "README.md", ours) || !first_line(work->folder, "README.md", theirs)) return 0;
    if (strcmp(ours, theirs) != 0) return 0;
    DIR *dir = opendir(work->exercise);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        const char *dot = strrchr(entry->d_name, '.');
        struct stat st;
        if (entry->d_name[0] == '.' || !dot || (strcmp(dot, ".c") != 0 && strcmp(dot, ".cu") != 0)) continue;
        files++;
        there += snprintf(path, sizeof path, "%s/%s", work->folder, entry->d_name) < (int)sizeof path &&
                 lstat(path, &st) == 0 && S_ISREG(st.st_mode);
    }
    if (dir) closedir(dir);
    return files > 0 && there == files;
}

/* Does `folder`, a full path, hold `inner`, or is it the same? */
static int holds(const char *folder, const char *inner) {
    char resolved[PATH_MAX];
    size_t n = strlen(folder);
    if (!inner || !realpath(inner, resolved)) return 0;
    return !strcmp(folder, "/") || (!strncmp(folder, resolved, n) && (!resolved[n] || resolved[n] == '/'));
}

/* What no command may move, whatever is in it; NULL: it is none of that. */
static const char *why_never(const td_work *work) {
    char path[PATH_MAX], above[PATH_MAX + 4];
    struct stat here, there;
    if (lstat(work->folder, &here) != 0 || !realpath(work->folder, path)) return "cannot be read";
    if (S_ISLNK(here.st_mode)) return "is a symbolic link";
    if (!S_ISDIR(here.st_mode)) return "is no folder";
    if (holds(path, ".")) return "is or holds the working folder";
    if (holds(path, getenv("HOME"))) return "is or holds the home folder";
    if (holds(path, work->exercise)) return "is or holds the exercise itself";
    snprintf(above, sizeof above, "%s/..", path);
    if (stat(above, &there) != 0 || here.st_dev != there.st_dev || here.st_ino == there.st_ino)
        return "is a mount point";
    return NULL;
}

td_status td_work_is_own(const td_work *work, td_error *err) {
    char shown[120], line[256], found[64];
    td_status status = td_work_is_there(work, err);
    if (status) return status;
    const char *why = why_never(work);
    int of = 0, marked = !why && first_line(work->folder, TD_WORK_MARKER, line) && sscanf(line, "%9d", &of) == 1;
    if (!why && (marked ? of == work->number : looks_like_one(work))) return TD_OK;
    snprintf(found, sizeof found, "is a working copy of exercise %d", of);
    if (!why) why = marked ? found : "was not made by an exercise command";
    return td_fail(err, TD_BAD_PARAM,
                   "WORK=%s: %s; must be a working copy of exercise %d, as make exercise-%d makes it",
                   td_shown(work->folder, shown, sizeof shown), why, work->number, work->number);
}
