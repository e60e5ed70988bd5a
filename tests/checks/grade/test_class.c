/* A class graded side by side. The grader is a script here, which does what a file `does` in the submission says. */
#include "../../../checks/grade/class.h"
#include "../../../checks/text.h"
#include "../../support.h"
#include <signal.h>
#include <time.h>

static char home[64], submissions[96], out[96], grader[96], started[96];
static td_class_options options;

/* Says that it was started, and with what; then reports one check that earned 3 of 4 points. */
static const char script[] =
    "#!/bin/sh\n"
    "[ \"$1\" = grade ] || exit 2\n"
    "for given; do case $given in SUBMISSION=*) s=${given#*=} ;; OUT=*) o=${given#*=} ;; SECRET=*) k=${given#*=} ;; "
    "esac; "
    "done\n"
    "echo \"$k\" >>\"${0%/*}/started\"\n"
    "echo 'a report'\n"
    ". \"$s/does\"\n"
    "printf 'check,points,max_points,err_over_tol,ratio,mistakes\\na,3,4,%s,%s,%s\\nb,0,0,nan,nan,%s\\n' "
    "\"$err\" \"$ratio\" \"$names\" \"$names\" >\"$o/results.csv\"\n"
    "echo '{}' >\"$o/results.json\"\n"
    "exit $verdict\n";

static void submission(const char *name, const char *does) {
    mkdir(support_path(submissions, name), 0777);
    support_write(support_path(support_path(submissions, name), "does"), does, strlen(does));
}

static void set_up(void) {
    support_folder(home);
    snprintf(submissions, sizeof submissions, "%s", support_path(home, "submissions"));
    snprintf(out, sizeof out, "%s", support_path(home, "out"));
    snprintf(grader, sizeof grader, "%s", support_path(home, "grader"));
    snprintf(started, sizeof started, "%s", support_path(home, "started"));
    mkdir(submissions, 0777);
    support_write(grader, script, sizeof script - 1);
    chmod(grader, 0755);
    options = (td_class_options){
        .submissions = submissions, .out = out, .grader = grader, .tier = "best", .lesson = 3, .jobs = 2, .limit = 60};
}

static void tear_down(void) {
    support_folder_remove(home);
}

TestSuite(class, .init = set_up, .fini = tear_down);

/* Open, grade, and leave open. */
static td_class graded(void) {
    td_class class;
    td_error err = {TD_OK, ""};
    cr_assert_eq(td_class_open(&class, &options, &err), TD_OK, "%s", err.message);
    cr_assert_eq(td_class_grade(&class, &err), TD_OK, "%s", err.message);
    return class;
}

static int graders_started(void) {
    char *text = support_read(started);
    int n = 0;
    for (char *c = text; c && *c; c++) n += *c == '\n';
    free(text);
    return n;
}

static const td_class_member *member(const td_class *class, const char *name) {
    for (int i = 0; i < class->n; i++)
        if (!strcmp(class->member[i].name, name)) return &class->member[i];
    cr_assert_fail("%s", name);
    return NULL;
}

