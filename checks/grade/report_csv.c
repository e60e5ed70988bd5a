/* A row a check, for tables and plots over many submissions. */
#include "../provenance.h"
#include "../text.h"
#include "report.h"
#include <math.h>
#include <stdlib.h>

/* The mistakes of check i by their names, as the other reports tell them; those without a name are "unknown". */
static void list_mistakes(const td_graded_lesson *lesson, int i, char *out, size_t size) {
    size_t used = 0;
    out[0] = '\0';
    for (int k = 0; k < lesson->named && lesson->result[i].graded == TD_GRADED_WRONG && used < size; k++)
        if (lesson->suspect[k].told >> i & 1)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? " " : "", lesson->suspect[k].name);
    if (!used && lesson->result[i].graded == TD_GRADED_WRONG && lesson->judged[i]) snprintf(out, size, "unknown");
}

/* On one line. */
static void join_lines(const char *text, char *out, size_t size) {
    size_t used = 0;
    for (; *text && used + 4 < size; text++)
        used += (size_t)sprintf(out + used, *text != '\n' ? "%c" : text[1] ? " / " : "", *text);
    out[used] = '\0';
}

static void row(td_record *record, const td_grade *grade, int l, int i) {
    const td_graded_lesson *lesson = &grade->lesson[l];
    const td_grade_result *r = &lesson->result[i];
    char shown[2400], message[2400], mistakes[400];
    list_mistakes(lesson, i, mistakes, sizeof mistakes);
    join_lines(r->message, message, sizeof message);
    td_record_row(record);
    td_record_text(record, "submission", td_shown(grade->submission, shown, (int)sizeof shown));
    td_record_int(record, "lesson", lesson->exercise->number);
    td_record_text(record, "check", lesson->rubric.line[i].name);
    td_record_text(record, "sandbox", td_tier_name(grade->sandbox->tier));
    td_record_int(record, "seed", (int64_t)grade->seed);
    if (!grade->secret_given) td_record_int(record, "secret", (int64_t)grade->secret);
    td_record_text(record, "verdict", td_graded_name(r->graded));
    td_record_real(record, "points", td_report_points(lesson->points[i]));
    td_record_real(record, "max_points", td_report_points(lesson->most[i]));
    td_record_int(record, "cases", r->cases);
    td_record_int(record, "failed_cases", r->failed_cases);
    td_record_text(record, "case", r->case_name);
    td_record_real(record, "err_over_tol", r->err_over_tol);
    td_record_real(record, "ratio", r->ratio > 0 ? r->ratio : NAN);
    td_record_real(record, "median_s", r->seconds > 0 ? r->seconds : NAN);
    td_record_real(record, "peer_median_s", r->peer_seconds > 0 ? r->peer_seconds : NAN);
    td_record_real(record, "check_s", lesson->seconds[i]);
    td_record_text(record, "mistakes", mistakes);
    td_record_text(record, "message", td_shown(message, shown, (int)sizeof shown));
}

td_status td_report_csv(const td_grade *grade, const char *path, td_error *err) {
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the report as CSV");
    for (int l = 0; l < grade->lessons; l++)
        for (int i = 0; i < grade->lesson[l].rubric.n; i++) row(record, grade, l, i);
    td_record_provenance(record, NULL, "tandem grade");
    td_record_about(record, "complete", grade->complete ? "yes" : "no");
    td_status s = td_record_write_csv(record, path, err);
    td_record_delete(record);
    return s;
}
