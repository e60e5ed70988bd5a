/* Gradescope's results.json, as its documentation of autograders specifies it ("Output format"). */
#include "../file.h"
#include "report.h"

#ifdef TD_HAVE_JANSSON
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* NULL leaves the field away: what is skipped neither passed nor failed. */
static const char *status_word(td_graded graded) {
    if (graded == TD_GRADED_SKIPPED) return NULL;
    return graded == TD_GRADED_PASS || graded == TD_GRADED_PARTIAL ? "passed" : "failed";
}

/* NaN and infinity do not exist in JSON. */
static json_t *number(double x) {
    return isfinite(x) ? json_real(x) : json_null();
}

/* Steals `text`, made by a report's function: UTF-8 by then. */
static json_t *taken(char *text) {
    json_t *value = text ? json_string(text) : NULL;
    free(text);
    return value;
}

static json_t *test(const td_grade *grade, int l, int i) {
    const td_graded_lesson *lesson = &grade->lesson[l];
    const td_rubric_line *line = &lesson->rubric.line[i];
    const td_grade_result *r = &lesson->result[i];
    char name[300], place[16];
    td_report_name(lesson, i, name, (int)sizeof name);
    snprintf(name + strlen(name), sizeof name - strlen(name), ": %s", line->title);
    snprintf(place, sizeof place, "%d.%d", lesson->exercise->number, i + 1);
    return json_pack("{s:f, s:f, s:s*, s:s, s:s, s:s, s:o, s:s, s:[s, s], s:s, s:{s:s, s:i, s:i, s:o, s:o, s:f}}",
                     "score", td_report_points(lesson->points[i]), "max_score", td_report_points(lesson->most[i]),
                     "status", status_word(r->graded), "name", name, "name_format", "text", "number", place, "output",
                     taken(td_report_explained(grade, l, i)), "output_format", "text", "tags", line->name,
                     td_graded_name(r->graded), "visibility", "visible", "extra_data", "verdict",
                     td_graded_name(r->graded), "cases", r->cases, "failed_cases", r->failed_cases, "err_over_tol",
                     number(r->err_over_tol), "ratio", r->ratio > 0 ? number(r->ratio) : json_null(), "seconds",
                     lesson->seconds[i]);
}

/* Empty if nothing is to be led. */
static json_t *leaders(const td_grade *grade) {
    json_t *all = json_array();
    for (int l = 0; l < grade->lessons; l++) {
        const td_graded_lesson *lesson = &grade->lesson[l];
        char name[96];
        if (!(lesson->leader > 0)) continue;
        snprintf(name, sizeof name, "lesson %d: %s", lesson->exercise->number, lesson->leader_name);
        json_array_append_new(all,
                              json_pack("{s:s, s:f, s:s}", "name", name, "value", lesson->leader, "order", "desc"));
    }
    return all;
}

static char *about(const td_grade *grade) {
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out) return NULL;
    td_report_about(grade, out);
    for (int l = 0; l < grade->lessons; l++) td_report_heard(&grade->lesson[l], out);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

static json_t *whole(const td_grade *grade) {
    json_t *tests = json_array(), *leader = leaders(grade);
    for (int l = 0; l < grade->lessons; l++)
        for (int i = 0; i < grade->lesson[l].rubric.n; i++) json_array_append_new(tests, test(grade, l, i));
    json_t *root =
        json_pack("{s:f, s:f, s:o, s:s, s:s, s:s, s:s, s:s, s:o, s:{s:s, s:I, s:o, s:b, s:f}}", "score",
                  td_report_points(grade->points), "execution_time", td_report_points(grade->seconds), "output",
                  taken(about(grade)), "output_format", "text", "test_output_format", "text", "test_name_format",
                  "text", "visibility", "visible", "stdout_visibility", "hidden", "tests", tests, "extra_data",
                  "sandbox", td_tier_name(grade->sandbox->tier), "seed", (json_int_t)grade->seed, "secret",
                  grade->secret_given ? json_string("as given") : json_integer((json_int_t)grade->secret), "complete",
                  grade->complete, "max_score", td_report_points(grade->most));
    if (root && json_array_size(leader)) json_object_set(root, "leaderboard", leader);
    json_decref(leader);
    return root;
}

td_status td_report_json(const td_grade *grade, const char *path, td_error *err) {
    td_file file;
    json_t *root = whole(grade);
    if (!root) return td_fail(err, TD_NO_MEMORY, "no memory for the report as JSON");
    td_status s = td_file_create(&file, path, err);
    if (s == TD_OK) {
        json_dumpf(root, file.stream, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
        fputc('\n', file.stream);
        s = td_file_finish(&file, err);
        if (s == TD_OK) s = td_file_publish(&file, err);
    }
    json_decref(root);
    return s;
}

#else

td_status td_report_json(const td_grade *grade, const char *path, td_error *err) {
    (void)grade;
    return td_fail(err, TD_UNSUPPORTED, "%.160s: this build has no JSON (jansson was missing)", path);
}

#endif
