/* Complete or absent: what a file may replace, and what it may not. */
#include "../../checks/file.h"
#include "../support.h"

static td_status write_one(const char *path, td_error *err) {
    td_file file;
    td_status status = td_file_create(&file, path, err);
    if (status != TD_OK) return status;
    fputs("new\n", file.stream);
    status = td_file_finish(&file, err);
    return status == TD_OK ? td_file_publish(&file, err) : status;
}

Test(file, a_link_is_followed_not_replaced) {
    char folder[64];
    support_folder(folder);
    const char *path = support_path(folder, "file"), *link = support_path(folder, "link");
    support_write(path, "old\n", 4);
    cr_assert_eq(symlink("file", link), 0);
    cr_assert_eq(write_one(link, NULL), TD_OK);
    struct stat st;
    cr_assert(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
    char *text = support_read(path);
    cr_assert_str_eq(text, "new\n");
    free(text);
    support_folder_remove(folder);
}

Test(file, what_is_no_regular_file_is_refused) {
    td_error err = {0};
    char folder[64];
    support_folder(folder);
    cr_expect_eq(write_one("/dev/null", &err), TD_IO);
    cr_expect_str_eq(err.message, "/dev/null: cannot be written: it is not a regular file");
    cr_expect_eq(write_one(folder, &err), TD_IO);
    cr_expect_eq(write_one("", &err), TD_IO);
    cr_expect_eq(write_one(support_path(folder, "no/such/folder"), &err), TD_IO);
    cr_expect(strstr(err.message, "No such file or directory"), "%s", err.message);
    const char *file = support_path(folder, "file");
    support_write(file, "", 0);
    cr_expect_eq(write_one(support_path(file, "below"), &err), TD_IO);
    cr_expect(strstr(err.message, "Not a directory"), "%s", err.message);
    char name[PATH_MAX + 10];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    cr_expect_eq(write_one(name, &err), TD_IO);
    cr_expect_null(strchr(err.message, '\n'));
    cr_expect_eq(support_entries(folder), 1);
    support_folder_remove(folder);
}

Test(file, discard_leaves_nothing) {
    char folder[64];
    support_folder(folder);
    td_file file;
    cr_assert_eq(td_file_create(&file, support_path(folder, "x"), NULL), TD_OK);
    fputs("half", file.stream);
    cr_assert_eq(support_entries(folder), 1);
    td_file_discard(&file);
    td_file_discard(&file);
    cr_assert_eq(support_entries(folder), 0);
    support_folder_remove(folder);
}

Test(file, folders_are_made_with_those_above) {
    char folder[64];
    support_folder(folder);
    td_error err = {0};
    cr_assert_eq(td_folder_make(support_path(folder, "a/b//c/"), &err), TD_OK, "%s", err.message);
    cr_assert_eq(td_folder_make(support_path(folder, "a/b/c"), NULL), TD_OK);
    support_write(support_path(folder, "a/file"), "", 0);
    cr_assert_eq(td_folder_make(support_path(folder, "a/file/d"), &err), TD_IO);
    cr_assert(strstr(err.message, "cannot be made: Not a directory"), "%s", err.message);
    cr_assert_eq(td_folder_make(support_path(folder, "a/file"), &err), TD_IO);
    support_folder_remove(folder);
}

Test(file, a_probe_leaves_nothing_behind) {
    char folder[64];
    support_folder(folder);
    td_error err = {0};
    cr_expect_eq(td_folder_probe(support_path(folder, "a/b//c/"), &err), TD_OK, "%s", err.message);
    cr_expect_eq(support_entries(folder), 0);
    cr_expect_eq(mkdir(support_path(folder, "a"), 0777), 0);
    cr_expect_eq(td_folder_probe(support_path(folder, "a/b"), NULL), TD_OK);
    cr_expect_eq(support_entries(support_path(folder, "a")), 0, "what was there stays, what was not is gone");
    cr_expect_eq(td_folder_probe(support_path(folder, "a"), NULL), TD_OK);
    cr_expect_eq(support_entries(folder), 1);
    support_write(support_path(folder, "file"), "", 0);
    cr_expect_eq(td_folder_probe(support_path(folder, "file/b"), &err), TD_IO);
    cr_expect_eq(td_folder_probe("/proc/none", &err), TD_IO);
    cr_expect_str_eq(err.message, "/proc/none: cannot be made: No such file or directory");
    cr_expect_eq(td_folder_probe("", &err), TD_IO);
    support_folder_remove(folder);
}

Test(file, what_lies_within_a_folder) {
    char folder[64];
    support_folder(folder);
    mkdir(support_path(folder, "in"), 0755);
    cr_assert_eq(symlink("in", support_path(folder, "link")), 0);
    cr_expect(td_path_within(folder, folder));
    cr_expect(td_path_within(support_path(folder, "in/not/there/yet"), support_path(folder, "link")));
    cr_expect(td_path_within(support_path(folder, "link/new"), support_path(folder, "in")));
    cr_expect(td_path_within("new", "."));
    cr_expect_not(td_path_within("new", folder));
    cr_expect_not(td_path_within(support_path(folder, "in2"), support_path(folder, "in")));
    cr_expect_not(td_path_within(folder, support_path(folder, "in")));
    cr_expect_not(td_path_within(support_path(folder, "none/x"), support_path(folder, "none")), "no such folder");
    support_folder_remove(folder);
}

Test(file, a_folder_is_locked_for_one) {
    char folder[64];
    int one, other;
    td_error err = {0};
    support_folder(folder);
    cr_assert_eq(td_folder_lock(folder, &one, &err), TD_OK);
    cr_expect_eq(td_folder_lock(folder, &other, &err), TD_IO);
    cr_expect(strstr(err.message, "another grader is at work there") && other < 0, "%s", err.message);
    close(one);
    cr_expect_eq(td_folder_lock(folder, &other, &err), TD_OK);
    close(other);
    cr_expect_eq(td_folder_lock(support_path(folder, "none"), &other, &err), TD_IO);
    support_folder_remove(folder);
}
