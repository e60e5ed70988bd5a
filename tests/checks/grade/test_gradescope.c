/* What Gradescope is given: the zip holds what is needed, and run_autograder leaves a valid result whatever happens. */
#include "../../support.h"

static char home[64], printed[65536];

static int shell(const char *format, ...) {
    char command[2048], inside[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(inside, sizeof inside, format, args);
    va_end(args);
    snprintf(command, sizeof command, "{ %s; } 2>&1", inside);
    return support_shell(command, printed, sizeof printed);
}

static void set_up(void) {
    support_folder(home);
    if (shell("python3 -c ''") != 0) cr_skip_test("no python3, which packs the zip");
}

static void tear_down(void) {
    support_folder_remove(home);
}

TestSuite(gradescope, .init = set_up, .fini = tear_down);

Test(gradescope, refuses_what_cannot_be_packed) {
    static const char *const wrong[][2] = {{"", "LESSON=: must be one of 1 2"},
                                           {"LESSON=9", "LESSON=9: must be one of"},
                                           {"LESSON='1 2'", "LESSON=1 2: must be one of"},
                                           {"LESSON=2 SECRET=x", "SECRET=x: must be an integer"},
                                           {"LESSON=2 COLOUR=red", "'COLOUR=red': no such option"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_expect_eq(shell("sh checks/grade/gradescope/pack.sh OUT=%s %s", home, wrong[i][0]), 2, "%s", printed);
        cr_expect(strstr(printed, wrong[i][1]), "%s", printed);
        cr_expect_eq(support_entries(home), 0);
    }
}

/* In a folder that stands for /autograder, a program `does` what it should instead of grading. */
static void autograde(const char *does) {
    char *program = NULL;
    cr_assert_gt(asprintf(&program, "#!/bin/sh\necho \"$@\" >%s/given\n%s\n", home, does), 0);
    const char *path = support_path(home, "source/tandem/build/tandem");
    support_write(path, program, strlen(program));
    free(program);
    chmod(path, 0755);
    cr_expect_eq(shell("AUTOGRADER=%s sh %s/source/run_autograder", home, home), 0, "%s", printed);
    cr_assert_eq(shell("python3 -m json.tool --compact %s/results/results.json", home), 0, "%s", printed);
}

Test(gradescope, the_result_is_valid_whatever_happens) {
    cr_assert_eq(shell("sh checks/grade/gradescope/pack.sh LESSON=2 SECRET=5 OUT=%s", home), 0, "%s", printed);
    cr_assert_eq(shell("mkdir %s/source && cd %s/source && python3 -m zipfile -e ../gradescope-lesson-2.zip . && "
                       "mkdir tandem/build && cat grading && ls setup.sh commit tandem/Makefile tandem/checks/build.mk "
                       "tandem/include/tandem/tandem.h tandem/lessons/02_roofline/exercise/solution/roofline.c",
                       home, home),
                 0, "%s", printed);
    cr_expect(strstr(printed, "LESSON=2 SECRET=5\n"), "%s", printed);
    autograde("kill -9 $$");
    cr_expect(strstr(printed, "\"score\":0") && strstr(printed, "exit status 137") && strstr(printed, "no fault of"),
              "%s", printed);
    char expected[256], *given = support_read(support_path(home, "given"));
    snprintf(expected, sizeof expected, "grade LESSON=2 SECRET=5 SUBMISSION=%s/submission OUT=%s/results\n", home,
             home);
    cr_expect_str_eq(given, expected);
    free(given);
    autograde("echo '{\"score\":7}' >\"${5#OUT=}/results.json\"; kill -9 $$");
    cr_expect_str_eq(printed, "{\"score\":7}\n", "what was earned before it died is kept");
    autograde("exit 3");
    cr_expect(strstr(printed, "\"score\":0"), "an older result is not taken for this one: %s", printed);
}
