/* One mistake at a time: judged, and named by imitation. */
#include "../../checks/text.h"
#include "lesson_6.h"
#include <string.h>

/* Two mistakes need not be any on a small batch: where all ranks count the same number of tokens, the mean of their
 * means is right; and where the other keys drop the same tokens, none perhaps, they do no harm. */
static int is_none(const td_record *rows, int r) {
    const char *name = td_record_get_text(rows, r, "name");
    int harmless = !strcmp(name, "mean of means") || !strcmp(name, "local keys");
    return !strcmp(name, "nothing") || (harmless && !strcmp(td_record_get_text(rows, r, "first"), "nothing"));
}

/* Is the verdict what it must be, and the name? */
static int as_planted(const td_record *rows, int r) {
    const char *verdict = td_record_get_text(rows, r, "verdict"), *name = td_record_get_text(rows, r, "name");
    if (is_none(rows, r)) return strcmp(verdict, "FAIL") && !strcmp(td_record_get_text(rows, r, "named"), "nothing");
    return !strcmp(verdict, "FAIL") && strstr(td_record_get_text(rows, r, "named"), name);
}

static void print_mistakes(const td_record *rows) {
    for (int r = 0; r < td_record_rows(rows); r++) {
        const char *refused = td_record_get_text(rows, r, "refused");
        if (r == 0) continue;
        printf("  %-15s %s\n", td_record_get_text(rows, r, "name"), td_record_get_text(rows, r, "mistake"));
        if (is_none(rows, r)) printf("%18s(on this batch it makes no difference)\n", "");
        if (refused[0]) {
            char line[400];
            snprintf(line, sizeof line, "(had it asked: %s)", refused);
            td_print_wrapped(stdout, line, "                  ", "                  ", 80);
        }
    }
}

td_status td_lesson_6_show_mistakes(td_lesson_6 *lesson, td_error *err) {
    static const char *const options[] = {"b", "t", "layers", "h", "c", "seed", NULL};
    static const char *const columns[] = {
        "name", "mistake", "first",           "gradient_err_over_tol", "named",   "verdict", "worst",
        "got",  "want",    "sgd_off_percent", "adam_off_percent",      "refused", NULL};
    static const td_heading judged[] = {
        {"name", "what is wrong"}, {"first", "first"}, {"gradient_err_over_tol", "err/tol"},
        {"verdict", "verdict"},    {"named", "named"}, {NULL, NULL}};
    static const td_heading looks[] = {{"name", "what is wrong"},
                                       {"worst", "worst element"},
                                       {"sgd_off_percent", "off %"},
                                       {"adam_off_percent", "Adam off %"},
                                       {NULL, NULL}};
    td_record *all;
    td_lesson_text(6, "One mistake at a time");
    if (lesson->ranks == 1) {
        td_lesson_say("SKIP: one rank has nobody to disagree with: RANKS=2 or more");
        return TD_OK;
    }
    td_status status = td_lesson_6_run(lesson, "lesson-6-mistakes", options, NULL, "mistakes", &all, err);
    if (status || !all) return status;
    td_record *rows = td_lesson_6_part(all, "mistakes", columns, err);
    if (!rows) status = TD_NO_MEMORY;
    if (!status) {
        printf("\n");
        td_record_print(rows, judged, stdout);
        for (int r = 0; r < td_record_rows(rows); r++) lesson->failed += !as_planted(rows, r);
        td_lesson_text(6, "How each looks");
        printf("\n");
        print_mistakes(rows);
        printf("\n");
        td_record_print(rows, looks, stdout);
        td_lesson_text(6, "What hides");
        td_lesson_6_show_drill(lesson, all);
        status = td_lesson_save(lesson->arguments, 6, all, "mistakes", err);
    }
    td_record_delete(rows), td_record_delete(all);
    return status;
}
