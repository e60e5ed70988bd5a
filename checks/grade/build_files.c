/* Headers, objects and a submission's files, copied to where they are compiled. */
#include "build_files.h"
#include "../file.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGEST_SOURCE = 1 << 20, MOST_SOURCES = 64 };

void td_words_add(td_words *words, const char *format, ...) {
    va_list args;
    if (words->n < 0) return;
    char *to = words->text + words->used;
    va_start(args, format);
    int length = vsnprintf(to, sizeof words->text - words->used, format, args);
    va_end(args);
    if (words->n == TD_BUILD_WORDS || length < 0 || (size_t)length >= sizeof words->text - words->used) {
        words->n = -1;
        return;
    }
    words->used += (size_t)length + 1;
    words->word[words->n++] = to;
    words->word[words->n] = NULL;
}

td_status td_words_of_build(td_words *words, const char *key, const char *prefix, td_error *err) {
    char path[PATH_MAX], *line = NULL, *rest;
    size_t room = 0;
    int found = 0;
    td_status status = td_resource_find("grade/flags", path, sizeof path, err);
    if (status) return status;
    FILE *in = fopen(path, "r");
    if (!in) return td_file_failed(path, "cannot be read", errno, err);
    while (!found && getline(&line, &room, in) > 0) {
        const char *word = strtok_r(line, " \n", &rest);
        found = word && strcmp(word, key) == 0;
        while (found && (word = strtok_r(NULL, " \n", &rest))) td_words_add(words, "%s%s", prefix, word);
    }
    free(line);
    fclose(in);
    if (!found) return td_fail(err, TD_UNSUPPORTED, "this build of Tandem compiles no such submission: no '%s'", key);
    return words->n < 0 ? td_fail(err, TD_INTERNAL, "too many words in the command for '%s'", key) : TD_OK;
}

td_status td_build_copy(const char *from, const char *to, size_t most, td_error *err) {
    char bytes[65536], copy[PATH_MAX];
    struct stat st;
    snprintf(copy, sizeof copy, "%s", from);
    const char *name = basename(copy);
    if (lstat(from, &st) != 0) return td_file_failed(name, "cannot be read", errno, err);
    if (S_ISLNK(st.st_mode)) return td_fail(err, TD_BAD_PARAM, "%s is a symbolic link: hand in the file", name);
    int regular = S_ISREG(st.st_mode); /* a socket could not even be opened */
    int in = regular ? open(from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    if (in < 0 && regular && errno == EACCES)
        return td_fail(err, TD_BAD_PARAM, "%s cannot be read: %s", name, strerror(errno));
    if (in < 0 && regular) return td_file_failed(name, "cannot be read", errno, err);
    if (!regular || fstat(in, &st) != 0 || !S_ISREG(st.st_mode) || (most && (uint64_t)st.st_size > most)) {
        if (in >= 0) close(in);
        return most && S_ISREG(st.st_mode) ? td_fail(err, TD_BAD_PARAM, "%s has more than %zu bytes", name, most)
                                           : td_fail(err, TD_BAD_PARAM, "%s is not a regular file", name);
    }
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644), failed = out < 0 || fchmod(out, 0644) != 0;
    ssize_t n = 0;
    size_t sum = 0;
    while (!failed && (n = read(in, bytes, sizeof bytes)) > 0) {
        sum += (size_t)n;
        failed = (most && sum > most) || write(out, bytes, (size_t)n) != n;
    }
    int reason = errno;
    close(in);
    if (out >= 0 && close(out) != 0) failed = 1;
    return failed || n < 0 ? td_file_failed(name, "cannot be copied to be compiled", reason, err) : TD_OK;
}

