/* Ranks for this lesson: started, awaited, and what they wrote read back. */
#include "../ranks/world.h"
#include "../started.h"
#include "lesson_7.h"
#include <string.h>

enum { LIMIT_SECONDS = 300, ARGUMENTS = 14, LENGTH = PATH_MAX + 16 };

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

static td_status failed(const td_launched *launched, int64_t ranks, const char *part, td_error *err) {
    char what[64];
    snprintf(what, sizeof what, "%lld ranks, %s", (long long)ranks, part);
    return td_started_failed(launched, what, LIMIT_SECONDS, ": lower C, T, B, LAYERS or STEPS", err);
}

td_status td_lesson_7_launch(td_lesson_7 *lesson, int64_t ranks, const char *part, int64_t B, int64_t steps,
                             td_error *err) {
    static const char *const passed_on[] = {"layers", "h", "c", "t", "lr", "norm", "seed", "alpha", "beta"};
    char text[ARGUMENTS + 2][LENGTH];
    const char *arguments[ARGUMENTS + 4] = {"lesson-7"};
    int n = 1, k = 0;
    snprintf(text[k++], LENGTH, "part=%s", part);
    snprintf(text[k++], LENGTH, "b=%lld", (long long)B);
    snprintf(text[k++], LENGTH, "steps=%lld", (long long)steps);
    snprintf(text[k++], LENGTH, "out=%s", lesson->folder);
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
    td_status status = td_launch_ranks((int)ranks, NULL, arguments, LIMIT_SECONDS, &launched, &why);
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
    char file[96], what[32];
    snprintf(file, sizeof file, "%s_%lld.csv", name, (long long)ranks);
    snprintf(what, sizeof what, "%lld ranks", (long long)ranks);
    return td_started_read(lesson->folder, file, what, out, err);
}
