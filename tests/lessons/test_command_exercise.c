/* tandem exercise: a working copy appears whole or not at all, and what a learner wrote is never lost. */
#include "../support.h"
#include <pty.h>

/* A Tandem of its own: the program, and a small exercise of lesson 3. Exercise commands find it from the executable. */
static char home[64], copy[PATH_MAX];
static support_child at_home = {.folder = home};

static void plant(const char *name, const char *text) {
    support_write(support_path(home, name), text, strlen(text));
}

static void set_up(void) {
    char program[PATH_MAX], command[2 * PATH_MAX], printed[400];
    support_program(program);
    support_folder(home);
    snprintf(command, sizeof command, "cd %s && mkdir -p lessons/03_online_softmax/exercise/solution && cp '%s' tandem",
             home, program);
    cr_assert_eq(support_shell(command, printed, sizeof printed), 0, "%s", printed);
    chmod(home, 0777);
    setenv("TANDEM", support_path(home, "tandem"), 1);
    plant("lessons/03_online_softmax/exercise/README.md", "the task\n");
    plant("lessons/03_online_softmax/exercise/online_softmax.c", "/* not written yet */\n");
    plant("lessons/03_online_softmax/exercise/rubric", "ragged 20 lengths\n");
    plant("lessons/03_online_softmax/exercise/hints.md", "# Hints\n\n## 1\n\nthink\n\n## 2\n\nthink again\n");
    plant("lessons/03_online_softmax/exercise/solution/online_softmax.c", "/* the answer */\n");
    snprintf(copy, sizeof copy, "%s", support_path(home, "mine/lesson-3"));
}

static void tear_down(void) {
    support_folder_remove(home);
}

static void holds(const char *name, const char *text) {
    char *is = support_read(support_path(home, name));
    cr_assert_not_null(is, "%s", name);
    cr_expect_str_eq(is, text, "%s", name);
    free(is);
}

static int is_there(const char *name) {
    return access(support_path(home, name), F_OK) == 0;
}

TestSuite(command_exercise, .init = set_up, .fini = tear_down);

Test(command_exercise, start_hands_out_the_task_and_never_overwrites) {
    support_result r;
    support_tandem(&at_home, &r, "exercise", "start", "LESSON=3");
    cr_assert_eq(r.status, 0, "%s", r.err);
    cr_expect(strstr(r.out, "make check-3"), "%s", r.out);
    holds("mine/lesson-3/README.md", "the task\n");
    holds("mine/lesson-3/online_softmax.c", "/* not written yet */\n");
    holds("mine/lesson-3/rubric", "ragged 20 lengths\n");
    holds("mine/lesson-3/.tandem-exercise", "3\n");
    cr_expect_eq(support_entries(copy), 4, "neither hints nor solution");
    plant("mine/lesson-3/online_softmax.c", "mine");
    support_tandem(&at_home, &r, "exercise", "start", "LESSON=3");
    support_refused(&r, 2, "mine/lesson-3: is there already and stays as it is; make reset-3");
    holds("mine/lesson-3/online_softmax.c", "mine");
    cr_expect_eq(support_entries(support_path(home, "mine")), 1);
    plant("elsewhere", "a file");
    support_tandem(&at_home, &r, "exercise", "start", "LESSON=3", "WORK=elsewhere");
    support_refused(&r, 2, "elsewhere: is there already and stays as it is; WORK must name a new folder");
    holds("elsewhere", "a file");
    support_tandem(&at_home, &r, "exercise", "start", "LESSON=3", "WORK=a b/c//");
    cr_expect_eq(r.status, 0, "%s", r.err);
    holds("a b/c/README.md", "the task\n");
    cr_expect(strstr(r.out, "'a b/c' is yours") && strstr(r.out, "exercise check LESSON=3 WORK='a b/c'"), "%s", r.out);
    support_tandem(&at_home, &r, "exercise", "start", "LESSON=3", "WORK=a b/c");
    support_refused(&r, 2, "build/tandem exercise reset LESSON=3 WORK='a b/c' keeps it");
    support_tandem(&at_home, &r, "exercise", "start", "LESSON=3", "WORK=ab");
    cr_expect(strstr(r.out, "  make check-3 WORK=ab "), "%s", r.out);
    support_tandem(&at_home, &r, "exercise", "start", "LESSON=3", "WORK=ab");
    support_refused(&r, 2, "make reset-3 WORK=ab keeps it");
}

