/* tandem grade as it is called: each end of a submission has its exit status, and every end its reports. Exercise 2 is
 * graded, one check of it: the quickest there is. */
#include "../../checks/file.h"
#include "../checks/grade/schema.h"
#include "../table.h"
#include <signal.h>
#include <time.h>

static char folder[64];
static support_result result;

static void enter(void) {
    support_folder(folder);
    setenv("TMPDIR", folder, 1);
    cr_assert_eq(mkdir(support_path(folder, "handed in"), 0755), 0);
}

/* What graders left there, or NULL. */
static const char *left_in_tmpdir(void) {
    static char printed[400];
    support_shell("ls -d \"$TMPDIR\"/tandem-grade-* 2>/dev/null", printed, sizeof printed);
    return printed[0] ? printed : NULL;
}

/* Nothing stays in TMPDIR but what the test itself put there. */
static void leave(void) {
    cr_expect_null(left_in_tmpdir());
    unsetenv("TMPDIR");
    support_folder_remove(folder);
}
TestSuite(command_grade, .init = enter, .fini = leave);

/* The solution of exercise 2, changed by sed, handed in. */
static void hand_in(const char *change) {
    char command[600], printed[200];
    snprintf(command, sizeof command,
             "sed '%s' lessons/02_roofline/exercise/solution/roofline.c >'%s/handed in/roofline.c' 2>&1", change,
             folder);
    cr_assert_eq(support_shell(command, printed, sizeof printed), 0, "%s", printed);
}

static char submission[128], out[128];

/* Graded without a sandbox, which is quickest, with up to three more arguments. */
static void grade(const char *a, const char *b, const char *c) {
    char *more[] = {(char *)a, (char *)b, (char *)c};
    snprintf(submission, sizeof submission, "SUBMISSION=%s/handed in", folder);
    snprintf(out, sizeof out, "OUT=%s/out", folder);
    support_run(NULL, &result,
                (char *[]){"grade", submission, out, "LESSON=2", "TIER=none", "GPU=no", more[0],
                           more[0] ? more[1] : NULL, more[0] && more[1] ? more[2] : NULL, NULL});
}

static void says(const char *words) {
    cr_expect(strstr(result.out, words), "'%s' in:\n%s%s", words, result.out, result.err);
}

/* results.json is there, keeps to the schema, and holds these words. */
static void reported(const char *words) {
    char *text = support_read(support_path(folder, "out/results.json"));
#ifdef TD_HAVE_JANSSON
    cr_assert_not_null(text);
    const char *wrong =
        schema_refuses_file("tests/checks/grade/results.schema.json", support_path(folder, "out/results.json"));
    cr_expect_null(wrong, "%s\n%s", wrong, text);
    cr_expect(strstr(text, words), "'%s' in:\n%s", words, text);
#else
    (void)words;
    cr_expect_null(text);
#endif
    free(text);
}

Test(command_grade, a_right_answer) {
    hand_in("");
    grade("CASE=roof", "SEED=3", "SECRET=811543");
    cr_expect_eq(result.status, 0, "%s%s", result.out, result.err);
    cr_expect_str_eq(result.err, "", "no progress line where there is no terminal");
    says("*** UNSANDBOXED: ");
    says("  PASS              10/10   roof: ");
    cr_expect_null(strstr(result.out, "SKIPPED"), "only what was run is shown");
    says("only CASE=roof was run: this is no score");
    says("seed 3, secret as given");
    cr_expect_null(strstr(result.out, "811543"), "a secret that is given may serve again");
    says("total: 10 of 10 points");
    reported("\"score\": 10.0");
    reported("\"complete\": true");
    reported("\"secret\": \"as given\"");
    td_record *record = table(folder, "out/results.csv");
    cr_expect_eq(td_record_rows(record), 8);
    td_record_delete(record);
    cr_expect_eq(access(support_path(folder, "out/junit.xml"), R_OK), 0);
    cr_expect_eq(access(support_path(folder, "out/results.tap"), R_OK), 0);
}

