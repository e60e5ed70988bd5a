/* The report on a terminal. */
#include "../text.h"
#include "check_run.h"
#include "report.h"
#include <stdlib.h>
#include <string.h>

/* The skeleton handed in as it was: every check says what it says itself. */
static int is_not_written(const td_graded_lesson *lesson) {
    int said = 0;
    for (int i = 0; i < lesson->done; i++) {
        const td_grade_result *r = &lesson->result[i];
        if (r->graded == TD_GRADED_NOT_RUN || r->graded == TD_GRADED_SKIPPED) continue;
        if (r->graded != TD_GRADED_WRONG || !strstr(r->message, "not written yet")) return 0;
        said = 1;
    }
    return said;
}

static void print_check(const td_grade *grade, int l, int i, int explained, FILE *out) {
    const td_graded_lesson *lesson = &grade->lesson[l];
    const td_rubric_line *line = &lesson->rubric.line[i];
    const char *const rest = "                            ";
    char points[32], first[96], text[200];
    snprintf(points, sizeof points, "%g/%g", td_report_points(lesson->points[i]), td_report_points(lesson->most[i]));
    snprintf(first, sizeof first, "  %-13s %9s   ", td_graded_name(lesson->result[i].graded), points);
    snprintf(text, sizeof text, "%s: %s", line->name, line->title);
    td_print_wrapped(out, text, first, rest, td_terminal_columns(out));
    char *words = explained ? td_report_explained(grade, l, i) : NULL;
    for (char *end, *at = words; at && *at; at = end + 1) {
        end = strchr(at, '\n'); /* each line of them ends with one */
        *end = '\0';
        if (!strncmp(at, td_report_replay, strlen(td_report_replay)))
            fprintf(out, "%s%s\n", rest, at); /* to be copied: unbroken */
        else
            td_print_wrapped(out, at, rest, rest, td_terminal_columns(out));
    }
    free(words);
}

static void print_lesson(const td_grade *grade, int l, FILE *out) {
    const td_graded_lesson *lesson = &grade->lesson[l];
    double points = 0, most = 0, seconds = 0;
    char text[160];
    for (int i = 0; i < lesson->rubric.n; i++)
        points += lesson->points[i], most += lesson->most[i], seconds += lesson->seconds[i];
    fprintf(out, "\nlesson %d, %s: %g of %g points in %.1f s\n", lesson->exercise->number, lesson->exercise->folder,
            td_report_points(points), td_report_points(most), seconds);
    int unwritten = is_not_written(lesson);
    if (unwritten) fprintf(out, "  The exercise is not written yet: the skeleton came back as it was handed out.\n");
    for (int i = 0; i < lesson->rubric.n; i++)
        if (!grade->only_case[0] || td_check_is_named(grade->only_case, lesson->rubric.line[i].name))
            print_check(grade, l, i, !unwritten, out);
    td_report_heard(lesson, out);
    snprintf(text, sizeof text, "figure for the class's leaderboard, since all is correct: %s: %.4g",
             lesson->leader_name, lesson->leader);
    if (lesson->leader > 0) td_print_wrapped(out, text, "  ", "  ", td_terminal_columns(out));
}

void td_report_print(const td_grade *grade, FILE *out) {
    char shown[200];
    fprintf(out, "submission: %s\n", td_shown(grade->submission, shown, sizeof shown));
    td_report_about(grade, out);
    for (int l = 0; l < grade->lessons; l++) print_lesson(grade, l, out);
    fprintf(out, "\ntotal: %g of %g points in %.1f s\n", td_report_points(grade->points), td_report_points(grade->most),
            grade->seconds);
}
