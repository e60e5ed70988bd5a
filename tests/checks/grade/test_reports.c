/* Reports of a record made by hand, hostile words included: each is read back by another's parser. */
#include "../../../checks/text.h"
#include "../../table.h"
#include "graded.h"
#include "schema.h"

static char folder[64];
static td_grade *grade;

static void enter(void) {
    support_folder(folder);
    grade = graded_record();
}

static void leave(void) {
    free(grade);
    support_folder_remove(folder);
}
TestSuite(reports, .init = enter, .fini = leave);

static char *written(td_status (*report)(const td_grade *, const char *, td_error *), const char *name) {
    td_error err = {TD_OK, ""};
    cr_assert_eq(report(grade, support_path(folder, name), &err), TD_OK, "%s", err.message);
    cr_assert_eq(support_entries(folder), 1, "%s: nothing beside it", name);
    char *text = support_read(support_path(folder, name));
    cr_assert_not_null(text);
    return text;
}

static void says(const char *text, const char *words) {
    cr_expect(strstr(text, words), "'%s' in:\n%s", words, text);
}

#ifdef TD_HAVE_JANSSON
Test(reports, json_is_gradescopes) {
    graded_lesson(grade)->leader = 2, strcpy(graded_lesson(grade)->leader_name, "ratio");
    char *text = written(td_report_json, "results.json");
    graded_is_tame(text);
    const char *wrong =
        schema_refuses_file("tests/checks/grade/results.schema.json", support_path(folder, "results.json"));
    cr_expect_null(wrong, "%s\n%s", wrong, text);
    json_t *root = json_loads(text, 0, NULL), *tests = json_object_get(root, "tests");
    cr_expect_eq(json_number_value(json_object_get(root, "score")), 35);
    cr_expect_eq(json_array_size(tests), 5);
    const double scores[] = {30, 0, 0, 5, 0}, most[] = {30, 30, 0, 10, 10};
    const char *const status[] = {"passed", "failed", NULL, "passed", "failed"};
    for (size_t i = 0; i < 5; i++) {
        const json_t *test = json_array_get(tests, i);
        const char *said = json_string_value(json_object_get(test, "status"));
        cr_expect_eq(json_number_value(json_object_get(test, "score")), scores[i]);
        cr_expect_eq(json_number_value(json_object_get(test, "max_score")), most[i]);
        cr_expect(status[i] ? said && !strcmp(said, status[i]) : !said, "%zu", i);
    }
    says(json_string_value(json_object_get(json_array_get(tests, 1), "output")),
         "(tail_dropped)\nreplay:  build/tandem");
    says(json_string_value(json_object_get(root, "output")), "UNSANDBOXED");
    json_decref(root);
    free(text);
}

/* The validator can fail: each of these is one change away from what is accepted. */
Test(reports, json_that_is_not_gradescopes_is_refused) {
    static const struct {
        const char *from, *to, *said;
    } changes[] = {{"\"score\": 35.0", "\"score\": -1.0", "score: minimum"},
                   {"\"score\": 35.0", "\"score\": \"35\"", "score: type"},
                   {"\"score\": 35.0", "\"scores\": 35.0", "required"},
                   {"\"stdout_visibility\": \"hidden\"", "\"stdout_visibility\": \"never\"", "stdout_visibility: enum"},
                   {"\"status\": \"failed\"", "\"status\": \"wrong\"", "tests: status: enum"},
                   {"\"tags\": [", "\"tag\": [", "tests: additionalProperties"},
                   {"\"name\": \"lesson", "\"title\": \"lesson", "tests: "},
                   {"\"tags\": [", "\"tags\": [1, ", "tests: tags: type"}};
    char *text = written(td_report_json, "results.json"), *changed = malloc(2 * strlen(text));
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char *at = strstr(text, changes[i].from);
        cr_assert_not_null(at, "%s", changes[i].from);
        sprintf(changed, "%.*s%s%s", (int)(at - text), text, changes[i].to, at + strlen(changes[i].from));
        support_write(support_path(folder, "changed.json"), changed, strlen(changed));
        const char *wrong =
            schema_refuses_file("tests/checks/grade/results.schema.json", support_path(folder, "changed.json"));
        cr_expect(wrong && strstr(wrong, changes[i].said), "%s: %s", changes[i].to, wrong ? wrong : "accepted");
    }
    free(changed);
    free(text);
}