Test(command_exercise, a_folder_that_cannot_be_written_and_a_full_disk_leave_nothing) {
    support_result r;
    mkdir(support_path(home, "closed"), 0555);
    support_child other = {.folder = home, .user = 65534};
    support_tandem(&other, &r, "exercise", "start", "LESSON=3", "WORK=closed/w");
    support_refused(&r, 3, "closed: cannot be written: Permission denied");
    char long_text[3000];
    memset(long_text, 'x', sizeof long_text);
    support_write(support_path(home, "lessons/03_online_softmax/exercise/long.c"), long_text, sizeof long_text);
    support_child full = {.folder = home, .largest_file = 1000};
    support_tandem(&full, &r, "exercise", "start", "LESSON=3");
    support_refused(&r, 3, "File too large");
    cr_expect_eq(support_entries(support_path(home, "mine")), 0);
    support_tandem(&at_home, &r, "exercise", "start", "LESSON=3");
    plant("mine/lesson-3/online_softmax.c", "mine");
    support_tandem(&full, &r, "exercise", "reset", "LESSON=3", "CONFIRM=yes");
    support_refused(&r, 3, "File too large");
    holds("mine/lesson-3/online_softmax.c", "mine");
    cr_expect_eq(support_entries(support_path(home, "mine")), 1);
}

Test(command_exercise, reset_keeps_what_was_there) {
    support_result r;
    support_tandem(&at_home, &r, "exercise", "reset", "LESSON=3", "CONFIRM=yes");
    support_refused(&r, 2, "mine/lesson-3: there is no such folder; make exercise-3 starts");
    support_tandem(&at_home, &r, "exercise", "start", "LESSON=3");
    plant("mine/lesson-3/online_softmax.c", "first");
    support_tandem(&at_home, &r, "exercise", "reset", "LESSON=3");
    support_refused(&r, 2, "CONFIRM: not given, and there is no terminal to ask on; must be yes");
    support_tandem(&at_home, &r, "exercise", "reset", "LESSON=3", "CONFIRM=y");
    support_refused(&r, 2, "CONFIRM=y: must be yes");
    holds("mine/lesson-3/online_softmax.c", "first");
    support_tandem(&at_home, &r, "exercise", "hint", "LESSON=3");
    support_tandem(&at_home, &r, "exercise", "reset", "LESSON=3", "CONFIRM=yes");
    cr_assert_eq(r.status, 0, "%s", r.err);
    cr_expect(strstr(r.out, "mine/lesson-3.before-1"), "%s", r.out);
    cr_expect_not(is_there("mine/lesson-3.hints"), "hints begin anew");
    plant("mine/lesson-3/online_softmax.c", "second");
    support_tandem(&at_home, &r, "exercise", "reset", "LESSON=3", "CONFIRM=yes");
    holds("mine/lesson-3.before-1/online_softmax.c", "first");
    holds("mine/lesson-3.before-2/online_softmax.c", "second");
    holds("mine/lesson-3/online_softmax.c", "/* not written yet */\n");
    cr_expect_eq(support_entries(support_path(home, "mine")), 3);
}

/* reset, and hint, which writes beside it, refuse the folder; nothing in `above` was moved or made. */
static void not_own(support_child *child, const char *above, const char *work, const char *said) {
    support_result r;
    char argument[PATH_MAX];
    int entries = support_entries(support_path(home, above));
    snprintf(argument, sizeof argument, "WORK=%s", work);
    support_tandem(child, &r, "exercise", "reset", "LESSON=3", "CONFIRM=yes", argument);
    support_refused(&r, 2, said);
    support_tandem(child, &r, "exercise", "hint", "LESSON=3", argument);
    support_refused(&r, 2, said);
    cr_expect_eq(support_entries(support_path(home, above)), entries, "%s", work);
}

