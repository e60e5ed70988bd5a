/* Has a submission changed since it was graded? Equal bytes under equal names, graded by the same rules: equal key. */
#include "../file.h"
#include "../guard.h"
#include "../provenance.h"
#include "class.h"
#include "exercise.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* No source that is graded is longer, nor deeper. */
enum { MOST_BYTES = 2 << 20, MOST_FOLDERS = 8 };

static void mix(uint64_t *key, const void *bytes, size_t count) {
    uint64_t both[2] = {*key, td_hash(bytes, count)};
    *key = td_hash(both, sizeof both);
}

/* Never waits: what is no regular file is not read. */
static void mix_file(uint64_t *key, const char *path) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char *bytes = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? malloc(MOST_BYTES) : NULL;
    size_t used = 0;
    for (ssize_t n = 1; bytes && n > 0 && used<MOST_BYTES; used += n> 0 ? (size_t)n : 0)
        n = read(fd, bytes + used, MOST_BYTES - used);
    if (bytes) {
        mix(key, bytes, used);
        mix(key, &st.st_size, sizeof st.st_size);
    }
    free(bytes);
    if (fd >= 0) close(fd);
}

static void mix_folder(uint64_t *key, const char *folder, int depth) {
    struct dirent **entry;
    int n = scandir(folder, &entry, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *name = entry[i]->d_name;
        char path[PATH_MAX];
        struct stat st = {0};
        if (strcmp(name, ".") && strcmp(name, "..") &&
            snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path && lstat(path, &st) == 0) {
            mode_t kind = st.st_mode & S_IFMT;
            mix(key, name, strlen(name));
            mix(key, &kind, sizeof kind);
            if (S_ISREG(st.st_mode)) mix_file(key, path);
            if (S_ISDIR(st.st_mode) && depth < MOST_FOLDERS) mix_folder(key, path, depth + 1);
        }
        free(entry[i]);
    }
    if (n >= 0) free(entry);
}

static void mix_text(uint64_t *key, const char *text) {
    mix(key, text ? text : "", text ? strlen(text) : 0);
}

uint64_t td_class_rules(const td_class_options *o, uint64_t secret) {
    uint64_t key = 0;
    mix(&key, &o->lesson, sizeof o->lesson);
    mix_text(&key, o->tier);
    mix(&key, &secret, sizeof secret);
    mix_text(&key, o->seed), mix_text(&key, o->seconds);
    if (o->rubric && o->rubric[0]) mix_file(&key, o->rubric);
    for (const td_exercise *const *e = td_exercises; *e; e++) {
        char name[128], path[PATH_MAX];
        td_error ignored;
        snprintf(name, sizeof name, "lessons/%s/exercise/rubric", (*e)->folder);
        if (td_resource_find(name, path, sizeof path, &ignored) == TD_OK) mix_file(&key, path);
    }
    td_record *record = td_record_new();
    if (!record) return key;
    td_record_provenance(record, NULL, "");
    const char *commit = td_record_about_of(record, "commit");
    if (commit) mix(&key, commit, strlen(commit));
    td_record_delete(record);
    return key;
}

uint64_t td_class_key(const char *folder, uint64_t rules) {
    mix_folder(&rules, folder, 0);
    return rules;
}
