/* Ranks for this lesson: started, awaited, and what they wrote read back. */
#include "../../checks/launch.h"
#include "../../checks/file.h"
#include "../ranks/world.h"
#include "lesson_7.h"
#include <string.h>

enum { LIMIT_SECONDS = 300, ARGUMENTS = 14, LENGTH = PATH_MAX + 16 };

td_status td_lesson_7_folder(const td_lesson_7 *lesson, char *path, int size, td_error *err) {
    td_status status = td_lesson_path(lesson->arguments, 7, "ranks", path, size, err);
    return status ? status : td_folder_make(path, err);
}

int td_lesson_7_skips(const td_lesson_7 *lesson) {
    if (lesson->no_ranks) td_lesson_say("SKIP: ranks cannot be started here");
    return lesson->no_ranks;
}

td_status td_lesson_7_link(const td_lesson_7 *lesson, td_link *link, td_error *err) {
    td_status status = td_argument_link(lesson->arguments, "alpha", "beta", link, err);
    if (!status && !(link->beta > 0))
        return td_fail(err, TD_BAD_PARAM, "BETA=0: must be above 0, the bandwidth of a simulated link: 200MB/s");
    return status;
}

/* The last line that is not empty: what went wrong is said last. */
static const char *last_line(char *text) {
    size_t length = strlen(text);
    while (length && text[length - 1] == '\n') text[--length] = '\0';
    const char *newline = strrchr(text, '\n');
    return newline ? newline + 1 : text;
}

static td_status failed(td_launched *l, int64_t ranks, const char *part, td_error *err) {
    if (l->timed_out)
        return td_fail(err, TD_WRONG, "%lld ranks, %s: not done after %d s: lower C, T, B, LAYERS or STEPS",
                       (long long)ranks, part, LIMIT_SECONDS);
    /* a rank's own words begin with the program's name; a launcher adds its own after them */
    char *said = strstr(l->err, "tandem ranks");
    if (said) said[strcspn(said, "\n")] = '\0';
    return td_fail(err, TD_WRONG, "%lld ranks, %s: exit status %d: %.200s", (long long)ranks, part, l->status,
                   said ? said : last_line(l->err));
}

td_status td_lesson_7_launch(td_lesson_7 *lesson, int64_t ranks, const char *part, int64_t B, int64_t steps,
                             td_error *err) {
    static const char *const passed_on[] = {"layers", "h", "c", "t", "lr", "norm", "seed", "alpha", "beta"};
    char text[ARGUMENTS + 2][LENGTH], folder[PATH_MAX];
    const char *arguments[ARGUMENTS + 4] = {"lesson-7"};
    int n = 1, k = 0;
    td_status status = td_lesson_7_folder(lesson, folder, sizeof folder, err);
    if (status) return status;
    snprintf(text[k++], LENGTH, "part=%s", part);
    snprintf(text[k++], LENGTH, "b=%lld", (long long)B);
    snprintf(text[k++], LENGTH, "steps=%lld", (long long)steps);
    snprintf(text[k++], LENGTH, "out=%s", folder);
    snprintf(text[k++], LENGTH, "from=half_flat_%lld", (long long)lesson->ranks);
    int is_slowed = !strcmp(part, "exposed");
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++) {
        if (!is_slowed && (!strcmp(passed_on[i], "alpha") || !strcmp(passed_on[i], "beta"))) continue;
        snprintf(text[k++], LENGTH, "%s=%s", passed_on[i], td_argument_text(lesson->arguments, passed_on[i]));
    }
    for (int i = 0; i < k; i++) arguments[n++] = text[i];
    arguments[n] = NULL;
    td_launched launched;
    td_error why;
    status = td_launch_ranks((int)ranks, NULL, arguments, LIMIT_SECONDS, &launched, &why);
    if (status == TD_UNSUPPORTED) {
        td_lesson_say("SKIP: %s", why.message);
        lesson->no_ranks = 1;
        return TD_OK;
    }
    if (status) return td_fail(err, status, "%s", why.message);
    if (launched.status || launched.timed_out) status = failed(&launched, ranks, part, err);
    td_launched_free(&launched);
    return status;
}

td_status td_lesson_7_read(const td_lesson_7 *lesson, const char *name, int64_t ranks, td_record **out, td_error *err) {
    char file[96], path[PATH_MAX];
    snprintf(file, sizeof file, "ranks/%s_%lld.csv", name, (long long)ranks);
    td_status status = td_lesson_path(lesson->arguments, 7, file, path, sizeof path, err);
    *out = NULL;
    return status ? status : td_record_read_csv(out, path, err);
}
