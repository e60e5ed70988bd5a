/* Ranks that disagree on the order of their buckets: mixed sums, a hang, and two refusals. */
#include "../../checks/text.h"
#include "lesson_6.h"
#include <stdlib.h>
#include <string.h>

/* Its first line. */
static void print_message(const char *said) {
    char line[400];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(said, "\n"), said);
    td_print_wrapped(stdout, line, "      ", "      ", 80);
}

/* What the ranks said, one of their lines: they say the same of each other. */
static void print_said(const char *what, const char *said, int status, double seconds) {
    const char *colon = strstr(said, "lesson-6-order: ");
    const char *line = colon ? colon + strlen("lesson-6-order: ") : said;
    printf("\n  %s: ended with status %d after %.1f s\n", what, status, seconds);
    print_message(line);
}

static td_status must_fail(td_lesson_6 *lesson, const char *what, const char *how, const char *expected, int *ran,
                           td_error *err) {
    const char *const more[] = {how, NULL};
    char *said;
    int status;
    double seconds;
    td_status s = td_lesson_6_run_to_fail(lesson, "lesson-6-order", more, "2", &said, &status, &seconds, err);
    *ran = said != NULL;
    if (s || !said) return s;
    print_said(what, said, status, seconds);
    lesson->failed += status <= 0 || !strstr(said, expected);
    free(said);
    return TD_OK;
}

static void print_mixed(td_lesson_6 *lesson, const td_record *rows) {
    printf("\n");
    for (int r = 0; r < td_record_rows(rows); r++) {
        const char *refused = td_record_get_text(rows, r, "refused");
        if (refused[0]) {
            printf("\n  buckets of another size on the last rank: refused before anything is reduced\n");
            print_message(refused);
        } else {
            printf("  %-18s order: mean of A %-6g mean of B %g\n", td_record_get_text(rows, r, "order"),
                   td_record_get(rows, r, "A"), td_record_get(rows, r, "B"));
        }
    }
    int mixes = td_record_rows(rows) == 3 && td_record_get(rows, 0, "A") != td_record_get(rows, 1, "A") &&
                td_record_get_text(rows, 2, "refused")[0];
    lesson->failed += !mixes;
}

td_status td_lesson_6_show_order(td_lesson_6 *lesson, td_error *err) {
    static const char *const mixed[] = {"how=mixed", NULL};
    td_record *rows;
    int ran = 1;
    td_lesson_text(6, "Ranks that disagree on the order");
    if (lesson->ranks == 1) {
        td_lesson_say("SKIP: one rank has one order: RANKS=2 or more");
        return TD_OK;
    }
    td_status status = td_lesson_6_run(lesson, "lesson-6-order", NULL, mixed, "order", &rows, err);
    if (status || !rows) return status;
    print_mixed(lesson, rows);
    status = td_lesson_save(lesson->arguments, 6, rows, "order", err);
    td_record_delete(rows);
    if (!status)
        status = must_fail(lesson, "the last rank leaves A out, nobody compares", "how=left-out", "waits", &ran, err);
    if (!status && ran)
        status = must_fail(lesson, "orders differ, ranks compare", "how=compared", "mismatch", &ran, err);
    if (!status) td_lesson_text(6, "What the messages say");
    return status;
}
