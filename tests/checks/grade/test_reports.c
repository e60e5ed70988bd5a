/* Reports of a record made by hand, hostile words included: each is read back by another's parser. */
#include "../../../checks/record.h"
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

static char *printed(void) {
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    td_report_print(grade, out);
    fclose(out);
    cr_assert_eq(strlen(text), length);
    return text;
}

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

Test(reports, terminal_says_all_and_stays_tame) {
    char *text = printed();
    graded_is_tame(text);
    says(text, "UNSANDBOXED: ");
    says(text, "namespaces are forbidden here");
    says(text, "seed 7, secret 8811");
    says(text, "total: 35 of 80 points");
    says(text, "  PASS              30/30   shapes: common shapes\n");
    says(text, " 24 cases are right; worst err/tol 0.25, in case T16\n");
    says(text, "  WRONG              0/30   ragged: lengths");
    says(text, " wrong in 3 of 12 cases\n");
    says(text, " case T17 d46:\n                            O[b 0,h 1,t 16,d 3]: got 0.5, want 0.25\n");
    says(text, " ]]> <b>&\\x1b[2J \\xff\\xc2\\x9b ");
    says(text, " mistake: the last block is left out if it is not full (tail_dropped)\n");
    says(text, "  SKIPPED             0/0   kernels: ");
    says(text, " no GPU # here\n");
    says(text, "  PARTIAL            5/10   speed: ");
    says(text, " 0.625 = peer's time / time\n");
    says(text, " median 2 ms, the reference solution's 1.25 ms");
    says(text, "  NOT RUN            0/10   fast: ");
    says(text, " only once kernels passes\n");
    says(text, "  | hello\\x07\n  | \\x1b]0;title\\xe2\\x80\\xae\n");
    cr_expect_null(strstr(text, "leaderboard"));
    cr_expect_null(strstr(text, "INCOMPLETE"));
    free(text);
}

Test(reports, a_replay_line_is_what_a_shell_makes_the_same_words_of) {
    char *text = printed(), *line = strstr(text, "build/tandem grade "), command[600], words[600];
    cr_assert_not_null(line);
    *strchr(line, '\n') = '\0';
    support_write(support_path(folder, "line"), line, strlen(line));
    snprintf(command, sizeof command, "cd %s && bash -c 'eval \"set -- $(cat line)\"; printf \"<%%s>\" \"$@\"'",
             folder);
    cr_assert_eq(support_shell(command, words, sizeof words), 0);
    cr_expect_str_eq(words, "<build/tandem><grade><SUBMISSION=work/it's \x1b[31m\nhers><LESSON=3><CASE=ragged/T17 d46>"
                            "<SEED=7><SECRET=8811>");
    free(text);
    strcpy(grade->submission, "it's $HOME `x` \\ *"); /* no control character: any shell */
    text = printed(), line = strstr(text, "build/tandem grade ");
    *strchr(line, '\n') = '\0';
    support_write(support_path(folder, "line"), line, strlen(line));
    snprintf(command, sizeof command, "cd %s && sh -c 'eval \"set -- $(cat line)\"; printf \"%%s\" \"$3\"'", folder);
    cr_assert_eq(support_shell(command, words, sizeof words), 0);
    cr_expect_str_eq(words, "SUBMISSION=it's $HOME `x` \\ *");
    free(text);
}

Test(reports, unknown_is_said_only_of_what_was_held_against_suspects) {
    graded_lesson(grade)->named = 0;
    char *text = printed();
    says(text, "mistake: unknown");
    free(text);
    graded_lesson(grade)->judged[0] = 0;
    text = printed();
    cr_expect_null(strstr(text, "mistake"));
    free(text);
}

Test(reports, a_mistake_belongs_to_its_part) {
    graded_lesson(grade)->suspect_part[0] = 1;
    char *text = printed();
    cr_expect_null(strstr(text, "tail_dropped"), "%s", text);
    free(text);
}

