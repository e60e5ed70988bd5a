/* Files that are complete or absent, and the files that belong to Tandem itself (plots/, lessons/). */
#ifndef TANDEM_CHECKS_FILE_H
#define TANDEM_CHECKS_FILE_H

#include "tandem/status.h"
#include <limits.h>

/* A file being written: its bytes go to a temporary name in the folder of `path`. Use in this order: create, write to
 * `stream`, finish, publish. A step that fails discards the file and returns TD_IO naming `path` and the system's
 * reason; afterwards discard is harmless. Two files that belong together are both finished before either is published.
 * The stream points back at its td_file: while open, that must stay where it is. */
typedef struct td_file {
    FILE *stream;
    int fd, reason; /* errno of the first write that failed */
    char path[PATH_MAX], temporary[PATH_MAX];
} td_file;

/* What exists at `path` must be a regular file that may be written (a symbolic link is followed). */
td_status td_file_create(td_file *file, const char *path, td_error *err);
/* Flush, sync to the disk, close: from here on only the name is missing. */
td_status td_file_finish(td_file *file, td_error *err);
/* Rename to `path`. */
td_status td_file_publish(td_file *file, td_error *err);
/* Close and remove what was written so far; a published file stays. */
void td_file_discard(td_file *file);

/* TD_IO with "path: reason" of errno; `doing` says what failed ("cannot be read"). */
td_status td_file_failed(const char *path, const char *doing, int errno_value, td_error *err);

/* Say before the work, not after it, that `path` cannot be written: makes its folder, and leaves no file. */
td_status td_file_probe(const char *path, td_error *err);

/* Make a folder and those above it. TD_IO if one cannot be made, or if files cannot be made in it. */
td_status td_folder_make(const char *path, td_error *err);
/* The same for a folder that an option gave: an error names it, as typed. */
td_status td_folder_make_for(const char *option, const char *path, td_error *err);
/* Would td_folder_make succeed? Asked before long work; leaves nothing behind. */
td_status td_folder_probe(const char *path, td_error *err);

/* Is `path` the folder `folder`, or in it? Links are resolved; what of `path` is not there yet is taken as it is
 * written. 0 if there is no such folder. */
int td_path_within(const char *path, const char *folder);
/* The folder for this process alone, until *lock is closed: the file `lock` in it stays. TD_IO if another holds it. */
td_status td_folder_lock(const char *folder, int *lock, td_error *err);

/* The full path of Tandem's own file `name` ("plots/style.gp"): looked for beside the executable, in the three folders
 * above it, and in the working folder. TD_IO if it is nowhere. */
td_status td_resource_find(const char *name, char *path, int size, td_error *err);

#endif
