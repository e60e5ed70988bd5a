/* A mistake is named when it explains everything, and never otherwise. */
#include "../../../checks/grade/suspects.h"
#include "../../support.h"

/* What a suspect says of a case: fits, differs. */
typedef struct view {
    int fits, differs;
} view;

/* Cases with whether they failed, and the views of suspects a, b, … in each. Returns the names of the named: "ac". */
static const char *named(int suspects, int cases, const int *failed, const view *views) {
    static const char *const names[] = {"a", "b", "c", "d"};
    static char said[8];
    td_suspects s = {0};
    const td_suspect *found[8];
    for (int i = 0; i < suspects; i++) cr_assert_eq(td_suspects_enter(&s, names[i], "text"), i);
    for (int c = 0; c < cases; c++) {
        td_suspects_case(&s, failed[c]);
        for (int i = 0; i < suspects; i++)
            if (views[c * suspects + i].fits >= 0)
                td_suspects_view(&s, i, views[c * suspects + i].fits, views[c * suspects + i].differs);
    }
    said[0] = '\0';
    int n = td_suspects_named(&s, found, 8);
    for (int i = 0; i < n; i++) strcat(said, found[i]->name);
    cr_expect_eq(s.cases, cases);
    return said;
}

Test(suspects, one_that_fits_all_is_named) {
    const int failed[] = {1, 0, 1};
    const view views[] = {{1, 1}, {0, 1}, {1, 0}, {1, 0}, {1, 1}, {0, 1}};
    cr_expect_str_eq(named(2, 3, failed, views), "a");
}

Test(suspects, one_that_misses_a_case_is_not) {
    const int failed[] = {1, 1, 0};
    const view missed_failure[] = {{1, 1}, {0, 1}, {1, 0}}, missed_success[] = {{1, 1}, {1, 1}, {0, 1}};
    cr_expect_str_eq(named(1, 3, failed, missed_failure), "");
    cr_expect_str_eq(named(1, 3, failed, missed_success), "");
}

Test(suspects, all_that_fit_are_named) {
    const int failed[] = {1, 0};
    const view views[] = {{1, 1}, {1, 1}, {0, 1}, {1, 0}, {1, 0}, {1, 0}};
    cr_expect_str_eq(named(3, 2, failed, views), "ab");
}

Test(suspects, none_is_unknown) {
    const int failed[] = {1, 1};
    const view views[] = {{0, 1}, {1, 1}, {1, 1}, {0, 1}}; /* each explains one: two mistakes at once */
    cr_expect_str_eq(named(2, 2, failed, views), "");
}

/* It differs from nothing, so it cannot explain; and where no case failed there is nothing to explain. */
Test(suspects, the_right_answer_is_never_named) {
    const int failed[] = {1, 0}, fine[] = {0, 0};
    const view right[] = {{0, 0}, {1, 0}}, within_both[] = {{1, 0}, {1, 0}}, telling[] = {{1, 1}, {1, 1}};
    cr_expect_str_eq(named(1, 2, failed, right), "");
    cr_expect_str_eq(named(1, 2, failed, within_both), "");
    cr_expect_str_eq(named(1, 2, fine, telling), "");
    cr_expect_str_eq(named(1, 0, fine, telling), "");
}

/* A failed case of which nothing is said is not explained: −1 here is no view at all. */
Test(suspects, silence_explains_nothing) {
    const int failed[] = {1, 1, 0};
    const view on_failure[] = {{1, 1}, {-1, 0}, {1, 0}}, on_success[] = {{1, 1}, {1, 1}, {-1, 0}};
    cr_expect_str_eq(named(1, 3, failed, on_failure), "");
    cr_expect_str_eq(named(1, 3, failed, on_success), "a");
}

Test(suspects, a_name_is_entered_once_and_a_full_list_refuses) {
    static char names[TD_SUSPECTS + 1][8];
    td_suspects s = {0};
    for (int i = 0; i <= TD_SUSPECTS; i++) snprintf(names[i], sizeof names[i], "s%d", i);
    for (int i = 0; i < TD_SUSPECTS; i++) cr_expect_eq(td_suspects_enter(&s, names[i], ""), i);
    cr_expect_eq(td_suspects_enter(&s, "s5", ""), 5);
    cr_expect_eq(td_suspects_enter(&s, names[TD_SUSPECTS], ""), -1);
    td_suspects_case(&s, 1);
    td_suspects_view(&s, -1, 1, 1); /* of a suspect that was refused */
    td_suspects_view(&s, 3, 1, 1);
    const td_suspect *found[1];
    cr_expect_eq(td_suspects_named(&s, found, 1), 1);
    cr_expect_str_eq(found[0]->name, "s3");
    cr_expect_eq(td_suspects_named(&s, found, 0), 0);
}

Test(suspects, it_is_known_in_which_checks_one_shows) {
    td_suspects s = {0};
    td_suspects_enter(&s, "a", "text");
    for (s.line = 0; s.line < 32; s.line++) {
        td_suspects_case(&s, s.line % 2);
        td_suspects_view(&s, 0, 1, s.line > 28 || s.line == 3);
    }
    cr_expect_eq(s.suspect[0].told, (uint32_t)1 << 3 | (uint32_t)1 << 29 | (uint32_t)1 << 31);
}
