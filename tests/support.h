/* What several test suites need: a folder of one's own. */
#ifndef TANDEM_TESTS_SUPPORT_H
#define TANDEM_TESTS_SUPPORT_H

#include <criterion/criterion.h>
#include <dirent.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
    snprintf(joined, sizeof joined, "%s/%s", folder, name);
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

#endif
