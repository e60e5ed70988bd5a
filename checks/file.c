/* Temporary file, sync, rename: a reader sees the old file or the whole new one. */
#include "file.h"
#include "text.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

td_status td_file_failed(const char *path, const char *doing, int errno_value, td_error *err) {
    char shown[160];
    return td_fail(err, TD_IO, "%s: %s: %s", td_shown(path, shown, sizeof shown), doing, strerror(errno_value));
}

/* Resolve a link, and refuse what rename must not replace: /dev/null is no place to rename to. */
static td_status resolve(const char *path, char *out, td_error *err) {
    struct stat there;
    char shown[160];
    if (strlen(path) >= PATH_MAX) return td_file_failed(path, "cannot be written", ENAMETOOLONG, err);
    if (stat(path, &there) != 0) {
        strcpy(out, path);
        if (!path[0]) return td_file_failed(path, "cannot be written", ENOENT, err);
        return TD_OK; /* new: creating the temporary file tells whether its folder can take it */
    }
    if (!S_ISREG(there.st_mode))
        return td_fail(err, TD_IO, "%s: cannot be written: it is not a regular file",
                       td_shown(path, shown, sizeof shown));
    if (access(path, W_OK) != 0 || !realpath(path, out)) return td_file_failed(path, "cannot be written", errno, err);
    return TD_OK;
}