/* The line that replays a wrong case does so: same case, same end. */
Test(command_grade, a_wrong_answer_and_its_replay) {
    char command[800], printed[8000];
    hand_in("s/return 2 \\* M/return 3 * M/");
    grade("CASE=gemm_flops", NULL, NULL);
    cr_expect_eq(result.status, 1, "%s%s", result.out, result.err);
    says("  WRONG              0/10   gemm_flops: ");
    says("total: 0 of 10 points");
    reported("\"status\": \"failed\"");
    char *line = strstr(result.out, "build/tandem grade ");
    cr_assert_not_null(line);
    *strchr(line, '\n') = '\0';
    char program[PATH_MAX];
    support_program(program);
    snprintf(command, sizeof command, "%.200s %s OUT=%s/again TIER=none GPU=no", program,
             line + strlen("build/tandem "), folder);
    cr_expect_eq(support_shell(command, printed, sizeof printed), 1, "%s\n%s", command, printed);
    cr_expect(strstr(printed, "wrong in 1 of 1 cases"), "%s", printed);
}

Test(command_grade, what_cannot_be_compiled) {
    hand_in("1i #error \\x1b[31mno\n");
    grade(NULL, NULL, NULL);
    cr_expect_eq(result.status, 5, "%s", result.err);
    says("  BUILD FAILED       0/10   roof: ");
    says("#error \\x1b[31mno");
    says("total: 0 of 100 points");
    cr_expect_null(strstr(result.out, "\x1b"));
    reported("\"BUILD FAILED\"");
}

static int times_said(const char *words) {
    int n = 0;
    for (const char *at = result.out; (at = strstr(at, words)); at += strlen(words)) n++;
    return n;
}

/* The cause is quoted once, and once more among all that the compiler said; not the linker's last word. */
Test(command_grade, what_cannot_be_linked) {
    hand_in("1i int main(void) { return 0; }\n");
    grade(NULL, NULL, NULL);
    cr_expect_eq(result.status, 5, "%s", result.err);
    cr_expect_eq(times_said("multiple definition of"), 2, "%s", result.out);
    cr_expect_eq(times_said("collect2"), 1, "%s", result.out);
    cr_expect_eq(times_said("roofline.c cannot be compiled: see what the compiler"), 7, "%s", result.out);
    hand_in("s/exercise_roof/exercise_other/");
    grade(NULL, NULL, NULL);
    cr_expect_eq(result.status, 5, "%s", result.err);
    cr_expect_eq(times_said("roofline.c does not define exercise_roof"), 1, "%s", result.out);
}

Test(command_grade, what_crashes) {
    hand_in("1i __attribute__((constructor)) static void f(void) { __builtin_trap(); }\n");
    grade("CASE=roof", NULL, NULL);
    cr_expect_eq(result.status, 6, "%s%s", result.out, result.err);
    says("  CRASHED            0/10   roof: ");
}

/* The solution, but roof never returns; and a rubric that asks for it second. */
static void hand_in_a_loop(void) {
    char command[400], printed[200];
    hand_in("s/double slope/for (volatile int i = 1; i;) continue;\\n    double slope/");
    snprintf(command, sizeof command,
             "(cd lessons/02_roofline/exercise && grep ^gemm_flops rubric && grep ^roof rubric && grep -Ev "
             "\"^(gemm_flops|roof)\" rubric) >'%s/rubric'",
             folder);
    cr_assert_eq(support_shell(command, printed, sizeof printed), 0, "%s", printed);
}

/* Time for all of it. */
Test(command_grade, what_takes_too_long) {
    char rubric[128];
    hand_in_a_loop();
    snprintf(rubric, sizeof rubric, "RUBRIC=%s/rubric", folder);
    grade("SECONDS=2", rubric, NULL);
    cr_expect_eq(result.status, 7, "%s%s", result.out, result.err);
    says("  TIMED OUT          0/10   roof: ");
    says("not begun: the time for all checks together was used");
    reported("\"TIMED OUT\"");
}

Test(command_grade, an_empty_folder_and_one_without_the_file) {
    grade(NULL, NULL, NULL);
    cr_expect_eq(result.status, 5);
    says("no roofline.c; the folder is empty");
    says("roofline.c is not there");
    reported("roofline.c is not there");
    support_write(support_path(folder, "handed in/a\x1b[1m\nb.c"), "", 0);
    support_tandem(NULL, &result, "grade", submission, out, "TIER=none", "GPU=no");
    cr_expect_eq(result.status, 5, "%s", result.err);
    says("no exercise's file is there; the folder holds a?[1m?b.c");
    says("total: 0 of 0 points");
    reported("no exercise's file is there");
}