Test(command_exercise, only_a_copy_of_that_exercise_is_moved) {
    support_result r;
    char printed[400], in_deep[PATH_MAX];
    cr_assert_eq(
        support_shell("cd \"${TANDEM%/*}\" && mkdir -p deep/some deep/own/inner deep/older deep/other deep/half",
                      printed, sizeof printed),
        0);
    snprintf(in_deep, sizeof in_deep, "%s", support_path(home, "deep"));
    support_child child = {.folder = in_deep};
    plant("deep/some/notes", "mine");
    not_own(&child, "deep", "some", "WORK=some: was not made by an exercise command; must be a working copy of");
    not_own(&child, "deep", "none", "WORK=none: there is no such folder; make exercise-3 WORK=none starts");
    plant("deep/other/.tandem-exercise", "4\n");
    not_own(&child, "deep", "other", "is a working copy of exercise 4; must be a working copy of exercise 3");
    plant("deep/half/README.md", "another task\n");
    plant("deep/half/online_softmax.c", "mine");
    not_own(&child, "deep", "half", "was not made by an exercise command");
    /* whoever marks a folder by hand does not get it moved from under him */
    plant("deep/own/.tandem-exercise", "3\n");
    cr_assert_eq(symlink("own", support_path(home, "deep/link")), 0);
    not_own(&child, "deep", "link", "is a symbolic link");
    snprintf(in_deep, sizeof in_deep, "%s", support_path(home, "deep/own/inner"));
    not_own(&child, "deep", "../../own", "is or holds the working folder");
    snprintf(in_deep, sizeof in_deep, "%s", support_path(home, "deep"));
    setenv("HOME", support_path(home, "deep/own/inner"), 1);
    not_own(&child, "deep", "own", "is or holds the home folder");
    setenv("HOME", "/nowhere", 1);
    not_own(&at_home, "lessons/03_online_softmax", "lessons/03_online_softmax/exercise", "is or holds the exercise");
    /* a copy that an earlier version made has no marker */
    plant("deep/older/README.md", "the task\n");
    plant("deep/older/online_softmax.c", "mine");
    support_tandem(&child, &r, "exercise", "reset", "LESSON=3", "CONFIRM=yes", "WORK=older");
    cr_expect_eq(r.status, 0, "%s", r.err);
    holds("deep/older.before-1/online_softmax.c", "mine");
}

Test(command_exercise, a_mount_point_is_not_moved) {
    char command[600], printed[2000];
    snprintf(command, sizeof command,
             "cd %s && mkdir m && unshare -rm sh -c 'mount -t tmpfs none m && echo 3 >m/.tandem-exercise && "
             "./tandem exercise reset LESSON=3 WORK=m CONFIRM=yes; echo ended $?' 2>&1",
             home);
    if (support_shell(command, printed, sizeof printed) != 0) cr_skip_test("SKIP: nothing can be mounted here");
    cr_expect(strstr(printed, "WORK=m: is a mount point; must be") && strstr(printed, "ended 2"), "%s", printed);
    cr_expect_eq(support_entries(support_path(home, "m")), 0);
}

Test(command_exercise, hints_come_one_after_the_other) {
    support_result r;
    support_tandem(&at_home, &r, "exercise", "hint", "LESSON=3");
    support_refused(&r, 2, "mine/lesson-3: there is no such folder; make exercise-3 starts");
    cr_expect_not(is_there("mine"));
    support_tandem(&at_home, &r, "exercise", "start", "LESSON=3");
    support_tandem(&at_home, &r, "exercise", "hint", "LESSON=3");
    cr_expect_str_eq(r.out, "hint 1 of 2\n\nthink\n");
    support_tandem(&at_home, &r, "exercise", "hint", "LESSON=3", "HINT=1");
    cr_expect_str_eq(r.out, "hint 1 of 2\n\nthink\n");
    support_tandem(&at_home, &r, "exercise", "hint", "LESSON=3");
    cr_expect_str_eq(r.out, "hint 2 of 2\n\nthink again\n");
    support_tandem(&at_home, &r, "exercise", "hint", "LESSON=3");
    cr_expect(strstr(r.out, "all 2 hints were shown"), "%s", r.out);
    support_tandem(&at_home, &r, "exercise", "hint", "LESSON=3", "HINT=3");
    support_refused(&r, 2, "HINT=3: lesson 3 has hints 1 to 2");
    support_tandem(&at_home, &r, "exercise", "hint", "LESSON=3", "HINT=0");
    support_refused(&r, 2, "HINT=0: must be");
    plant("mine/lesson-3.hints", "garbage");
    support_tandem(&at_home, &r, "exercise", "hint", "LESSON=3");
    cr_expect_str_eq(r.out, "hint 1 of 2\n\nthink\n");
}