static int ends(const char *name, const char *end) {
    size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

static td_status copy_headers(const char *from, const char *to, td_error *err) {
    td_status status = TD_OK;
    struct dirent *entry;
    DIR *dir = opendir(from);
    if (!dir) return td_file_failed(from, "cannot be read", errno, err);
    if (mkdir(to, 0755) != 0 || chmod(to, 0755) != 0) status = td_file_failed(to, "cannot be made", errno, err);
    while (!status && (entry = readdir(dir))) {
        char source[PATH_MAX], target[PATH_MAX];
        struct stat st;
        if (entry->d_name[0] == '.') continue;
        snprintf(source, sizeof source, "%.2000s/%s", from, entry->d_name);
        snprintf(target, sizeof target, "%.2000s/%s", to, entry->d_name);
        if (stat(source, &st) == 0 && S_ISDIR(st.st_mode))
            status = copy_headers(source, target, err);
        else if (ends(entry->d_name, ".h") || ends(entry->d_name, ".cuh"))
            status = td_build_copy(source, target, 0, err);
    }
    closedir(dir);
    return status;
}

td_status td_build_headers(const char *name, const char *folder, td_error *err) {
    char from[PATH_MAX], to[PATH_MAX];
    const char *slash = strrchr(name, '/');
    td_status status = td_resource_find(name, from, sizeof from, err);
    if (status) return status;
    snprintf(to, sizeof to, "%.3000s/%s", folder, slash ? slash + 1 : name);
    return copy_headers(from, to, err);
}

td_status td_build_objects(const td_words *objects, const char *folder, td_error *err) {
    char from[PATH_MAX], to[PATH_MAX], name[256];
    snprintf(to, sizeof to, "%.3000s/grade", folder);
    if (mkdir(to, 0755) != 0 || chmod(to, 0755) != 0) return td_file_failed(to, "cannot be made", errno, err);
    for (int i = 0; i < objects->n; i++) {
        snprintf(name, sizeof name, "grade/child/%.200s", objects->word[i]);
        td_status status = td_resource_find(name, from, sizeof from, err);
        snprintf(to, sizeof to, "%.3000s/grade/%.200s", folder, objects->word[i]);
        if (status || (status = td_build_copy(from, to, 0, err))) return status;
    }
    return TD_OK;
}

static int is_other(const char *name, const char *const *others) {
    for (; others && *others; others++)
        if (strcmp(name, *others) == 0) return 1;
    return 0;
}

static int sane(const char *name) {
    if (name[0] == '-' || strlen(name) > 100) return 0;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && !strchr("_.-+", *name)) return 0;
    return 1;
}

td_status td_build_sources(const td_part *part, const char *const *others, const char *submission, const char *folder,
                           td_words *sources, td_error *err) {
    const int kernels = ends(part->file, ".cu");
    td_status status = TD_OK;
    struct dirent *entry;
    int files = 0;
    DIR *dir = opendir(submission);
    if (!dir && errno == EACCES) return td_fail(err, TD_BAD_PARAM, "the folder cannot be read: %s", strerror(errno));
    if (!dir) return td_file_failed(submission, "cannot be read", errno, err);
    while (!status && (entry = readdir(dir))) {
        char from[PATH_MAX], to[PATH_MAX];
        const char *name = entry->d_name;
        int compiled = ends(name, ".c") || (kernels && ends(name, ".cu"));
        if (name[0] == '.' || (!compiled && !ends(name, ".h") && !(kernels && ends(name, ".cuh")))) continue;
        if (is_other(name, others)) continue;
        snprintf(from, sizeof from, "%.3000s/%s", submission, name);
        snprintf(to, sizeof to, "%.3000s/%s", folder, name);
        if (!sane(name))
            status = td_fail(err, TD_BAD_PARAM, "a file's name may have letters, digits and _ . - + only");
        else if (++files > MOST_SOURCES)
            status = td_fail(err, TD_BAD_PARAM, "more than %d files", MOST_SOURCES);
        else
            status = td_build_copy(from, to, LARGEST_SOURCE, err);
        if (!status && compiled) td_words_add(sources, "%s", name);
    }
    closedir(dir);
    return status;
}
