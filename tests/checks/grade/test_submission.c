/* Folders of submissions, whose names are strangers'; and the grader's private one. */
#include "../../../checks/grade/scratch.h"
#include "../../../checks/grade/submission.h"
#include "graded.h"
#include <signal.h>

Test(submission, folders_of_submissions) {
    char folder[64], path[4096], in[4096], said[600];
    td_error err = {TD_OK, ""};
    support_folder(folder);
    cr_expect_eq(td_submission_open(support_path(folder, "no\nne"), path, &err), TD_BAD_PARAM);
    cr_expect(strstr(err.message, "no?ne: must be a folder"), "%s", err.message);
    cr_assert_eq(td_submission_open(folder, path, &err), TD_OK);
    cr_expect_not(td_submission_holds(path, &graded_exercise, in));
    td_submission_lacks(path, &graded_exercise, said, (int)sizeof said);
    cr_expect_str_eq(said, "no online_softmax.c, no kernels.cu; the folder is empty");
    support_write(support_path(folder, "b\x1b.c"), "", 0);
    td_submission_lacks(path, NULL, said, (int)sizeof said);
    cr_expect_str_eq(said, "no exercise's file is there; the folder holds b?.c");
    cr_expect_eq(td_submission_open(support_path(folder, "b\x1b.c"), path, &err), TD_BAD_PARAM);
    cr_assert_eq(td_submission_open(folder, path, &err), TD_OK);
    support_write(support_path(folder, "kernels.cu"), "", 0);
    cr_expect(td_submission_holds(path, &graded_exercise, in));
    cr_expect_str_eq(in, path);
    /* a link to elsewhere is no folder of the exercise */
    cr_assert_eq(symlink("/tmp", support_path(folder, "lesson-3")), 0);
    cr_expect(td_submission_holds(path, &graded_exercise, in));
    cr_expect_str_eq(in, path);
    cr_assert_eq(unlink(support_path(folder, "lesson-3")), 0);
    cr_assert_eq(mkdir(support_path(folder, "lesson-3"), 0700), 0);
    cr_expect_not(td_submission_holds(path, &graded_exercise, in));
    cr_expect_str_eq(in, support_path(path, "lesson-3"));
    for (int i = 0; i < 60; i++) {
        char name[64];
        snprintf(name, sizeof name, "a-rather-long-name-of-a-file-%d", i);
        support_write(support_path(folder, name), "", 0);
    }
    td_submission_lacks(path, &graded_exercise, said, (int)sizeof said);
    cr_expect(strlen(said) < sizeof said && !strcmp(said + strlen(said) - strlen(", …"), ", …"), "%s", said);
    support_folder_remove(folder);
}

static int is_empty_soon(const char *folder) {
    for (int i = 0; i < 1000 && support_entries(folder); i++) usleep(10000);
    return support_entries(folder) == 0;
}

/* A grader that dies, of whatever, is seen by its watcher. One that is killed with its watcher leaves its folder; the
 * next grader removes it, and no other's. */
Test(submission, the_private_folder_is_left_by_nobody) {
    char folder[64];
    struct stat st;
    td_error err = {TD_OK, ""};
    td_scratch mine, next;
    support_folder(folder);
    setenv("TMPDIR", folder, 1);
    for (int both = 0; both < 2; both++) {
        pid_t pid = fork();
        if (pid == 0) {
            td_scratch lost;
            if (td_scratch_make(&lost, &err) != TD_OK || mkdir(support_path(lost.path, "deep"), 0700) != 0) _exit(1);
            symlink(folder, support_path(lost.path, "deep/link"));
            if (both) kill(lost.watcher, SIGKILL), waitpid(lost.watcher, NULL, 0);
            raise(both ? SIGKILL : SIGTERM);
        }
        int status;
        cr_assert_eq(waitpid(pid, &status, 0), pid);
        cr_assert(WIFSIGNALED(status));
        if (both)
            cr_assert_eq(support_entries(folder), 1);
        else
            cr_assert(is_empty_soon(folder));
    }
    mkdir(support_path(folder, "another"), 0700);
    cr_assert_eq(td_scratch_make(&mine, &err), TD_OK, "%s", err.message);
    cr_expect_eq(support_entries(folder), 2, "another, and mine");
    cr_assert_eq(stat(mine.path, &st), 0);
    cr_expect_eq(st.st_mode & 0777, 0700);
    cr_assert_eq(td_scratch_make(&next, &err), TD_OK);
    cr_expect_eq(access(mine.path, F_OK), 0, "held as long as I live");
    td_scratch_remove(&next);
    td_scratch_remove(&mine);
    td_scratch_remove(&mine);
    cr_expect_eq(support_entries(folder), 1);
    cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1, "the watchers have ended too");
    cr_assert_eq(chdir(folder), 0);
    setenv("TMPDIR", "another", 1);
    cr_assert_eq(td_scratch_make(&mine, &err), TD_OK, "%s", err.message);
    cr_expect_eq(mine.path[0], '/', "a compiler's folder is another: %s", mine.path);
    td_scratch_remove(&mine);
    setenv("TMPDIR", support_path(folder, "none"), 1);
    cr_expect_eq(td_scratch_make(&mine, &err), TD_IO);
    unsetenv("TMPDIR");
    support_folder_remove(folder);
}