Test(class, any_name_is_graded_once_and_summed_up) {
    submission("Ann", "verdict=0 err=0.25 ratio=1.5");
    submission("ann", "verdict=1 err=7 names='no_scale causal_off_by_one'");
    submission("two words\nand lines", "verdict=1 names='no_scale'");
    submission("-rf", "verdict=6");
    submission("--help", "verdict=5");
    submission("quote'\"$(date)\\", "verdict=7");
    support_write(support_path(submissions, "notes.txt"), "", 0);
    mkdir(support_path(submissions, ".git"), 0777);
    cr_assert_eq(symlink("/", support_path(submissions, "link")), 0);
    td_class class = graded();
    td_record *rows, *mistakes;
    td_error err;
    cr_assert_eq(class.n, 6);
    cr_assert_eq(td_class_summary(&class, &rows, &mistakes, &err), TD_OK);
    static const char *const names[] = {
        "--help", "-rf", "Ann", "ann", "quote'\"$(date)\\x5c", "two words\\x0aand lines"};
    static const char *const verdicts[] = {"BUILD FAILED", "CRASHED", "PASS", "WRONG", "TIMED OUT", "WRONG"};
    cr_assert_eq(td_record_rows(rows), 6);
    for (int r = 0; r < 6; r++) {
        cr_expect_str_eq(td_record_get_text(rows, r, "submission"), names[r]);
        cr_expect_str_eq(td_record_get_text(rows, r, "verdict"), verdicts[r]);
        cr_expect(td_record_get(rows, r, "points") == 3 && td_record_get(rows, r, "max") == 4);
    }
    cr_expect(td_record_get(rows, 2, "err_over_tol") == 0.25 && td_record_get(rows, 2, "ratio") == 1.5);
    cr_expect_str_eq(td_record_get_text(rows, 3, "mistakes"), "no_scale causal_off_by_one", "each once");
    cr_assert_eq(td_record_rows(mistakes), 2);
    cr_expect_str_eq(td_record_get_text(mistakes, 0, "mistake"), "no_scale");
    cr_expect_eq(td_record_get(mistakes, 0, "submissions"), 2);
    td_record_delete(rows), td_record_delete(mistakes);
    char *report = support_read(support_path(support_path(out, "two words\nand lines"), "report.txt"));
    cr_expect_str_eq(report, "a report\n");
    free(report);
    td_class_free(&class);
    cr_expect_eq(graders_started(), 6);
    class = graded();
    cr_expect_eq(graders_started(), 6, "nothing is graded twice");
    cr_expect(member(&class, "-rf")->earlier && member(&class, "-rf")->status == 6);
    td_class_free(&class);
    submission("ann", "verdict=0");
    unlink(support_path(support_path(out, "Ann"), "results.json"));
    class = graded();
    cr_expect_eq(graders_started(), 8, "what has changed, and what has no report, is graded again");
    cr_expect_eq(member(&class, "ann")->status, 0);
    td_class_free(&class);
    options.lesson = 4;
    class = graded();
    cr_expect_eq(graders_started(), 14, "another lesson");
    td_class_free(&class);
    options.tier = "none";
    class = graded();
    cr_expect_eq(graders_started(), 20, "another tier");
    td_class_free(&class);
}

Test(class, one_secret_for_all_that_nobody_else_reads) {
    submission("a", "verdict=0"), submission("b", "verdict=0");
    td_class class = graded();
    struct stat st;
    cr_assert_eq(stat(support_path(out, "secret"), &st), 0);
    cr_expect_eq(st.st_mode & 07777, 0600);
    char expected[96], *text = support_read(started);
    snprintf(expected, sizeof expected, "%llu\n%llu\n", (unsigned long long)class.secret,
             (unsigned long long)class.secret);
    cr_expect_str_eq(text, expected);
    free(text);
    uint64_t secret = class.secret;
    cr_expect_leq(secret, INT64_MAX);
    td_class_free(&class);
    class = graded();
    cr_expect_eq(class.secret, secret);
    td_class_free(&class);
    unlink(support_path(out, "secret"));
    class = graded();
    cr_expect_eq(graders_started(), 4, "another secret is another grade");
    td_class_free(&class);
    /* what no grader would take */
    static const char *const wrong[] = {"x", "", "-1", "7 8", "9223372036854775808", "99999999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        td_error err;
        support_write(support_path(out, "secret"), wrong[i], strlen(wrong[i]));
        cr_expect_eq(td_class_open(&class, &options, &err), TD_BAD_PARAM, "%s", wrong[i]);
        td_class_free(&class);
    }
    support_write(support_path(out, "secret"), "9223372036854775807\n", 20);
    cr_expect_eq(td_class_open(&class, &options, &(td_error){TD_OK, ""}), TD_OK);
    td_class_free(&class);
}

