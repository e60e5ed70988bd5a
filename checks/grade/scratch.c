/* The folder is locked by its grader. A lock goes with its process, however that ends: a folder that can be locked
 * belongs to nobody any more. */
#include "scratch.h"
#include "../file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char prefix[] = "tandem-grade-";

/* Its full path: a compiler and a child work in folders of their own. */
static td_status temporary(char folder[PATH_MAX], td_error *err) {
    const char *given = getenv("TMPDIR");
    if (!given || !given[0]) given = "/tmp";
    return realpath(given, folder) ? TD_OK : td_file_failed(given, "cannot hold a private folder", errno, err);
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *walk) {
    (void)st, (void)kind, (void)walk;
    remove(path);
    return 0;
}

static void remove_tree(const char *path) {
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* The folder, opened and locked; −1 if it is another's, or no folder of ours. */
static int lock(const char *path) {
    struct stat st, named;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return -1;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && stat(path, &named) == 0 &&
        named.st_ino == st.st_ino)
        return fd;
    close(fd);
    return -1;
}

static void remove_left_over(const char *folder) {
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char path[4096];
        if (strncmp(entry->d_name, prefix, sizeof prefix - 1) != 0) continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= (int)sizeof path) continue;
        int fd = lock(path);
        if (fd < 0) continue;
        remove_tree(path);
        close(fd);
    }
    if (dir) closedir(dir);
}

/* Never returns. What the grader started may write there until it has died as well. */
static void watch(const td_scratch *scratch, int alive) {
    enum { DESCRIPTORS = 1024, ATTEMPTS = 100 };
    const struct timespec moment = {0, 20 * 1000 * 1000};
    sigset_t all;
    char byte;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL); /* a signal to the grader's whole group is not meant for us */
    setsid();
    for (int fd = 0; fd < DESCRIPTORS; fd++)
        if (fd != alive && fd != scratch->lock) close(fd);
    while (read(alive, &byte, 1) < 0 && errno == EINTR) continue;
    for (int i = 0; i < ATTEMPTS && access(scratch->path, F_OK) == 0; i++) {
        if (i) nanosleep(&moment, NULL);
        remove_tree(scratch->path);
    }
    _exit(0);
}

/* Without a watcher the folder of a grader that dies remains until the next grading. */
static void start_watcher(td_scratch *scratch) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    scratch->watcher = fork();
    if (scratch->watcher == 0) watch(scratch, ends[0]);
    close(ends[0]);
    scratch->alive = ends[1];
}

td_status td_scratch_make(td_scratch *out, td_error *err) {
    char folder[PATH_MAX];
    *out = (td_scratch){.lock = -1, .watcher = -1, .alive = -1};
    td_status status = temporary(folder, err);
    if (status) return status;
    remove_left_over(folder);
    /* between its making and its lock, another grader may take a folder for left over */
    for (int attempt = 0; attempt < 8 && out->lock < 0; attempt++) {
        if (snprintf(out->path, sizeof out->path, "%s/%sXXXXXX", folder, prefix) >= (int)sizeof out->path - 128)
            return td_file_failed(folder, "cannot hold a private folder", ENAMETOOLONG, err);
        if (!mkdtemp(out->path)) return td_file_failed(out->path, "cannot be made", errno, err);
        out->lock = lock(out->path);
    }
    if (out->lock < 0) return td_file_failed(out->path, "cannot be locked", EBUSY, err);
    start_watcher(out);
    return TD_OK;
}

void td_scratch_remove(td_scratch *scratch) {
    if (scratch->lock < 0) return;
    remove_tree(scratch->path);
    if (scratch->alive >= 0) close(scratch->alive);
    while (scratch->watcher > 0 && waitpid(scratch->watcher, NULL, 0) < 0 && errno == EINTR) continue;
    close(scratch->lock);
    scratch->lock = -1;
}
