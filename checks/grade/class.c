/* A submission is done when its folder holds the file `graded`, written last, with the key of what was graded. */
#include "class.h"
#include "../file.h"
#include "../text.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Beside the submissions' folders; a submission of such a name has no place. */
static const char *const own_names[] = {"secret",    "lock",         "class.csv",    "class.svg",
                                        "class.png", "mistakes.csv", "mistakes.svg", "mistakes.png"};

char *td_class_name(const char *name) {
    char *shown = malloc(4 * strlen(name) + 1), *to = shown;
    for (int n; shown && *name; name += n) {
        n = td_printable(name);
        if ((!n && (n = 1)) || *name == '\\')
            to += sprintf(to, "\\x%02x", (unsigned char)*name);
        else
            to = mempcpy(to, name, (size_t)n);
    }
    if (shown) *to = '\0';
    return shown;
}

static td_status join(const char *folder, const char *name, char path[PATH_MAX], td_error *err) {
    if (snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX) return TD_OK;
    return td_file_failed(folder, "cannot be used", ENAMETOOLONG, err);
}

td_status td_class_path(const td_class *class, const td_class_member *member, const char *file, char path[PATH_MAX],
                        td_error *err) {
    char folder[PATH_MAX];
    td_status status = join(class->options->out, member->name, folder, err);
    return status == TD_OK ? join(folder, file, path, err) : status;
}

static td_status no_folder(const char *submissions, td_error *err) {
    char shown[160];
    int reason = errno;
    return td_fail(err, TD_BAD_PARAM, "SUBMISSIONS=%s: must be a folder: %s",
                   td_shown(submissions, shown, sizeof shown), strerror(reason));
}

/* One inside the other: reports would be submissions, or a submission a report. */
static td_status make_out(const td_class_options *o, td_error *err) {
    char shown[160];
    if (access(o->submissions, R_OK | X_OK) != 0) return no_folder(o->submissions, err);
    if (td_path_within(o->out, o->submissions) || td_path_within(o->submissions, o->out))
        return td_fail(err, TD_BAD_PARAM, "OUT=%s: must lie neither within SUBMISSIONS nor around it",
                       td_shown(o->out, shown, sizeof shown));
    return td_folder_make_for("OUT", o->out, err);
}

static td_status make_secret(const char *path, uint64_t *secret, td_error *err) {
    td_file file;
    if (getrandom(secret, sizeof *secret, 0) != (ssize_t)sizeof *secret)
        return td_fail(err, TD_IO, "no random number for the secret: %s", strerror(errno));
    *secret >>= 1; /* SECRET= is a signed integer */
    mode_t before = umask(077);
    td_status status = td_file_create(&file, path, err);
    umask(before);
    if (status) return status;
    fprintf(file.stream, "%llu\n", (unsigned long long)*secret);
    status = td_file_finish(&file, err);
    return status == TD_OK ? td_file_publish(&file, err) : status;
}

static td_status find_secret(td_class *class, td_error *err) {
    char path[PATH_MAX], shown[160];
    char digits[24] = "", more;
    if (class->options->secret && class->options->secret[0]) {
        class->secret = strtoull(class->options->secret, NULL, 10);
        return TD_OK;
    }
    td_status status = join(class->options->out, "secret", path, err);
    if (status) return status;
    FILE *in = fopen(path, "re");
    if (!in && errno == ENOENT) return make_secret(path, &class->secret, err);
    if (!in) return td_file_failed(path, "cannot be read", errno, err);
    int whole = fscanf(in, "%20[0-9] %c", digits, &more) == 1;
    fclose(in);
    class->secret = strtoull(digits, NULL, 10);
    if (whole && class->secret <= INT64_MAX) return TD_OK; /* as SECRET= of each grader takes it */
    return td_fail(err, TD_BAD_PARAM, "%s: must hold an integer, 0 to 2^63 - 1; without that file a new secret is made",
                   td_shown(path, shown, sizeof shown));
}

/* Folders; one that is hidden is no submission, and neither is a link, which could lead anywhere. */
static td_status find_members(td_class *class, td_error *err) {
    struct dirent **entry;
    char shown[160];
    int n = scandir(class->options->submissions, &entry, NULL, alphasort);
    if (n < 0) return no_folder(class->options->submissions, err);
    td_status status = TD_OK;
    class->member = calloc((size_t)n + 1, sizeof *class->member);
    if (!class->member) status = td_fail(err, TD_NO_MEMORY, "no memory for %d submissions", n);
    for (int i = 0; i < n; i++) {
        char path[PATH_MAX];
        struct stat st;
        const char *name = entry[i]->d_name;
        if (status == TD_OK && name[0] != '.' &&
            (status = join(class->options->submissions, name, path, err)) == TD_OK && lstat(path, &st) == 0 &&
            S_ISDIR(st.st_mode)) {
            for (size_t k = 0; k < sizeof own_names / sizeof *own_names; k++)
                if (!strcmp(name, own_names[k]))
                    status = td_fail(err, TD_BAD_PARAM,
                                     "SUBMISSIONS holds a folder %s, which a file of the summary is called; rename it",
                                     name);
            if (!(class->member[class->n++].name = strdup(name)))
                status = td_fail(err, TD_NO_MEMORY, "no memory for %d submissions", n);
        }
        free(entry[i]);
    }
    free(entry);
    if (status == TD_OK && class->n == 0)
        status = td_fail(err, TD_BAD_PARAM, "SUBMISSIONS=%s: holds no folder; each folder in it is a submission",
                         td_shown(class->options->submissions, shown, sizeof shown));
    return status;
}