Test(class, a_name_in_a_table_is_utf8_and_still_another_for_each) {
    static const char *const names[][2] = {{"\xc3\xa9 a", "\xc3\xa9 a"},
                                           {"\xff\xc3", "\\xff\\xc3"},
                                           {"\\xff", "\\x5cxff"},
                                           {"\xe2\x80\xae", "\\xe2\\x80\\xae"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *shown = td_class_name(names[i][0]);
        cr_expect_str_eq(shown, names[i][1]);
        free(shown);
    }
}

Test(class, a_grader_that_cannot_be_started_says_why) {
    submission("a", "verdict=0");
    options.grader = support_path(home, "built anew");
    td_class class = graded();
    cr_expect(!class.member[0].graded && class.member[0].status == 127);
    char *report = support_read(support_path(support_path(out, "a"), "report.txt"));
    cr_expect(strstr(report, "No such file") && strstr(report, "built anew meanwhile"), "%s", report);
    free(report);
    td_class_free(&class);
}

Test(class, a_dead_grader_is_a_fault_of_its_own_and_tried_again) {
    submission("a", "kill -9 $$"), submission("b", "verdict=4"), submission("c", "exit 0"),
        submission("d", "verdict=0");
    submission("e", "sleep 60");
    options.limit = 0.3;
    td_class class = graded();
    td_record *rows, *mistakes;
    td_error err;
    cr_assert_eq(td_class_summary(&class, &rows, &mistakes, &err), TD_OK);
    for (int i = 0; i < 5; i++) {
        cr_expect_eq(class.member[i].graded, i == 3, "%d", i);
        cr_expect_str_eq(td_record_get_text(rows, i, "verdict"), i == 3 ? "PASS" : "HARNESS FAULT");
    }
    cr_expect_eq(class.member[0].status, 128 + SIGKILL);
    cr_expect_eq(class.member[4].status, -1);
    td_record_delete(rows), td_record_delete(mistakes);
    td_class_free(&class);
    submission("a", "verdict=0"), submission("b", "verdict=0"), submission("c", "verdict=0"),
        submission("e", "verdict=0");
    class = graded();
    for (int i = 0; i < 5; i++) cr_expect(class.member[i].graded && class.member[i].earlier == (i == 3), "%d", i);
    td_class_free(&class);
}

Test(class, nothing_outlives_its_grader_unseen) {
    submission("a", "setsid sleep 300 </dev/null >/dev/null 2>&1 & verdict=0");
    td_class class = graded();
    cr_expect_eq(class.orphans, 1);
    cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1);
    td_class_free(&class);
    submission("a", "verdict=0");
    class = graded();
    cr_expect_eq(class.orphans, 0);
    td_class_free(&class);
}

Test(class, killed_midway_it_goes_on) {
    enum { N = 24 };
    char name[8], path[PATH_MAX];
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "s%02d", i % 100);
        submission(name, "sleep 0.02; verdict=0");
    }
    pid_t pid = fork();
    if (pid == 0) {
        graded();
        _exit(0);
    }
    const struct timespec moment = {0, 2 * 1000 * 1000};
    snprintf(path, sizeof path, "%s", support_path(out, "s05/graded"));
    while (access(path, F_OK) != 0) nanosleep(&moment, NULL);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    int before = graders_started(), done = 0;
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "s%02d", i % 100);
        done += access(support_path(support_path(out, name), "graded"), F_OK) == 0;
    }
    cr_assert(done >= 1 && done < N, "%d", done);
    td_class class = graded();
    int earlier = 0;
    for (int i = 0; i < N; i++) {
        cr_expect(class.member[i].graded, "%d", i);
        earlier += class.member[i].earlier;
    }
    cr_expect_eq(earlier, done, "what was done is not done again");
    cr_expect_eq(graders_started() - before, N - done, "nor is anything lost");
    td_class_free(&class);
}

static void graders_after(int expected, const char *change) {
    td_class class = graded();
    cr_expect_eq(graders_started(), expected, "%s", change);
    td_class_free(&class);
}

