/* Submissions that compile, that do not, and that would have the compiler do what it must not. */
#include "../../../checks/grade/build_files.h"
#include "probe.h"
#include <sys/socket.h>
#include <sys/un.h>

static const char *const head = "#include \"tandem/tensor.h\"\n#include \"tandem/status.h\"\n#include <stdint.h>\n";
static const char *const body =
    "td_status probe(uint32_t what, const td_tensor *x, const td_tensor *y, td_error *err) {\n"
    "    (void)what; (void)x; (void)y; (void)err;\n    return TD_OK;\n}\n";

/* The parts of a submission, and what its compilation comes to. */
static void built(const td_sandbox *sandbox, const char *folder, const char *before, td_built outcome,
                  const char *said) {
    char text[4096];
    td_program program;
    snprintf(text, sizeof text, "%s%s%s", head, before, body);
    probe_build(&program, sandbox, folder, text);
    cr_expect_eq(program.outcome, outcome, "%s: %s", before, program.messages);
    cr_expect(strstr(program.messages, said), "%s: '%s'", before, program.messages);
    cr_expect_null(strstr(program.messages, folder), "%s", program.messages);
    cr_expect_null(strstr(program.messages, "/tandem-grade-"), "%s", program.messages);
    cr_expect_null(strstr(program.messages, "root:"), "%s", program.messages);
    td_program_free(&program);
}

static void refused(const td_sandbox *sandbox, const char *folder, const char *file, const char *said) {
    built(sandbox, folder, "", TD_BUILD_FAILED, said);
    cr_assert_eq(remove(file), 0);
}

/* The compiler is made to read what is not the submission's. */
static void reads_nothing(const td_sandbox *sandbox, const char *folder) {
    char path[PATH_MAX], text[PATH_MAX + 64];
    td_error err;
    built(sandbox, folder, "#include \"/etc/passwd\"\n", TD_BUILD_FAILED, "probe.c:4:10: fatal error");
    built(sandbox, folder, "#include \"/dev/zero\"\n", TD_BUILD_FAILED, "probe.c:4:10: fatal error");
    built(sandbox, folder, "__asm__(\".incbin \\\"/etc/passwd\\\"\");\n", TD_BUILD_FAILED, "file not found");
    cr_assert_eq(td_resource_find("checks/compare.h", path, sizeof path, &err), TD_OK);
    cr_assert_eq(access(path, R_OK), 0);
    snprintf(text, sizeof text, "#include \"%s\"\n", path);
    built(sandbox, folder, text, TD_BUILD_FAILED, "probe.c:4:10: fatal error");
}

static void in_tier(td_tier tier) {
    char folder[64];
    td_sandbox sandbox = probe_sandbox(tier);
    support_folder(folder);
    built(&sandbox, folder, "", TD_BUILT, "");
    if (sandbox.fenced) reads_nothing(&sandbox, folder);
    support_folder_remove(folder);
    probe_all_gone();
}

/* Whoever grades, root or not: the reason is the submission's. */
Test(grade_build, what_may_not_be_read) {
    static const td_part part = {"probe.c", "probe"};
    static td_words sources;
    char folder[64], from[PATH_MAX], to[PATH_MAX];
    td_error err = {TD_OK, ""};
    support_folder(folder);
    cr_assert_eq(chmod(folder, 0777), 0);
    snprintf(from, sizeof from, "%s", support_path(folder, "a.h")),
        snprintf(to, sizeof to, "%s", support_path(folder, "b"));
    support_write(from, "", 0);
    cr_assert_eq(chmod(from, 0), 0);
    if (geteuid() == 0) cr_assert_eq(seteuid(65534), 0);
    cr_expect_eq(td_build_copy(from, to, 1, &err), TD_BAD_PARAM);
    cr_expect_str_eq(err.message, "a.h cannot be read: Permission denied");
    if (getuid() == 0) cr_assert_eq(seteuid(0), 0);
    cr_assert_eq(chmod(folder, 0), 0);
    if (geteuid() == 0) cr_assert_eq(seteuid(65534), 0);
    cr_expect_eq(td_build_sources(&part, NULL, folder, folder, &sources, &err), TD_BAD_PARAM);
    cr_expect_str_eq(err.message, "the folder cannot be read: Permission denied");
    if (getuid() == 0) cr_assert_eq(seteuid(0), 0);
    cr_assert_eq(chmod(folder, 0700), 0);
    support_folder_remove(folder);
}

