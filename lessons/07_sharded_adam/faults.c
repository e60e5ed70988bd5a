/* Two faults, run for real: an owner's update that is not sent, and one rank's NaN. */
#include "lesson_7.h"
#include <string.h>

/* The first parameter that differs, a fingerprint a rank. Where there is one rank nothing is to be sent. */
static void print_difference(const td_record *unsent, const char *plan) {
    int first = 1;
    for (int r = 0; r < td_record_rows(unsent); r++) {
        if (strcmp(td_record_get_text(unsent, r, "plan"), plan) != 0) continue;
        if (first) printf("  %s: ranks differ, first in %s\n", plan, td_record_get_text(unsent, r, "parameter"));
        first = 0;
        printf("    rank %.0f  %012llx%s\n", td_record_get(unsent, r, "rank"),
               (unsigned long long)td_record_get(unsent, r, "fingerprint"),
               td_record_get(unsent, r, "owns") == 1 ? plan[0] == 'f' ? "  owns a slice of it" : "  owns it" : "");
    }
}

static int differs(const td_record *unsent, const char *plan) {
    for (int r = 0; r < td_record_rows(unsent); r++)
        if (!strcmp(td_record_get_text(unsent, r, "plan"), plan))
            return strcmp(td_record_get_text(unsent, r, "parameter"), "none") != 0;
    return 0;
}

static td_status plot(td_lesson_7 *lesson, const td_record *losses, td_error *err) {
    td_record *all = td_record_new();
    if (!all) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_lesson_7_reference_series(lesson, all);
    td_lesson_7_series(lesson, all, "by parameter not sent", losses, "by parameter");
    td_lesson_7_series(lesson, all, "flat not sent", losses, "flat");
    td_status status = td_lesson_plot(lesson->arguments, 7, all, "losses_not_sent", "losses", err);
    td_record_delete(all);
    return status;
}

static td_status judge_unsent(td_lesson_7 *lesson, const td_record *unsent, td_error *err) {
    td_record *losses;
    int several = lesson->ranks > 1;
    td_status status = td_lesson_7_read(lesson, "unsent_losses", lesson->ranks, &losses, err);
    if (status) return status;
    for (int plan = TD_ADAM_BY_PARAMETER; plan < TD_LESSON_7_PLANS; plan++) {
        const char *name = td_lesson_7_plan(plan);
        double ratio = td_lesson_7_against_reference(lesson, losses, name);
        printf("\n");
        int same = !differs(unsent, name), equal = ratio >= 0 && ratio <= 1;
        if (!same) print_difference(unsent, name);
        printf("  %s: by fingerprints %s; by the loss, err/tol %.3g: %s\n", name,
               td_lesson_7_verdict(lesson, same, !several), ratio, td_lesson_7_verdict(lesson, equal, !several));
    }
    status = plot(lesson, losses, err);
    td_record_delete(losses);
    return status;
}

static td_status show_unsent(td_lesson_7 *lesson, td_error *err) {
    td_record *unsent;
    td_status status = td_lesson_7_read(lesson, "unsent", lesson->ranks, &unsent, err);
    if (status) return status;
    status = judge_unsent(lesson, unsent, err);
    td_record_delete(unsent);
    if (!status && lesson->ranks > 1) td_lesson_text(7, "What gives it away");
    return status;
}

/* Every rank's own words: once each, for they should be the same. */
static void say_words(const td_record *nan) {
    int rows = td_record_rows(nan);
    for (int r = 0; r < rows; r++) {
        const char *said = td_record_get_text(nan, r, "message");
        int before = 0, times = 0;
        for (int k = 0; k < rows; k++) {
            int same = !strcmp(said, td_record_get_text(nan, k, "message"));
            before += same && k < r, times += same;
        }
        if (!before) td_lesson_say("%d of %d answers (each rank, under each plan): %s", times, rows, said);
    }
}

static td_status show_nan(td_lesson_7 *lesson, td_error *err) {
    td_record *nan;
    td_lesson_text(7, "One rank's NaN");
    td_status status = td_lesson_7_read(lesson, "nan", lesson->ranks, &nan, err);
    if (status) return status;
    int all_refuse = 1, all_name = 1, none_changed = 1;
    printf("\n");
    say_words(nan);
    for (int r = 0; r < td_record_rows(nan); r++) {
        const char *said = td_record_get_text(nan, r, "message");
        all_refuse = all_refuse && td_record_get(nan, r, "refused") == 1;
        all_name = all_name && strstr(said, td_record_get_text(nan, r, "parameter")) != NULL;
        none_changed = none_changed && td_record_get(nan, r, "changed") == 0;
    }
    printf("\n  every rank refuses                               %s\n", td_lesson_7_verdict(lesson, all_refuse, 1));
    printf("  and names the parameter that was poisoned        %s\n", td_lesson_7_verdict(lesson, all_name, 1));
    printf("  values and the count of steps are as they were   %s\n", td_lesson_7_verdict(lesson, none_changed, 1));
    td_record_delete(nan);
    return TD_OK;
}

td_status td_lesson_7_show_faults(td_lesson_7 *lesson, td_error *err) {
    td_lesson_text(7, "The update that is not sent");
    if (td_lesson_7_skips(lesson)) return TD_OK;
    if (lesson->ranks == 1) td_lesson_say("One rank owns all: nothing is to be sent, and nothing is missed.");
    td_status status = td_lesson_7_launch(lesson, lesson->ranks, "faults", lesson->B, lesson->steps, err);
    if (!status) status = show_unsent(lesson, err);
    return status ? status : show_nan(lesson, err);
}
