/* The words about one check, and about the whole. */
#include "../text.h"
#include "report.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char td_report_replay[] = "replay:  ";

double td_report_points(double points) {
    return isfinite(points) && points > 0 ? round(points * 100) / 100 : 0;
}

void td_report_name(const td_graded_lesson *lesson, int i, char *out, int size) {
    snprintf(out, (size_t)size, "lesson %d, %s", lesson->exercise->number, lesson->rubric.line[i].name);
}

void td_report_brief(const td_graded_lesson *lesson, int i, FILE *out) {
    const td_grade_result *r = &lesson->result[i];
    switch (r->graded) {
    case TD_GRADED_PASS:
    case TD_GRADED_PARTIAL:
        if (r->ratio > 0)
            fprintf(out, "%s: %.3g", r->measure, r->ratio);
        else
            fprintf(out, r->cases == 1 ? "%d case is right" : "%d cases are right", r->cases);
        if (isfinite(r->err_over_tol)) fprintf(out, "; worst err/tol %.3g, in case %s", r->err_over_tol, r->case_name);
        break;
    case TD_GRADED_WRONG: fprintf(out, "wrong in %d of %d cases", r->failed_cases, r->cases); break;
    case TD_GRADED_CRASHED:
    case TD_GRADED_TIMED_OUT:
        if (r->failed_cases)
            fprintf(out, "%d of %d cases failed", r->failed_cases, r->cases);
        else
            fprintf(out, "after %d cases", r->cases);
        break;
    case TD_GRADED_HARNESS: fprintf(out, "a fault of the grader, not of the submission"); break;
    case TD_GRADED_NOT_RUN: fprintf(out, "no points, since it was not run"); break;
    case TD_GRADED_SKIPPED: fprintf(out, "its points are not asked for"); break;
    case TD_GRADED_BUILD_FAILED: fprintf(out, "there is no program to run"); break;
    default: break;
    }
}

/* Those that show in this check: several may be alternatives, or have been made together. */
static void print_mistakes(const td_graded_lesson *lesson, int i, FILE *out) {
    int named = 0;
    if (lesson->result[i].graded != TD_GRADED_WRONG) return;
    for (int k = 0; k < lesson->named; k++)
        if (lesson->suspect[k].told >> i & 1 && ++named)
            fprintf(out, "mistake: %s (%s)\n", lesson->suspect[k].text, lesson->suspect[k].name);
    if (!named && lesson->judged[i])
        fprintf(out, "mistake: unknown; none that the grader knows explains every case\n");
    else if (!named && lesson->result[i].err_over_tol > 1)
        fprintf(out, "mistake: not looked for in this check\n");
}

static void print_replay(const td_grade *grade, const td_graded_lesson *lesson, int i, FILE *out) {
    const td_grade_result *r = &lesson->result[i];
    char name[120];
    if (!r->failed_cases) return;
    fprintf(out, "%sbuild/tandem grade SUBMISSION=", td_report_replay);
    td_print_quoted(out, grade->submission);
    fprintf(out, " LESSON=%d CASE=", lesson->exercise->number);
    snprintf(name, sizeof name, "%s/%s", lesson->rubric.line[i].name, r->case_name);
    td_print_quoted(out, name);
    fprintf(out, " SEED=%llu", (unsigned long long)grade->seed);
    if (grade->secret_given)
        fprintf(out, " SECRET=\"$SECRET\"\n"); /* for a shell in which it is set */
    else
        fprintf(out, " SECRET=%llu\n", (unsigned long long)grade->secret);
}

static void print_figures(const td_grade_result *r, FILE *out) {
    if (r->seconds > 0 && r->peer_seconds > 0)
        fprintf(out, "median %.3g ms, the reference solution's %.3g ms, in the same run\n", 1e3 * r->seconds,
                1e3 * r->peer_seconds);
}

static void explain(const td_grade *grade, int number, int i, FILE *out) {
    const td_graded_lesson *lesson = &grade->lesson[number];
    const td_grade_result *r = &lesson->result[i];
    if (r->failed_cases) fprintf(out, "case %s:\n", r->case_name);
    if (r->message[0]) {
        td_print_visible(out, r->message, "");
        fputc('\n', out);
    }
    print_figures(r, out);
    print_mistakes(lesson, i, out);
    print_replay(grade, lesson, i, out);
}

char *td_report_explained(const td_grade *grade, int lesson, int i) {
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out) return NULL;
    td_report_brief(&grade->lesson[lesson], i, out);
    fputc('\n', out);
    explain(grade, lesson, i, out);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

void td_report_about(const td_grade *grade, FILE *out) {
    const td_sandbox *sandbox = grade->sandbox;
    fprintf(out, "sandbox: %s%s%s%s\n", td_tier_name(sandbox->tier), sandbox->why[0] ? " (" : "", sandbox->why,
            sandbox->why[0] ? ")" : "");
    if (sandbox->tier == TD_TIER_NONE)
        fprintf(out, "*** UNSANDBOXED: the submission had all rights of who started the grader ***\n");
    fprintf(out, "seed %llu, secret ", (unsigned long long)grade->seed);
    if (grade->secret_given)
        fprintf(out, "as given");
    else
        fprintf(out, "%llu", (unsigned long long)grade->secret);
    fprintf(out, ": the same two give the same cases\n");
    if (!grade->complete) fprintf(out, "INCOMPLETE: grading goes on, or was ended before its end\n");
    if (grade->note[0]) fprintf(out, "%s\n", grade->note);
}

static void print_lines(const char *heading, const char *text, int most, FILE *out) {
    int lines = 0;
    const char *end = text;
    while (*end && lines < most) lines += *end++ == '\n';
    char *head = text[0] ? strndup(text, (size_t)(end - text)) : NULL;
    if (!head) return;
    fprintf(out, "  %s:\n  | ", heading);
    td_print_visible(out, head, "  | ");
    fprintf(out, *end ? "\n  | …\n" : "\n");
    free(head);
}

void td_report_heard(const td_graded_lesson *lesson, FILE *out) {
    enum { OF_COMPILER = 60, OF_PROGRAM = 12 };
    print_lines("the compiler said", lesson->build, OF_COMPILER, out);
    print_lines("the program printed", lesson->output, OF_PROGRAM, out);
}