/* stdio would forget why a write failed, if a later one succeeds. */
static ssize_t write_and_remember(void *cookie, const char *data, size_t bytes) {
    td_file *file = cookie;
    size_t done = 0;
    while (done < bytes) {
        ssize_t n = write(file->fd, data + done, bytes - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && !file->reason) file->reason = errno;
        if (n <= 0) break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

static int close_fd(void *cookie) {
    return close(((td_file *)cookie)->fd);
}

td_status td_file_create(td_file *file, const char *path, td_error *err) {
    static int serial = 0;
    *file = (td_file){.fd = -1};
    td_status status = resolve(path, file->path, err);
    if (status != TD_OK) return status;

    const char *slash = strrchr(file->path, '/');
    int folder = slash ? (int)(slash - file->path) + 1 : 0;
    int length = snprintf(file->temporary, sizeof file->temporary, "%.*s.tandem-%ld-%d.tmp", folder, file->path,
                          (long)getpid(), __atomic_fetch_add(&serial, 1, __ATOMIC_RELAXED));
    if (length >= (int)sizeof file->temporary)
        errno = ENAMETOOLONG;
    else
        file->fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file->fd < 0) {
        file->temporary[0] = '\0';
        return td_file_failed(path, "cannot be written", errno, err);
    }
    file->stream = fopencookie(file, "w", (cookie_io_functions_t){.write = write_and_remember, .close = close_fd});
    if (!file->stream) {
        close(file->fd);
        td_file_discard(file);
        return td_fail(err, TD_NO_MEMORY, "no memory to write a file");
    }
    return TD_OK;
}

td_status td_file_finish(td_file *file, td_error *err) {
    if (fflush(file->stream) == 0 && fsync(file->fd) != 0 && !file->reason) file->reason = errno;
    if (fclose(file->stream) != 0 && !file->reason) file->reason = errno;
    file->stream = NULL;
    if (!file->reason) return TD_OK;
    td_file_discard(file);
    return td_file_failed(file->path, "cannot be written", file->reason, err);
}

td_status td_file_publish(td_file *file, td_error *err) {
    if (rename(file->temporary, file->path) != 0) {
        int reason = errno;
        td_file_discard(file);
        return td_file_failed(file->path, "cannot be written", reason, err);
    }
    file->temporary[0] = '\0';
    return TD_OK;
}

void td_file_discard(td_file *file) {
    if (file->stream) fclose(file->stream);
    file->stream = NULL;
    if (file->temporary[0]) unlink(file->temporary);
    file->temporary[0] = '\0';
}

/* Make each folder of `path` in turn; *made = length of the part of `path` that was the first to be made, 0 = none. */
static td_status make_folders(const char *path, size_t *made, td_error *err) {
    char part[PATH_MAX];
    *made = 0;
    if (strlen(path) >= sizeof part) return td_file_failed(path, "cannot be made", ENAMETOOLONG, err);
    for (size_t n = 1; path[0] && path[n - 1]; n++) {
        if (path[n] != '/' && path[n] != '\0') continue;
        snprintf(part, sizeof part, "%.*s", (int)n, path);
        if (mkdir(part, 0777) == 0)
            *made = *made ? *made : n;
        else if (errno != EEXIST)
            return td_file_failed(part, "cannot be made", errno, err);
    }
    struct stat there;
    if (stat(path, &there) != 0) return td_file_failed(path, "cannot be made", errno, err);
    if (!S_ISDIR(there.st_mode)) return td_file_failed(path, "cannot be made", ENOTDIR, err);
    if (access(path, W_OK | X_OK) != 0) return td_file_failed(path, "cannot be written", errno, err);
    return TD_OK;
}

td_status td_folder_make(const char *path, td_error *err) {
    size_t made;
    return make_folders(path, &made, err);
}

td_status td_folder_make_for(const char *option, const char *path, td_error *err) {
    td_error why;
    char shown[100];
    td_status status = td_folder_make(path, &why);
    if (status == TD_OK) return status;
    return td_fail(err, status, "%s=%s: %s", option, td_shown(path, shown, sizeof shown), why.message);
}

td_status td_folder_probe(const char *path, td_error *err) {
    char part[PATH_MAX];
    size_t made;
    td_status status = make_folders(path, &made, err);
    for (size_t n = strlen(path); made && n >= made; n--) /* the deepest first */
        if (n < sizeof part && (path[n] == '/' || path[n] == '\0')) {
            snprintf(part, sizeof part, "%.*s", (int)n, path);
            rmdir(part);
        }
    return status;
}

int td_path_within(const char *path, const char *folder) {
    char there[PATH_MAX], inner[PATH_MAX], outer[PATH_MAX], *slash;
    if (strlen(path) >= sizeof there || !realpath(folder, outer)) return 0;
    strcpy(there, path);
    while (!realpath(there, inner)) {
        if (errno != ENOENT || !there[0]) return 0;
        if (!(slash = strrchr(there, '/')))
            strcpy(there, ".");
        else
            *(slash == there ? slash + 1 : slash) = '\0';
    }
    size_t n = strlen(outer);
    return n == 1 || (strncmp(inner, outer, n) == 0 && (!inner[n] || inner[n] == '/'));
}

td_status td_folder_lock(const char *folder, int *lock, td_error *err) {
    char path[PATH_MAX], shown[160];
    *lock = -1;
    if (snprintf(path, sizeof path, "%s/lock", folder) >= PATH_MAX)
        return td_file_failed(folder, "cannot be used", ENAMETOOLONG, err);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return td_file_failed(path, "cannot be written", errno, err);
    /* what a killed run had just started holds it for a moment more */
    const struct timespec moment = {0, 10 * 1000 * 1000};
    for (int attempt = 0; attempt < 20 && *lock < 0; attempt++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            *lock = fd;
        else if (errno == EWOULDBLOCK)
            nanosleep(&moment, NULL);
        else
            break;
    }
    if (*lock >= 0) return TD_OK;
    int reason = errno;
    close(fd);
    if (reason != EWOULDBLOCK) return td_file_failed(path, "cannot be locked", reason, err);
    return td_fail(err, TD_IO, "OUT=%s: another grader is at work there", td_shown(folder, shown, sizeof shown));
}

td_status td_file_probe(const char *path, td_error *err) {
    char folder[PATH_MAX];
    td_file file;
    snprintf(folder, sizeof folder, "%s", path);
    td_status status = td_folder_make(dirname(folder), err);
    if (status == TD_OK) status = td_file_create(&file, path, err);
    if (status == TD_OK) td_file_discard(&file);
    return status;
}

td_status td_resource_find(const char *name, char *path, int size, td_error *err) {
    char folder[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    folder[length > 0 ? length : 0] = '\0';
    for (int up = 0; up < 4; up++) { /* build/tandem, and build/san/tandem, lie below the folder that holds plots/ */
        char *slash = strrchr(folder, '/');
        if (!slash) break;
        *slash = '\0';
        int n = snprintf(path, (size_t)size, "%s/%s", folder, name);
        if (n < size && access(path, R_OK) == 0) return TD_OK;
    }
    if (snprintf(path, (size_t)size, "%s", name) < size && access(path, R_OK) == 0) return TD_OK;
    return td_fail(err, TD_IO, "%s: found neither near the executable nor in the working folder", name);
}
