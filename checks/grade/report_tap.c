/* The Test Anything Protocol, version 14: a line a check, with a YAML block where there is something to say. */
#include "../file.h"
#include "report.h"
#include <stdlib.h>

/* A description: '#' would begin a directive. */
static void put_description(FILE *out, const char *text) {
    for (; *text; text++) {
        if (*text == '#' || *text == '\\') fputc('\\', out);
        fputc(*text, out);
    }
}

/* A literal block of YAML, which needs no escapes: `text` holds no control character but newline. */
static void put_block(FILE *out, const char *text) {
    fputs("  ---\n  message: |2-\n    ", out);
    for (; *text && !(text[0] == '\n' && !text[1]); text++) {
        fputc(*text, out);
        if (*text == '\n') fputs("    ", out);
    }
    fputs("\n  ...\n", out);
}

static int put_check(const td_grade *grade, int l, int i, int number, FILE *out) {
    const td_graded_lesson *lesson = &grade->lesson[l];
    const td_grade_result *r = &lesson->result[i];
    char name[200], *text = td_report_explained(grade, l, i);
    if (!text) return 0;
    int ok = r->graded == TD_GRADED_PASS || r->graded == TD_GRADED_PARTIAL || r->graded == TD_GRADED_SKIPPED;
    td_report_name(lesson, i, name, (int)sizeof name);
    fprintf(out, "%s %d - ", ok ? "ok" : "not ok", number);
    put_description(out, name);
    fprintf(out, " (%s, %g of %g points)", td_graded_name(r->graded), td_report_points(lesson->points[i]),
            td_report_points(lesson->most[i]));
    if (r->graded == TD_GRADED_SKIPPED) {
        fputs(" # SKIP ", out);
        for (const char *c = r->message; *c && *c != '\n'; c++)
            if ((unsigned char)*c >= 0x20 && *c != 0x7f) fputc(*c, out);
    }
    fputc('\n', out);
    put_block(out, text);
    free(text);
    return 1;
}

td_status td_report_tap(const td_grade *grade, const char *path, td_error *err) {
    td_file file;
    td_status s = td_file_create(&file, path, err);
    if (s != TD_OK) return s;
    int checks = 0, number = 0, ok = 1;
    for (int l = 0; l < grade->lessons; l++) checks += grade->lesson[l].rubric.n;
    fprintf(file.stream, "TAP version 14\n1..%d\n", checks);
    for (int l = 0; l < grade->lessons; l++)
        for (int i = 0; ok && i < grade->lesson[l].rubric.n; i++) ok = put_check(grade, l, i, ++number, file.stream);
    if (!grade->complete) fputs("# incomplete: grading goes on, or was ended before its end\n", file.stream);
    if (!ok) {
        td_file_discard(&file);
        return td_fail(err, TD_NO_MEMORY, "no memory for the report as TAP");
    }
    s = td_file_finish(&file, err);
    return s == TD_OK ? td_file_publish(&file, err) : s;
}