/* What is the same in every tier. */
Test(grade_build, what_is_handed_in) {
    char folder[64];
    td_sandbox sandbox = probe_sandbox(TD_TIER_NONE);
    support_folder(folder);
    built(&sandbox, folder, "static int unused;\n", TD_BUILT, "probe.c:4:12: warning");
    built(&sandbox, folder, "int x = y;\n", TD_BUILD_FAILED, "probe.c:4:9: error");
    built(&sandbox, folder, "int main(void) { return 0; }\n", TD_BUILD_FAILED, "main");
    built(&sandbox, folder, "#include \"../../../checks/compare.h\"\n", TD_BUILD_FAILED, "probe.c:4:10: fatal error");

    char more[128], odd[128];
    snprintf(more, sizeof more, "%s/submission/more.c", folder);
    snprintf(odd, sizeof odd, "%s/submission/-o x.c", folder);
    support_write(more, "int more(void) { return 1; }\n", 29);
    built(&sandbox, folder, "int more(void);\nint (*const uses)(void) = more;\n", TD_BUILT, "");
    cr_assert_eq(remove(more), 0);
    cr_assert_eq(symlink("/etc/passwd", more), 0);
    refused(&sandbox, folder, more, "more.c is a symbolic link");
    cr_assert_eq(mkfifo(more, 0644), 0);
    refused(&sandbox, folder, more, "more.c is not a regular file");
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(name.sun_path, sizeof name.sun_path, "%.100s", more);
    cr_assert_eq(bind(server, (struct sockaddr *)&name, sizeof name), 0);
    close(server);
    refused(&sandbox, folder, more, "more.c is not a regular file");
    char *large = calloc(1, (1 << 20) + 1);
    support_write(more, large, (1 << 20) + 1);
    free(large);
    refused(&sandbox, folder, more, "more.c has more than 1048576 bytes");
    support_write(odd, "", 0);
    refused(&sandbox, folder, odd, "a file's name");

    support_folder_remove(folder);
    probe_all_gone();
}

Test(grade_build, in_bubblewrap) {
    in_tier(TD_TIER_BUBBLEWRAP);
}
Test(grade_build, under_a_second_uid) {
    in_tier(TD_TIER_SECOND_UID);
}
Test(grade_build, without_a_sandbox) {
    in_tier(TD_TIER_NONE);
}

Test(grade_build, what_is_not_there_is_named) {
    static const td_part part = {"probe.c", "probe"};
    char folder[64];
    td_program program;
    td_error err;
    td_sandbox sandbox = {.tier = TD_TIER_NONE};
    support_folder(folder);
    cr_assert_eq(td_program_build(&program, &sandbox, &part, NULL, folder, folder, 0, &err), TD_OK);
    cr_expect_eq(program.outcome, TD_NOT_THERE);
    cr_expect_str_eq(program.messages, "probe.c is not there");
    cr_expect_eq(support_entries(folder), 0);
    td_program_free(&program);
    support_folder_remove(folder);
}

/* Another part's file is no business of this one. */
Test(grade_build, other_parts_are_left_alone) {
    static const td_part part = {"probe.c", "probe"};
    static const char *const others[] = {"other.c", NULL};
    char folder[64];
    td_program program;
    td_error err;
    td_sandbox sandbox = probe_sandbox(TD_TIER_NONE);
    support_folder(folder);
    const char *submission = support_path(folder, "submission");
    mkdir(submission, 0755);
    char text[1024];
    snprintf(text, sizeof text, "%s%s", head, body);
    support_write(support_path(submission, "probe.c"), text, strlen(text));
    support_write(support_path(submission, "other.c"), "no C at all\n", 12);
    cr_assert_eq(td_program_build(&program, &sandbox, &part, others, submission, folder, 0, &err), TD_OK);
    cr_expect_eq(program.outcome, TD_BUILT, "%s", program.messages);
    td_program_free(&program);
    cr_assert_eq(td_program_build(&program, &sandbox, &part, NULL, submission, folder, 0, &err), TD_OK);
    cr_expect_eq(program.outcome, TD_BUILD_FAILED);
    td_program_free(&program);
    support_folder_remove(folder);
}