Test(command_grade, bad_parameters_are_named) {
    static const struct {
        const char *argument, *said;
        int status;
    } all[] = {{"CASE=none/x", "no such check; exercise 2 has gemm_flops, gemm_bytes, ", 2},
               {"CASE=roof/x", "CASE=roof/x: the check has no case of that name; legal are intensity, small, ", 2},
               {"SEED=-1", "seed=-1: must be", 2},
               {"SECRET=x", "SECRET=x: must be", 2},
               {"SECONDS=0", "SECONDS=0: must be a number from 0.001 to 1", 2},
               {"TIER=best2", "TIER=best2: must be", 2},
               {"PUBLIC=maybe", "PUBLIC=maybe: must be", 2},
               {"GPU=often", "GPU=often: must be", 2},
               {"RUBRIC=/none", "RUBRIC=/none: cannot be read", 2},
               {"lesson=3", "LESSON: given twice", 2},
               {"WHAT=1", "'WHAT=1': no such option", 2}};
    hand_in("");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        snprintf(submission, sizeof submission, "SUBMISSION=%s/handed in", folder);
        snprintf(out, sizeof out, "OUT=%s/out", folder);
        support_tandem(NULL, &result, "grade", submission, out, "LESSON=2", (char *)all[i].argument);
        cr_expect_eq(result.status, all[i].status, "%s: %d", all[i].argument, result.status);
        const char *said = all[i].said;
        cr_expect(strcasestr(result.err, said), "'%s' in '%s'", said, result.err);
        cr_expect_eq(strchr(result.err, '\n') - result.err + 1, (long)strlen(result.err), "one line: %s", result.err);
    }
    support_tandem(NULL, &result, "grade", "SUBMISSION=/none\n\x1b", out);
    support_refused(&result, 2, "SUBMISSION=/none??: must be a folder");
    support_tandem(NULL, &result, "grade", out);
    support_refused(&result, 2, "SUBMISSION: not given");
    support_tandem(NULL, &result, "grade", submission, "OUT=/proc/none");
    support_refused(&result, 3, "OUT=/proc/none: /proc/none: cannot be");
    support_tandem(NULL, &result, "grade", submission, out, "RUBRIC=x");
    support_refused(&result, 2, "LESSON=N must say which");
    support_tandem(NULL, &result, "grade", "--help");
    cr_expect_eq(result.status, 0);
    says("SUBMISSION=");
}

/* Whatever stops a grading before its first report: what an earlier one wrote does not stand for it. */
Test(command_grade, nothing_old_passes_for_a_result) {
    static const char *const names[] = {"results.json", "junit.xml", "results.tap", "results.csv"};
    static const struct {
        const char *tmpdir, *argument;
        int status;
    } stopped[] = {{"/nope", "TIER=none", 3}, {NULL, "TIER=xx", 2}, {NULL, "SEED=-1", 2}};
    hand_in("");
    snprintf(submission, sizeof submission, "SUBMISSION=%s/handed in", folder);
    snprintf(out, sizeof out, "OUT=%s/out", folder);
    mkdir(support_path(folder, "out"), 0755);
    for (size_t i = 0; i < sizeof stopped / sizeof *stopped; i++) {
        for (size_t k = 0; k < 4; k++) support_write(support_path(support_path(folder, "out"), names[k]), "100", 3);
        setenv("TMPDIR", stopped[i].tmpdir ? stopped[i].tmpdir : folder, 1);
        support_tandem(NULL, &result, "grade", submission, out, "LESSON=2", "GPU=no", (char *)stopped[i].argument);
        cr_expect_eq(result.status, stopped[i].status, "%s", result.err);
        cr_expect_eq(support_entries(support_path(folder, "out")), 1, "but its lock");
    }
    setenv("TMPDIR", folder, 1);
}

