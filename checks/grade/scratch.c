/* The folder is locked by its grader. A lock goes with its process, however that ends: a folder that can be locked
 * belongs to nobody any more. */
#include "scratch.h"
#include "../file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char prefix[] = "tandem-grade-";

static const char *temporary(void) {
    const char *folder = getenv("TMPDIR");
    return folder && folder[0] ? folder : "/tmp";
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

td_status td_scratch_make(td_scratch *out, td_error *err) {
    const char *folder = temporary();
    *out = (td_scratch){.lock = -1};
    remove_left_over(folder);
    /* between its making and its lock, another grader may take a folder for left over */
    for (int attempt = 0; attempt < 8 && out->lock < 0; attempt++) {
        if (snprintf(out->path, sizeof out->path, "%s/%sXXXXXX", folder, prefix) >= (int)sizeof out->path - 128)
            return td_file_failed(folder, "cannot hold a private folder", ENAMETOOLONG, err);
        if (!mkdtemp(out->path)) return td_file_failed(out->path, "cannot be made", errno, err);
        out->lock = lock(out->path);
    }
    return out->lock >= 0 ? TD_OK : td_file_failed(out->path, "cannot be locked", EBUSY, err);
}

void td_scratch_remove(td_scratch *scratch) {
    if (scratch->lock < 0) return;
    remove_tree(scratch->path);
    close(scratch->lock);
    scratch->lock = -1;
}
