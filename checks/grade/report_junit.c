/* JUnit XML: a suite a lesson, a case a check. */
#include "../file.h"
#include "report.h"
#include <stdlib.h>
#include <string.h>

/* The text of a report, which holds no control character but newline; what XML must not hold became visible with the
 * rest. In an attribute a newline would be read as a space. */
static void put(FILE *out, const char *text) {
    for (; *text; text++) switch (*text) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        default:
            if ((unsigned char)*text >= 0x20 || *text == '\n') fputc(*text, out);
        }
}

static const char *element_of(td_graded graded) {
    switch (graded) {
    case TD_GRADED_PASS:
    case TD_GRADED_PARTIAL: return NULL;
    case TD_GRADED_SKIPPED: return "skipped";
    case TD_GRADED_NOT_RUN: /* its points are lost: what is not run is not green */
    case TD_GRADED_WRONG: return "failure";
    default: return "error";
    }
}

static int count(const td_graded_lesson *lesson, const char *element) {
    int n = 0;
    for (int i = 0; i < lesson->rubric.n; i++) {
        const char *is = element_of(lesson->result[i].graded);
        n += is && !strcmp(is, element);
    }
    return n;
}

static int put_case(const td_grade *grade, int l, int i, FILE *out) {
    const td_graded_lesson *lesson = &grade->lesson[l];
    const td_grade_result *r = &lesson->result[i];
    const char *element = element_of(r->graded);
    char *text = td_report_explained(grade, l, i);
    if (!text) return 0;
    fprintf(out, "    <testcase classname=\"lesson %d\" name=\"", lesson->exercise->number);
    put(out, lesson->rubric.line[i].name);
    fprintf(out, "\" time=\"%.3f\">\n", lesson->seconds[i]);
    fprintf(out, "      <properties><property name=\"score\" value=\"%g\"/><property name=\"max_score\" value=\"%g\"/>",
            td_report_points(lesson->points[i]), td_report_points(lesson->most[i]));
    fprintf(out, "</properties>\n");
    if (element) {
        fprintf(out, "      <%s message=\"%s\"%s%s%s>", element, td_graded_name(r->graded),
                strcmp(element, "skipped") != 0 ? " type=\"" : "",
                strcmp(element, "skipped") != 0 ? td_graded_name(r->graded) : "",
                strcmp(element, "skipped") != 0 ? "\"" : "");
        put(out, text);
        fprintf(out, "</%s>\n", element);
    } else {
        fputs("      <system-out>", out);
        put(out, text);
        fputs("</system-out>\n", out);
    }
    fputs("    </testcase>\n", out);
    free(text);
    return 1;
}

static int put_suite(const td_grade *grade, int l, FILE *out) {
    const td_graded_lesson *lesson = &grade->lesson[l];
    double seconds = 0;
    int ok = 1;
    for (int i = 0; i < lesson->rubric.n; i++) seconds += lesson->seconds[i];
    fprintf(out, "  <testsuite name=\"%s\" tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\" time=\"%.3f\">\n",
            lesson->exercise->folder, lesson->rubric.n, count(lesson, "failure"), count(lesson, "error"),
            count(lesson, "skipped"), seconds);
    for (int i = 0; ok && i < lesson->rubric.n; i++) ok = put_case(grade, l, i, out);
    fputs("  </testsuite>\n", out);
    return ok;
}

td_status td_report_junit(const td_grade *grade, const char *path, td_error *err) {
    td_file file;
    td_status s = td_file_create(&file, path, err);
    if (s != TD_OK) return s;
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"tandem grade\">\n", file.stream);
    int ok = 1;
    for (int l = 0; ok && l < grade->lessons; l++) ok = put_suite(grade, l, file.stream);
    fputs("</testsuites>\n", file.stream);
    if (!ok) {
        td_file_discard(&file);
        return td_fail(err, TD_NO_MEMORY, "no memory for the report as JUnit XML");
    }
    s = td_file_finish(&file, err);
    return s == TD_OK ? td_file_publish(&file, err) : s;
}
