/* Ranks, started from the lesson, and what they leave. */
#include "../commands.h"
#include "../started.h"
#include "lesson_6.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 24, LENGTH = PATH_MAX + 128 };
static const double LIMIT = 120; /* seconds, many times what the defaults take */

/* "TASK", "NAME=value" …, NULL. */
typedef struct words {
    char text[MOST][LENGTH];
    const char *word[MOST + 1];
    int count;
} words;

static void add(words *w, const char *name, const char *value) {
    if (w->count == MOST) return;
    snprintf(w->text[w->count], LENGTH, "%s%s%s", name, value ? "=" : "", value ? value : "");
    w->word[w->count] = w->text[w->count];
    w->word[++w->count] = NULL;
}

static void add_all(words *w, const char *const *more) {
    for (; more && *more; more++) add(w, *more, NULL);
}

/* On a terminal, while they are at work; `task` NULL takes it back. */
static void say_at_work(const td_lesson_6 *lesson, const char *task) {
    if (!isatty(STDERR_FILENO)) return;
    fprintf(stderr, "\r\033[K");
    if (task) fprintf(stderr, "%lld ranks are at %s …", (long long)lesson->ranks, task);
    fflush(stderr);
}

/* 1 with the run's result; 0 after SKIP; the caller frees `launched` in the first case. */
static int launch(td_lesson_6 *lesson, const words *w, td_launched *launched, td_status *status, td_error *err) {
    td_error why = {TD_OK, ""};
    fflush(stdout);
    say_at_work(lesson, w->word[0]);
    *status = td_launch_ranks((int)lesson->ranks, NULL, w->word, LIMIT, launched, &why);
    say_at_work(lesson, NULL);
    if (*status == TD_OK) return 1;
    if (*status == TD_UNSUPPORTED) {
        td_lesson_say("SKIP: %s", why.message);
        *status = TD_OK;
    } else {
        td_fail(err, *status, "%s", why.message);
    }
    return 0;
}

static td_status failed(const char *task, const td_launched *launched, td_error *err) {
    return td_started_failed(launched, task, LIMIT,
                             ": lower C, T, B, LAYERS, STEPS; where time is measured, TIME_C, TIME_T, TIME_B, ROUNDS, "
                             "CAPS, or ALPHA",
                             err);
}

td_status td_lesson_6_run(td_lesson_6 *lesson, const char *task, const char *const *options, const char *const *more,
                          const char *name, td_record **out, td_error *err) {
    words *w = calloc(1, sizeof *w);
    td_launched launched;
    td_status status;
    char csv[PATH_MAX + 80], file[64];
    *out = NULL;
    if (!w) return td_fail(err, TD_NO_MEMORY, "no memory for a command line");
    snprintf(file, sizeof file, "%s.csv", name);
    snprintf(csv, sizeof csv, "%s/%s", lesson->folder, file);
    add(w, task, NULL);
    for (; options && *options; options++) add(w, *options, td_argument_text(lesson->arguments, *options));
    add_all(w, more);
    add(w, "csv", csv);
    if (launch(lesson, w, &launched, &status, err)) {
        status = launched.status || launched.timed_out ? failed(task, &launched, err)
                                                       : td_started_read(lesson->folder, file, task, out, err);
        td_launched_free(&launched);
    }
    free(w);
    return status;
}

/* The learner's own TANDEM_HANG is there again afterwards. */
static int launch_with_hang(td_lesson_6 *lesson, const words *w, const char *hang, td_launched *launched,
                            td_status *status, td_error *err) {
    const char *given = getenv("TANDEM_HANG");
    char own[64];
    snprintf(own, sizeof own, "%s", given ? given : "");
    setenv("TANDEM_HANG", hang, 1);
    int ran = launch(lesson, w, launched, status, err);
    setenv("TANDEM_HANG", own, 1); /* empty is as good as none */
    return ran;
}

td_status td_lesson_6_run_to_fail(td_lesson_6 *lesson, const char *task, const char *const *more, const char *hang,
                                  char **said, int *exit_status, double *seconds, td_error *err) {
    words *w = calloc(1, sizeof *w);
    td_launched launched;
    td_status status;
    *said = NULL;
    if (!w) return td_fail(err, TD_NO_MEMORY, "no memory for a command line");
    add(w, task, NULL);
    add_all(w, more);
    if (launch_with_hang(lesson, w, hang, &launched, &status, err)) {
        *exit_status = launched.timed_out ? -1 : launched.status;
        *seconds = launched.seconds;
        if (*exit_status > TD_EXIT_WRONG)
            status = failed(task, &launched, err); /* not the failure that was asked for */
        else if (!(*said = strdup(launched.err ? launched.err : "")))
            status = td_fail(err, TD_NO_MEMORY, "no memory for what the ranks said");
        td_launched_free(&launched);
    }
    free(w);
    return status;
}

td_record *td_lesson_6_part(const td_record *record, const char *part, const char *const *columns, td_error *err) {
    td_record *rows = td_record_new();
    if (!rows) {
        td_fail(err, TD_NO_MEMORY, "no memory for the table");
        return NULL;
    }
    for (int r = 0; r < td_record_rows(record); r++) {
        if (strcmp(td_record_get_text(record, r, "part"), part)) continue;
        td_record_row(rows);
        for (const char *const *c = columns; *c; c++) {
            double number = td_record_get(record, r, *c);
            const char *text = td_record_get_text(record, r, *c);
            if (number == number)
                td_record_real(rows, *c, number);
            else
                td_record_text(rows, *c, text);
        }
    }
    return rows;
}
