/* Working copies are made under a temporary name and renamed, so that none is ever half there. */
#include "exercise.h"
#include "../checks/file.h"
#include "../checks/text.h"
#include "lesson.h"
#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int td_work_lessons(void) {
    int n = 0;
    while (td_lessons[n]) n++;
    return n;
}

static td_status too_long(const char *path, td_error *err) {
    return td_file_failed(path, "cannot be used", ENAMETOOLONG, err);
}

td_status td_work_find(td_work *work, int64_t number, const char *folder, td_error *err) {
    char name[160];
    *work = (td_work){.number = (int)number};
    snprintf(name, sizeof name, "lessons/%02d_%s/exercise", work->number, td_lessons[number - 1]->name);
    if (td_resource_find(name, work->exercise, sizeof work->exercise, err) != TD_OK)
        return td_fail(err, TD_UNSUPPORTED, "lesson %d has no exercise here: %s is nowhere", work->number, name);
    int n = folder[0] ? snprintf(work->folder, sizeof work->folder, "%s", folder)
                      : snprintf(work->folder, sizeof work->folder, "mine/lesson-%d", work->number);
    if (n >= (int)sizeof work->folder - 64) return too_long(folder, err);
    while (n > 1 && work->folder[n - 1] == '/') work->folder[--n] = '\0';
    return TD_OK;
}

char *td_work_command(const td_work *work, const char *action, char *out, int size) {
    char usual[32];
    int make = td_is_plain_word(work->folder);
    snprintf(usual, sizeof usual, "mine/lesson-%d", work->number);
    int n = make ? snprintf(out, (size_t)size, "make %s-%d", action, work->number)
                 : snprintf(out, (size_t)size, "build/tandem exercise %s LESSON=%d", action, work->number);
    if (!strcmp(work->folder, usual)) return out;
    FILE *line = fmemopen(out + n, (size_t)(size - n), "w");
    if (!line) return out;
    fprintf(line, " WORK=");
    td_print_quoted(line, work->folder);
    fclose(line);
    out[size - 1] = '\0';
    return out;
}

static int is_handed_out(const struct dirent *entry) {
    const char *name = entry->d_name;
    return name[0] != '.' && strcmp(name, "hints.md") && strcmp(name, "solution");
}

static int is_any(const struct dirent *entry) {
    return strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
}

