/* Rubrics: read, refused with the line, and the share of points for a ratio. */
#include "../../../checks/grade/rubric.h"
#include "graded.h"
#include <criterion/parameterized.h>

static td_status read_text(const char *text, td_rubric *out, td_error *err) {
    char folder[64];
    support_folder(folder);
    const char *path = support_path(folder, "rubric");
    support_write(path, text, strlen(text));
    td_status s = td_rubric_read(out, &graded_exercise, path, err);
    support_folder_remove(folder);
    return s;
}

Test(rubric, is_read) {
    td_rubric r;
    td_error err = {TD_OK, ""};
    cr_assert_eq(read_text("# name points title\n\n  ragged\t20.5  lengths  that fit # none\r\nshapes 0 a\n"
                           "kernels 20 k\nspeed 10 full 1.0 none 0.25: as fast: yes\nfast 5 full 2 none 0: f",
                           &r, &err),
                 TD_OK, "%s", err.message);
    cr_assert_eq(r.n, 5);
    cr_expect_str_eq(r.line[0].name, "ragged");
    cr_expect_str_eq(r.line[0].title, "lengths  that fit # none");
    cr_expect_eq(r.line[0].points, 20.5);
    cr_expect_eq(r.line[0].full, 0);
    cr_expect_eq(r.line[3].full, 1.0);
    cr_expect_eq(r.line[3].none, 0.25);
    cr_expect_str_eq(r.line[3].title, "as fast: yes");
    cr_expect_eq(r.points, 55.5);
}

struct refused {
    char text[160], said[100];
};

ParameterizedTestParameters(rubric, is_refused) {
    static struct refused all[] = {
        {"shapes 1 a\nraggedy 1 b\n", "rubric:2: the exercise has no check called 'raggedy'"},
        {"shapes 1 a\nshapes 1 b\n", "rubric:2: stands here twice: 'shapes'"},
        {"shapes 1 a\nragged 1 b\nspeed 1 s\nfast 1 f\n", "no line for the check 'kernels'"},
        {"shapes -1 a\n", "rubric:1: points must be a number from 0 to 1000000, not '-1'"},
        {"shapes nan a\n", "points must be a number from 0 to 1000000, not 'nan'"},
        {"shapes inf a\n", "points must be a number from 0 to 1000000, not 'inf'"},
        {"shapes 1x a\n", "points must be a number from 0 to 1000000, not '1x'"},
        {"shapes\n", "points must be a number from 0 to 1000000, not ''"},
        {"shapes 1\n", "rubric:1: what does it ask?"},
        {"shapes 1 \t \n", "rubric:1: what does it ask?"},
        {"speed 1 full 1 none 0.5 as fast\n", "a ':' must stand"},
        {"speed 1 full 1: as fast\n", "must read 'full F none N:'"},
        {"speed 1 full 1 none 0.5 x: as fast\n", "must read 'full F none N:'"},
        {"speed 1 full 1 none -2: as fast\n", "none: must be a number of 0 or more, not '-2'"},
        {"speed 1 full 0.5 none 0.5: as fast\n", "full: must be above none"},
        {"speed 1 full nan none 0.5: as fast\n", "full: must be a number above none, not 'nan'"},
        {"speed 1 s\nshapes 1 a\nragged 1 b\nkernels 1 k\nfast 1 f\n",
         "rubric:1: must stand behind the checks of correctness: 'speed'"},
        {"\x1b[31m 1 a\n", "'?[31m'"},
        {"shapes 1000001 a\n", "points must be a number from 0 to 1000000, not '1000001'"},
        {"# none\nshapes 1 full 1 none 0.5: a\n", "rubric:2: full and none are for a check that measures a ratio"},
        {"", "rubric: no line for the check 'shapes'"},
    };
    return cr_make_param_array(struct refused, all, sizeof all / sizeof *all);
}

ParameterizedTest(struct refused *refused, rubric, is_refused) {
    td_rubric r;
    td_error err = {TD_OK, ""};
    cr_expect_eq(read_text(refused->text, &r, &err), TD_BAD_PARAM);
    cr_expect(strstr(err.message, refused->said), "'%s' in '%s'", refused->said, err.message);
}

Test(rubric, a_file_that_is_not_there_is_refused) {
    td_rubric r;
    td_error err = {TD_OK, ""};
    cr_expect_eq(td_rubric_read(&r, &graded_exercise, "/nowhere/rubric", &err), TD_BAD_PARAM);
    cr_expect(strstr(err.message, "/nowhere/rubric: cannot be read"), "%s", err.message);
    cr_expect_eq(td_rubric_read(&r, &graded_exercise, "/tmp", &err), TD_BAD_PARAM);
}

Test(rubric, share_is_linear_between_none_and_full) {
    const td_rubric_line line = {.full = 1, .none = 0.25}, no_ratio = {.points = 3};
    cr_expect_eq(td_rubric_share(&line, 1), 1);
    cr_expect_eq(td_rubric_share(&line, 7), 1);
    cr_expect_eq(td_rubric_share(&line, INFINITY), 1);
    cr_expect_eq(td_rubric_share(&line, 0.625), 0.5);
    cr_expect_eq(td_rubric_share(&line, 0.25), 0);
    cr_expect_eq(td_rubric_share(&line, 0.1), 0);
    cr_expect_eq(td_rubric_share(&line, -1), 0);
    cr_expect_eq(td_rubric_share(&line, NAN), 0);
    cr_expect_eq(td_rubric_share(&no_ratio, 0), 1);
}