/* What its folder says, if that is of the same key and the reports are there. */
static td_status look(td_class *class, td_class_member *member, uint64_t rules, td_error *err) {
    char path[PATH_MAX], report[PATH_MAX];
    unsigned long long key;
    td_status status = join(class->options->submissions, member->name, path, err);
    if (status) return status;
    member->key = td_class_key(path, rules);
    if ((status = td_class_path(class, member, "results.json", report, err)) ||
        (status = td_class_path(class, member, "graded", path, err)))
        return status;
    FILE *in = fopen(path, "re");
    if (!in) return TD_OK;
    int whole = fscanf(in, "key %llx status %d seconds %lf end", &key, &member->status, &member->seconds) == 3;
    fclose(in);
    member->graded = member->earlier = whole && key == member->key && access(report, R_OK) == 0;
    return TD_OK;
}

td_status td_class_open(td_class *class, const td_class_options *options, td_error *err) {
    *class = (td_class){.options = options, .lock = -1};
    td_status status = make_out(options, err);
    if (status || (status = td_folder_lock(options->out, &class->lock, err)) || (status = find_secret(class, err)) ||
        (status = find_members(class, err)))
        return status;
    uint64_t rules = td_class_rules(options, class->secret);
    for (int i = 0; status == TD_OK && i < class->n; i++) status = look(class, &class->member[i], rules, err);
    return status;
}

/* Its reports are whole: say so, last of all. */
static td_status mark(td_class *class, td_class_member *member, td_error *err) {
    char path[PATH_MAX];
    td_file file;
    td_status status = td_class_path(class, member, "graded", path, err);
    if (status == TD_OK) status = td_file_create(&file, path, err);
    if (status) return status;
    fprintf(file.stream, "key %016llx\nstatus %d\nseconds %.3f\nend\n", (unsigned long long)member->key, member->status,
            member->seconds);
    status = td_file_finish(&file, err);
    return status == TD_OK ? td_file_publish(&file, err) : status;
}

/* Of a grader: 0 all correct, 1 wrong, 5 build failed, 6 crashed, 7 timed out. All others are no verdict. */
static td_graded verdict_of(int exit_status) {
    static const td_graded verdict[] = {
        [0] = TD_GRADED_PASS,    [1] = TD_GRADED_WRONG,        [2] = TD_GRADED_HARNESS, [3] = TD_GRADED_HARNESS,
        [4] = TD_GRADED_HARNESS, [5] = TD_GRADED_BUILD_FAILED, [6] = TD_GRADED_CRASHED, [7] = TD_GRADED_TIMED_OUT};
    int known = exit_status >= 0 && exit_status < (int)(sizeof verdict / sizeof *verdict);
    return known ? verdict[exit_status] : TD_GRADED_HARNESS;
}

td_graded td_class_verdict(const td_class_member *member) {
    return member->graded ? verdict_of(member->status) : TD_GRADED_HARNESS;
}

static td_status ended(td_class *class, td_class_member *member, td_error *err) {
    char path[PATH_MAX];
    td_status status = td_class_path(class, member, "results.json", path, err);
    if (status) return status;
    member->graded = verdict_of(member->status) != TD_GRADED_HARNESS && access(path, R_OK) == 0;
    return member->graded ? mark(class, member, err) : TD_OK;
}

/* Reports of another key must not be taken for this one's. */
static td_status clear(td_class *class, td_class_member *member, td_error *err) {
    static const char *const old[] = {"graded", "results.json", "results.csv"};
    char path[PATH_MAX];
    td_status status = join(class->options->out, member->name, path, err);
    if (status == TD_OK) status = td_folder_make(path, err);
    for (size_t i = 0; status == TD_OK && i < sizeof old / sizeof *old; i++) {
        status = td_class_path(class, member, old[i], path, err);
        if (status == TD_OK && unlink(path) != 0 && errno != ENOENT)
            status = td_file_failed(path, "cannot be removed", errno, err);
    }
    return status;
}

td_status td_class_grade(td_class *class, td_error *err) {
    td_status status = TD_OK;
    for (int i = 0; status == TD_OK && i < class->n; i++)
        if (!class->member[i].graded) status = clear(class, &class->member[i], err);
    return status == TD_OK ? td_class_run(class, ended, err) : status;
}

void td_class_free(td_class *class) {
    for (int i = 0; i < class->n; i++) free(class->member[i].name);
    free(class->member);
    if (class->lock >= 0) close(class->lock);
    *class = (td_class){.lock = -1};
}