Test(reports, json_of_nothing_run_is_whole_and_scores_zero) {
    td_graded_lesson *l = graded_lesson(grade);
    for (int i = 0; i < 5; i++) {
        l->result[i] = (td_grade_result){.graded = TD_GRADED_NOT_RUN, .message = "not run yet"};
        l->points[i] = 0;
    }
    l->done = grade->complete = 0, grade->points = 0;
    char *text = written(td_report_json, "results.json");
    cr_expect_null(schema_refuses_file("tests/checks/grade/results.schema.json", support_path(folder, "results.json")));
    says(text, "not run yet");
    says(text, "INCOMPLETE");
    says(text, "\"complete\": false");
    cr_expect_null(strstr(text, "passed"));
    free(text);
    grade->lessons = 0, strcpy(grade->note, "no exercise's file is there; the folder is empty");
    text = written(td_report_json, "results.json");
    cr_expect_null(schema_refuses_file("tests/checks/grade/results.schema.json", support_path(folder, "results.json")));
    says(text, "the folder is empty");
    free(text);
}
#else
Test(reports, json_needs_jansson) {
    td_error err = {TD_OK, ""};
    cr_expect_eq(td_report_json(grade, support_path(folder, "results.json"), &err), TD_UNSUPPORTED);
    says(err.message, "jansson");
    cr_expect_eq(support_entries(folder), 0);
}
#endif

Test(reports, junit_is_read_by_another_parser) {
    static const char script[] =
        "import sys, xml.etree.ElementTree as E\n"
        "s = E.parse(sys.argv[1]).getroot().find('testsuite')\n"
        "print([s.get(k) for k in ('tests', 'failures', 'errors', 'skipped')])\n"
        "for c in s: print(c.get('name'), [e.tag for e in c if e.tag not in ('properties', 'system-out')])\n"
        "print(s[1].find('failure').text)\n";
    char command[400], said[4000];
    char *text = written(td_report_junit, "junit.xml");
    graded_is_tame(text);
    if (support_shell("python3 -c 'import xml.etree'", said, sizeof said) != 0) cr_skip_test("no python3");
    support_write(support_path(folder, "read.py"), script, strlen(script));
    snprintf(command, sizeof command, "python3 %s/read.py %s/junit.xml 2>&1", folder, folder);
    cr_assert_eq(support_shell(command, said, sizeof said), 0, "%s\n%s", said, text);
    says(said,
         "['5', '2', '0', '1']\nshapes []\nragged ['failure']\nkernels ['skipped']\nspeed []\nfast ['failure']\n");
    says(said, "]]> <b>&\\x1b[2J \\xff\\xc2\\x9b ");
    free(text);
}

Test(reports, tap_has_its_plan_and_no_stray_directive) {
    graded_lesson(grade)->result[1].message[0] = '#';
    char *text = written(td_report_tap, "results.tap");
    graded_is_tame(text);
    cr_expect_eq(strncmp(text, "TAP version 14\n1..5\nok 1 - lesson 3, shapes (PASS, 30 of 30 points)\n", 20), 0);
    int tests = 0, blocks = 0;
    for (char *line = text; *line; line = strchr(line, '\n') + 1) {
        if (!strncmp(line, "ok ", 3) || !strncmp(line, "not ok ", 7))
            tests++;
        else if (!strncmp(line, "  ---\n", 6))
            blocks++;
        else
            cr_expect(!strncmp(line, "TAP ", 4) || !strncmp(line, "1..", 3) || !strncmp(line, "  ", 2), "%.80s", line);
    }
    cr_expect_eq(tests, 5);
    cr_expect_eq(blocks, 5);
    says(text, "\nnot ok 2 - lesson 3, ragged (WRONG, 0 of 30 points)\n");
    says(text, "\nok 3 - lesson 3, kernels (SKIPPED, 0 of 0 points) # SKIP no GPU # here\n");
    says(text, "\nnot ok 5 - ");
    free(text);
}