/* The answer, typed on a terminal of its own; the exit status. */
static int typed(const char *answer, char *printed, size_t size) {
    char program[PATH_MAX];
    int terminal;
    support_program(program);
    pid_t pid = forkpty(&terminal, NULL, NULL, NULL);
    if (pid == 0) {
        support_become(&at_home);
        execl(program, program, "exercise", "solution", "LESSON=3", (char *)NULL);
        _exit(127);
    }
    cr_assert_gt(pid, 0);
    cr_assert_eq(write(terminal, answer, strlen(answer)), (ssize_t)strlen(answer));
    size_t used = 0;
    for (ssize_t n = 1; n > 0 && used + 1 < size; used += n > 0 ? (size_t)n : 0)
        n = read(terminal, printed + used, size - 1 - used);
    printed[used] = '\0';
    int status;
    waitpid(pid, &status, 0);
    close(terminal);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Test(command_exercise, the_solution_takes_a_yes) {
    support_result r;
    char printed[4096];
    support_tandem(&at_home, &r, "exercise", "solution", "LESSON=3");
    support_refused(&r, 2, "CONFIRM: not given");
    support_tandem(&at_home, &r, "exercise", "solution", "LESSON=3", "CONFIRM=yes");
    cr_expect(r.status == 0 && strstr(r.out, "/* the answer */"), "%s", r.out);
    cr_expect_eq(typed("no\n", printed, sizeof printed), 2);
    cr_expect_not(strstr(printed, "the answer"), "%s", printed);
    cr_expect_eq(typed("yes\n", printed, sizeof printed), 0);
    cr_expect(strstr(printed, "the answer"), "%s", printed);
}

Test(command_exercise, says_what_is_legal) {
    support_result r;
    support_tandem(&at_home, &r, "exercise", "start");
    support_refused(&r, 2, "LESSON: not given");
    support_tandem(&at_home, &r, "exercise", "start", "LESSON=x");
    support_refused(&r, 2, "LESSON=x: must be an integer from 1 to 7");
    support_tandem(&at_home, &r, "exercise", "start", "LESSON=8");
    support_refused(&r, 2, "LESSON=8: must be an integer from 1 to 7");
    support_tandem(&at_home, &r, "exercise", "start", "LESSON=4");
    support_refused(&r, 2, "lesson 4 has no exercise here");
    support_tandem(&at_home, &r, "exercise", "start", "LESSON=3", "HINT=2");
    support_refused(&r, 2, "'HINT=2': no such option; legal are LESSON, WORK");
    support_tandem(&at_home, &r, "exercise", "finish", "LESSON=3");
    support_refused(&r, 2, "'finish': no such action; legal are start, ");
    support_tandem(&at_home, &r, "exercise");
    support_refused(&r, 2, "no such action");
    cr_expect_not(is_there("mine"));
}

/* What the repository itself hands out. Its exercises are found from the tests' own folder. */
Test(exercises, each_lesson_has_one_that_is_whole) {
    static const char *const parts[] = {"README.md", "hints.md", "rubric", "solution"};
    char printed[4096];
    for (int n = 1; n <= 7; n++) {
        char command[256], folder[256];
        snprintf(command, sizeof command, "printf %%s lessons/0%d_*/exercise", n);
        cr_assert_eq(support_shell(command, folder, sizeof folder), 0);
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            cr_expect_eq(access(support_path(folder, parts[i]), R_OK), 0, "%s/%s", folder, parts[i]);
        snprintf(command, sizeof command, "grep -c '`rubric`\\|make exercise-%d \\|make check-%d ' %.80s/README.md", n,
                 n, folder);
        support_shell(command, printed, sizeof printed);
        cr_expect_eq(atoi(printed), 3, "%s: its README says how it is graded, and with which commands", folder);
        snprintf(command, sizeof command, "ls %.80s/*.c* | wc -l", folder);
        support_shell(command, printed, sizeof printed);
        cr_expect_geq(atoi(printed), 1, "%s: a skeleton", folder);
        support_result r;
        snprintf(command, sizeof command, "LESSON=%d", n);
        support_tandem(NULL, &r, "exercise", "hint", command, "HINT=2");
        cr_expect_eq(r.status, 0, "two hints at least: %s", r.err);
    }
}