Test(reports, a_skeleton_is_said_to_be_one) {
    td_graded_lesson *l = graded_lesson(grade);
    char *text = printed();
    cr_expect_null(strstr(text, "is not written yet"));
    free(text);
    for (int i = 0; i < 2; i++) {
        l->result[i] = (td_grade_result){.graded = TD_GRADED_WRONG, .cases = 1, .failed_cases = 1};
        strcpy(l->result[i].message, "the function returned TD_UNSUPPORTED: not written yet");
    }
    l->result[3].graded = TD_GRADED_NOT_RUN;
    text = printed();
    says(text, "The exercise is not written yet");
    free(text);
}

Test(reports, leader_and_build_and_incompleteness_are_said) {
    td_graded_lesson *l = graded_lesson(grade);
    l->leader = 1.375, strcpy(l->leader_name, "peer's time / time");
    strcpy(l->build, "online_softmax.c:3: error: \x1b[1m\nnext line");
    for (int i = 0; i < 200; i++) strcat(l->output, i < 199 ? "x\n" : "zzz");
    grade->complete = 0, grade->sandbox = &graded_closed;
    char *text = printed();
    says(text, "leaderboard: 1.375 = peer's time / time");
    says(text, "  the compiler said:\n  | online_softmax.c:3: error: \\x1b[1m\n  | next line\n");
    says(text, "  | x\n  | …\n");
    cr_expect_null(strstr(text, "zzz"));
    says(text, "INCOMPLETE");
    says(text, "sandbox: bubblewrap\n");
    cr_expect_null(strstr(text, "UNSANDBOXED"));
    free(text);
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
    td_record *record;
    td_error err = {TD_OK, ""};
    free(written(td_report_csv, "results.csv"));
    cr_assert_eq(td_record_read_csv(&record, support_path(folder, "results.csv"), &err), TD_OK, "%s", err.message);
    cr_assert_eq(td_record_rows(record), 5);
    cr_expect_eq(td_record_get(record, 3, "points"), 5);
    cr_expect_eq(td_record_get(record, 3, "ratio"), 0.625);
    cr_expect(isnan(td_record_get(record, 0, "ratio")));
    cr_expect_str_eq(td_record_get_text(record, 1, "mistakes"), "tail_dropped");
    cr_expect_str_eq(td_record_get_text(record, 0, "mistakes"), "");
    cr_expect_str_eq(td_record_get_text(record, 1, "verdict"), "WRONG");
    graded_is_tame(td_record_get_text(record, 1, "message"));
    cr_expect_str_eq(td_record_about_of(record, "complete"), "yes");
    td_record_delete(record);
}

/* A report that cannot be written leaves the one before as it was. */
Test(reports, are_whole_or_not_there) {
    static const char before[] = "before";
    td_status (*const all[])(const td_grade *, const char *, td_error *) = {
#ifdef TD_HAVE_JANSSON
        td_report_json,
#endif
        td_report_junit, td_report_tap, td_report_csv};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        td_error err = {TD_OK, ""};
        cr_expect_eq(all[i](grade, support_path(folder, "none/results"), &err), TD_IO);
        support_write(support_path(folder, "results"), before, sizeof before);
        struct rlimit most = {1, RLIM_INFINITY};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &most);
        cr_expect_eq(all[i](grade, support_path(folder, "results"), &err), TD_IO);
        most.rlim_cur = RLIM_INFINITY;
        setrlimit(RLIMIT_FSIZE, &most);
        char *text = support_read(support_path(folder, "results"));
        cr_expect_str_eq(text, before);
        cr_expect_eq(support_entries(folder), 1);
        free(text);
    }
}

Test(reports, points_are_shown_sanely) {
    td_graded_lesson *l = graded_lesson(grade);
    l->points[3] = 10.0 / 3, grade->points = 30 + 10.0 / 3;
    char *text = printed();
    says(text, " 3.33/10   speed");
    says(text, "total: 33.33 of 80");
    free(text);
    l->points[3] = NAN, grade->points = -1;
    text = printed();
    says(text, " 0/10   speed");
    says(text, "total: 0 of 80");
    free(text);
}