Test(reports, csv_is_read_back) {
    free(written(td_report_csv, "results.csv"));
    td_record *record = table(folder, "results.csv");
    cr_assert_eq(td_record_rows(record), 5);
    cr_expect_eq(td_record_get(record, 3, "points"), 5);
    cr_expect_eq(td_record_get(record, 3, "ratio"), 0.625);
    cr_expect(isnan(td_record_get(record, 0, "ratio")));
    cr_expect_str_eq(td_record_get_text(record, 1, "mistakes"), "tail_dropped");
    cr_expect_str_eq(td_record_get_text(record, 0, "mistakes"), "");
    cr_expect_str_eq(td_record_get_text(record, 1, "verdict"), "WRONG");
    graded_is_tame(td_record_get_text(record, 1, "message"));
    cr_expect(strstr(td_record_get_text(record, 1, "message"), "want 0.25 / ]]>"), "lines");
    td_record_delete(record);
    graded_lesson(grade)->suspect[0].told = 0;
    free(written(td_report_csv, "results.csv"));
    record = table(folder, "results.csv");
    cr_expect_str_eq(td_record_get_text(record, 1, "mistakes"), "unknown");
    cr_expect_str_eq(td_record_get_text(record, 0, "mistakes"), "");
    cr_expect_str_eq(td_record_about_of(record, "complete"), "yes");
    td_record_delete(record);
}

/* The replay line names the folder, whatever bytes its name has: every report stays what its readers take. */
Test(reports, a_folder_whose_name_is_no_utf8) {
    static td_status (*const all[])(const td_grade *, const char *, td_error *) = {
#ifdef TD_HAVE_JANSSON
        td_report_json,
#endif
        td_report_junit, td_report_tap, td_report_csv};
    strcpy(grade->submission, "\xff\xc3 \xed\xa0\x80\xf0\x80\x80\x80");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char *text = written(all[i], "report");
        for (const char *c = text; *c; c += *c == '\n' ? 1 : td_printable(c))
            cr_assert(*c == '\n' || td_printable(c), "%zu: byte %#x", i, (unsigned char)*c);
        if (all[i] == td_report_junit) says(text, "SUBMISSION=$'\\377\\303 \\355\\240\\200\\360\\200\\200\\200'");
        free(text);
    }
}

/* A report that cannot be written leaves the one before as it was. */
static void is_whole_or_not_there(td_status (*report)(const td_grade *, const char *, td_error *)) {
    static const char before[] = "before";
    td_error err = {TD_OK, ""};
    cr_expect_eq(report(grade, support_path(folder, "none/results"), &err), TD_IO);
    support_write(support_path(folder, "results"), before, sizeof before);
    struct rlimit most = {1, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &most);
    cr_expect_eq(report(grade, support_path(folder, "results"), &err), TD_IO);
    most.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_FSIZE, &most);
    char *text = support_read(support_path(folder, "results"));
    cr_expect_str_eq(text, before);
    cr_expect_eq(support_entries(folder), 1);
    free(text);
}

Test(reports, are_whole_or_not_there) {
    signal(SIGXFSZ, SIG_IGN);
    is_whole_or_not_there(td_report_junit);
    is_whole_or_not_there(td_report_tap);
    is_whole_or_not_there(td_report_csv);
#ifdef TD_HAVE_JANSSON
    is_whole_or_not_there(td_report_json);
#endif
}