Test(command_grade, its_folder_is_for_one_and_apart) {
    char inside[128];
    int lock;
    td_error err;
    hand_in("");
    snprintf(submission, sizeof submission, "SUBMISSION=%s/handed in", folder);
    snprintf(out, sizeof out, "OUT=%s/out", folder);
    snprintf(inside, sizeof inside, "OUT=%s/handed in/new/out", folder);
    mkdir(support_path(folder, "out"), 0755);
    support_write(support_path(folder, "out/results.json"), "100", 3);
    cr_assert_eq(td_folder_lock(support_path(folder, "out"), &lock, &err), TD_OK);
    support_tandem(NULL, &result, "grade", submission, out, "LESSON=2", "TIER=none");
    support_refused(&result, 3, "another grader is at work there");
    cr_expect_eq(access(support_path(folder, "out/results.json"), F_OK), 0, "the other's");
    close(lock);
    support_tandem(NULL, &result, "grade", submission, inside, "LESSON=2", "TIER=none");
    support_refused(&result, 2, "must not lie within SUBMISSION");
    cr_expect_eq(support_entries(support_path(folder, "handed in")), 1, "nothing is made there");
}

/* A class's graders would refuse it one by one; what they did before stays. */
Test(command_grade, a_class_is_refused_at_once) {
    char submissions[128];
    hand_in("");
    mkdir(support_path(folder, "class"), 0755), mkdir(support_path(folder, "class/a"), 0755);
    mkdir(support_path(folder, "out"), 0755), mkdir(support_path(folder, "out/a"), 0755);
    support_write(support_path(folder, "out/a/results.json"), "100", 3);
    snprintf(submissions, sizeof submissions, "SUBMISSIONS=%s/class", folder);
    snprintf(out, sizeof out, "OUT=%s/out", folder);
    support_tandem(NULL, &result, "grade-class", submissions, out, "TIER=xx");
    support_refused(&result, 2, "TIER=xx: must be one of");
    support_tandem(NULL, &result, "grade-class", submissions, out, "LESSON=9");
    support_refused(&result, 2, "LESSON=9: must be");
    cr_expect_eq(access(support_path(folder, "out/a/results.json"), F_OK), 0);
}

/* It ends, and says why: with little address space neither a fork nor a thread of ours may wait for what never comes.
 */
Test(command_grade, a_limit_of_address_space) {
#ifdef __SANITIZE_ADDRESS__
    cr_skip_test("a sanitizer needs more address space than there is");
#endif
    char program[PATH_MAX], command[PATH_MAX + 400], printed[400];
    support_program(program);
    snprintf(command, sizeof command,
             "ulimit -v 200000; timeout 60 '%s' grade 'SUBMISSION=%s/handed in' 'OUT=%s/out' 2>&1", program, folder,
             folder);
    cr_expect_eq(support_shell(command, printed, sizeof printed), 3, "%s", printed);
    cr_expect(strstr(printed, "address space is limited to 195 MiB (ulimit -v): a grader needs 4096"), "%s", printed);
}

/* Killed in the midst: the reports stand as they were after the last check, whole; its private folder goes. */
Test(command_grade, a_grader_that_is_killed) {
    char program[PATH_MAX], rubric[128];
    hand_in_a_loop();
    snprintf(rubric, sizeof rubric, "RUBRIC=%s/rubric", folder);
    support_program(program);
    snprintf(submission, sizeof submission, "SUBMISSION=%s/handed in", folder);
    snprintf(out, sizeof out, "OUT=%s/out", folder);
    pid_t pid = fork();
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stdout)) _exit(127);
        execl(program, program, "grade", submission, out, "LESSON=2", "TIER=none", "GPU=no", rubric, NULL);
        _exit(127);
    }
    for (int i = 0; i < 1000; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        if (support_shell("grep ',PASS,' \"$TMPDIR\"/out/results.csv 2>&1", result.out, sizeof result.out) == 0) break;
    }
    cr_expect_eq(kill(pid, SIGTERM), 0);
    int status;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    for (int i = 0; i < 1000 && left_in_tmpdir(); i++) nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    cr_expect_null(left_in_tmpdir());
    reported("\"score\": 10.0");
    reported("INCOMPLETE");
    reported("not run yet");
    support_shell("ls -A \"$TMPDIR\"/out", result.out, sizeof result.out);
    cr_expect_null(strstr(result.out, ".tmp"), "%s", result.out);
    grade("CASE=gemm_flops", NULL, NULL);
    cr_expect_eq(result.status, 0, "%s%s", result.out, result.err);
    /* the child that ran for ever went with its parent */
    char command[200];
    snprintf(command, sizeof command, "for e in /proc/[0-9]*/exe; do readlink $e; done 2>/dev/null | grep '^%s'",
             folder);
    cr_expect_eq(support_shell(command, result.out, sizeof result.out), 1, "%s", result.out);
}