static int is_shown(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

static td_status copy_file(const char *from, const char *to, td_error *err) {
    FILE *in = fopen(from, "rbe");
    if (!in) return td_file_failed(from, "cannot be read", errno, err);
    td_file file;
    td_status status = td_file_create(&file, to, err);
    char bytes[4096];
    for (size_t n = 1; status == TD_OK && n > 0;) {
        n = fread(bytes, 1, sizeof bytes, in);
        if (ferror(in))
            status = td_file_failed(from, "cannot be read", EIO, err);
        else if (fwrite(bytes, 1, n, file.stream) < n)
            break; /* finish tells why */
    }
    fclose(in);
    if (status == TD_OK) status = td_file_finish(&file, err);
    if (status == TD_OK) status = td_file_publish(&file, err);
    td_file_discard(&file);
    return status;
}

/* Call `each` for the entries of a folder in the order of their names. */
static td_status for_each(const char *folder, int (*wanted)(const struct dirent *),
                          td_status (*each)(const char *from, const char *name, void *context, td_error *err),
                          void *context, td_error *err) {
    struct dirent **entry;
    int n = scandir(folder, &entry, wanted, alphasort);
    if (n < 0) return td_file_failed(folder, "cannot be read", errno, err);
    td_status status = TD_OK;
    for (int i = 0; i < n; i++) {
        char from[PATH_MAX];
        if (status == TD_OK && snprintf(from, sizeof from, "%s/%s", folder, entry[i]->d_name) >= (int)sizeof from)
            status = too_long(folder, err);
        if (status == TD_OK) status = each(from, entry[i]->d_name, context, err);
        free(entry[i]);
    }
    free(entry);
    return status;
}

static td_status copy_into(const char *from, const char *name, void *folder, td_error *err) {
    char to[PATH_MAX];
    if (snprintf(to, sizeof to, "%s/%s", (const char *)folder, name) >= (int)sizeof to) return too_long(folder, err);
    return copy_file(from, to, err);
}

static td_status remove_one(const char *from, const char *name, void *context, td_error *err) {
    (void)name, (void)context, (void)err;
    remove(from);
    return TD_OK;
}

static void remove_copy(const char *folder) {
    td_error ignored;
    for_each(folder, is_any, remove_one, NULL, &ignored);
    rmdir(folder);
}

static td_status mark(const char *folder, int number, td_error *err) {
    char path[PATH_MAX];
    td_file file;
    if (snprintf(path, sizeof path, "%s/" TD_WORK_MARKER, folder) >= (int)sizeof path) return too_long(folder, err);
    td_status status = td_file_create(&file, path, err);
    if (status) return status;
    fprintf(file.stream, "%d\n", number);
    status = td_file_finish(&file, err);
    return status == TD_OK ? td_file_publish(&file, err) : status;
}

/* A whole copy beside the folder, under a name of its own. */
static td_status make_copy(const td_work *work, char copy[PATH_MAX], td_error *err) {
    char path[PATH_MAX];
    strcpy(path, work->folder);
    const char *parent = dirname(path);
    td_status status = td_folder_make(parent, err);
    if (status) return status;
    if (snprintf(copy, PATH_MAX, "%s/.lesson-%d.tandem-%ld", parent, work->number, (long)getpid()) >= PATH_MAX)
        return too_long(parent, err);
    if (mkdir(copy, 0777) != 0) return td_file_failed(parent, "cannot be written", errno, err);
    status = for_each(work->exercise, is_handed_out, copy_into, copy, err);
    if (status == TD_OK) status = mark(copy, work->number, err);
    if (status) remove_copy(copy);
    return status;
}

/* An empty folder is nothing: rename replaces it. */
static int something_is_there(const char *folder) {
    struct stat there;
    if (lstat(folder, &there) != 0) return 0;
    if (!S_ISDIR(there.st_mode)) return 1;
    struct dirent **entry;
    int n = scandir(folder, &entry, NULL, NULL);
    for (int i = 0; i < n; i++) free(entry[i]);
    if (n >= 0) free(entry);
    return n != 2; /* . and .. */
}

td_status td_work_is_there(const td_work *work, td_error *err) {
    char shown[160];
    struct stat there;
    if (stat(work->folder, &there) == 0 && S_ISDIR(there.st_mode)) return TD_OK;
    char command[PATH_MAX + 64], start[200];
    return td_fail(err, TD_BAD_PARAM, "WORK=%s: there is no such folder; %s starts a working copy",
                   td_shown(work->folder, shown, 100),
                   td_shown(td_work_command(work, "exercise", command, sizeof command), start, 150));
}

static td_status is_there_already(const td_work *work, td_error *err) {
    char shown[80], command[PATH_MAX + 64], again[200];
    td_error no;
    td_shown(work->folder, shown, sizeof shown);
    if (td_work_is_own(work, &no) != TD_OK)
        return td_fail(err, TD_BAD_PARAM, "%s: is there already and stays as it is; WORK must name a new folder",
                       shown);
    return td_fail(err, TD_BAD_PARAM, "%s: is there already and stays as it is; %s keeps it and starts over", shown,
                   td_shown(td_work_command(work, "reset", command, sizeof command), again, sizeof again));
}

td_status td_work_start(const td_work *work, td_error *err) {
    char copy[PATH_MAX];
    if (something_is_there(work->folder)) return is_there_already(work, err);
    td_status status = make_copy(work, copy, err);
    if (status) return status;
    if (rename(copy, work->folder) == 0) return TD_OK;
    int reason = errno;
    remove_copy(copy);
    return td_file_failed(work->folder, "cannot be made", reason, err);
}

td_status td_work_reset(const td_work *work, char kept[PATH_MAX], td_error *err) {
    char copy[PATH_MAX], hints[PATH_MAX + 8];
    struct stat there;
    td_status status = td_work_is_own(work, err);
    if (status == TD_OK) status = make_copy(work, copy, err);
    if (status) return status;
    int k = 1, n;
    do n = snprintf(kept, PATH_MAX, "%s.before-%d", work->folder, k++);
    while (n < PATH_MAX && lstat(kept, &there) == 0);
    int moved = rename(work->folder, kept) == 0;
    if (moved && rename(copy, work->folder) == 0) {
        snprintf(hints, sizeof hints, "%s.hints", work->folder);
        unlink(hints);
        return TD_OK;
    }
    int reason = errno;
    if (moved) (void)!rename(kept, work->folder);
    remove_copy(copy);
    return td_file_failed(work->folder, "cannot be kept under another name", reason, err);
}

static td_status print_file(const char *from, const char *name, void *out, td_error *err) {
    (void)name;
    FILE *in = fopen(from, "rbe");
    if (!in) return td_file_failed(from, "cannot be read", errno, err);
    td_print_quoted(out, from);
    fprintf(out, "\n\n");
    for (int c; (c = getc(in)) != EOF;) putc(c, out);
    putc('\n', out);
    fclose(in);
    return TD_OK;
}

td_status td_work_solution(const td_work *work, FILE *out, td_error *err) {
    char folder[PATH_MAX];
    if (snprintf(folder, sizeof folder, "%s/solution", work->exercise) >= (int)sizeof folder)
        return too_long(work->exercise, err);
    return for_each(folder, is_shown, print_file, out, err);
}