Test(class, options_are_passed_on_and_are_rules) {
    submission("a", "echo \"$@\" >\"$s/../../words\"; verdict=0");
    graders_after(1, "none");
    options.rubric = support_path(home, "rubric");
    support_write(options.rubric, "one", 3);
    graders_after(2, "a rubric");
    support_write(options.rubric, "two", 3);
    graders_after(3, "another rubric under the same name");
    options.seed = "5";
    graders_after(4, "another seed");
    options.seconds = "77";
    graders_after(5, "other seconds");
    unlink(support_path(out, "secret"));
    options.secret = "4711";
    graders_after(6, "another secret");
    graders_after(6, "nothing new");
    cr_expect_neq(access(support_path(out, "secret"), F_OK), 0, "a given secret is not kept");
    char *words = support_read(support_path(home, "words")), rubric[160];
    snprintf(rubric, sizeof rubric, " RUBRIC=%s ", options.rubric);
    cr_expect(strstr(words, " SECRET=4711 ") && strstr(words, " SEED=5 ") && strstr(words, " SECONDS=77\n") &&
                  strstr(words, rubric),
              "%s", words);
    free(words);
}

Test(class, table_fits_80_columns) {
    submission("a_name_that_is_as_long_as_a_name_of_a_folder_may_ever_be_and_then_some_more_of_it", "verdict=0");
    submission("b", "verdict=1 err=1.7e308 ratio=0.001234567 names='one_rather_long_name another_rather_long_name "
                    "a_third_rather_long_name'");
    td_class class = graded();
    td_record *rows, *mistakes;
    td_error err;
    cr_assert_eq(td_class_summary(&class, &rows, &mistakes, &err), TD_OK);
    char *text;
    size_t length;
    FILE *table = open_memstream(&text, &length);
    td_class_print(rows, 80, table);
    fclose(table);
    cr_expect(strstr(text, "\n   1  a_name") && strstr(text, "…") && strstr(text, "\n   2  b "), "%s", text);
    cr_expect(strstr(text, "\n      one_rather_long_name "), "%s", text);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        cr_expect_leq(td_text_width(line), 80, "%s", line);
    free(text);
    td_record_delete(rows), td_record_delete(mistakes);
    td_class_free(&class);
}

static void cannot_open(td_status status, const char *said) {
    td_class class;
    td_error err = {TD_OK, ""};
    cr_expect_eq(td_class_open(&class, &options, &err), status, "%s", said);
    cr_expect(strstr(err.message, said), "%s", err.message);
    td_class_free(&class);
}

Test(class, refuses_folders_that_will_not_do) {
    cannot_open(TD_BAD_PARAM, "holds no folder");
    submission("a", "verdict=0");
    td_class class = graded();
    cannot_open(TD_IO, "another grader is at work there");
    td_class_free(&class);
    options.out = support_path(home, "file");
    support_write(options.out, "", 0);
    cannot_open(TD_IO, "OUT=");
    options.out = submissions;
    cannot_open(TD_BAD_PARAM, "must lie neither within SUBMISSIONS nor around it");
    options.out = support_path(submissions, "out");
    cannot_open(TD_BAD_PARAM, "must lie neither within SUBMISSIONS nor around it");
    cr_expect_neq(access(options.out, F_OK), 0, "it is not made");
    options.out = home;
    cannot_open(TD_BAD_PARAM, "must lie neither within SUBMISSIONS nor around it");
    char beside[128];
    snprintf(beside, sizeof beside, "%s-out", submissions);
    options.out = beside; /* one name begins with the other */
    cr_expect_eq(td_class_open(&class, &options, &(td_error){TD_OK, ""}), TD_OK);
    td_class_free(&class);
    submission("class.csv", "verdict=0");
    cannot_open(TD_BAD_PARAM, "class.csv");
    options.submissions = support_path(home, "nowhere");
    cannot_open(TD_BAD_PARAM, "/nowhere: must be a folder: No such");
}
