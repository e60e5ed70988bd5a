/* The terminal's report of a record made by hand: all is said, and nothing in it acts on the terminal. */
#include "../../../checks/text.h"
#include "graded.h"

static td_grade *grade;

static void enter(void) {
    grade = graded_record();
}

static void leave(void) {
    free(grade);
}
TestSuite(report_print, .init = enter, .fini = leave);

static char *printed(void) {
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    td_report_print(grade, out);
    fclose(out);
    cr_assert_eq(strlen(text), length);
    return text;
}

static void says(const char *text, const char *words) {
    cr_expect(strstr(text, words), "'%s' in:\n%s", words, text);
}

Test(report_print, terminal_says_all_and_stays_tame) {
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
    says(text, " mistake: the last block is left out if it is not\n                            full (tail_dropped)\n");
    says(text, "  SKIPPED             0/0   kernels: ");
    says(text, " no GPU # here\n");
    says(text, "  PARTIAL            5/10   speed: ");
    says(text, " the reference's time ÷ yours: 0.625\n");
    says(text, " median 2 ms, the reference solution's 1.25 ms, in\n");
    says(text, "  NOT RUN            0/10   fast: ");
    says(text, " only once kernels passes\n");
    says(text, "  | hello\\x07\n  | \\x1b]0;title\\xe2\\x80\\xae\n");
    cr_expect_null(strstr(text, "leaderboard"));
    cr_expect_null(strstr(text, "INCOMPLETE"));
    free(text);
}

Test(report_print, no_line_but_a_replay_is_wider_than_80) {
    strcpy(graded_lesson(grade)->result[1].message, "got NaN, want 1 where the words of a message go on and on, well "
                                                    "beyond what a terminal has places for in one line of it");
    char *text = printed();
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        cr_expect(strstr(line, "replay:") || td_text_width(line) <= 80, "%s", line);
    free(text);
}

/* What `shell` makes of the words of the report's replay line, each in <>. */
static const char *replayed(const char *shell) {
    static char words[600];
    char command[300], line[64] = "/tmp/tandem-line-XXXXXX", *text = printed(),
                       *at = strstr(text, "build/tandem grade ");
    int fd = mkstemp(line);
    cr_assert(at && fd >= 0);
    cr_assert_gt(dprintf(fd, "%.*s", (int)strcspn(at, "\n"), at), 0);
    close(fd);
    snprintf(command, sizeof command, "%s -c 'eval \"set -- $(cat %s)\"; printf \"<%%s>\" \"$@\"'", shell, line);
    cr_expect_eq(support_shell(command, words, sizeof words), 0);
    unlink(line);
    free(text);
    return words;
}

Test(report_print, a_replay_line_is_what_a_shell_makes_the_same_words_of) {
    cr_expect_str_eq(replayed("bash"), "<build/tandem><grade><SUBMISSION=work/it's \x1b[31m\nhers><LESSON=3>"
                                       "<CASE=ragged/T17 d46><SEED=7><SECRET=8811>");
    strcpy(grade->submission, "it's $HOME `x` \\ *"); /* no control character: any shell */
    cr_expect_str_eq(replayed("sh"), "<build/tandem><grade><SUBMISSION=it's $HOME `x` \\ *><LESSON=3>"
                                     "<CASE=ragged/T17 d46><SEED=7><SECRET=8811>");
}

Test(report_print, unknown_is_said_only_of_what_was_held_against_suspects) {
    graded_lesson(grade)->named = 0;
    char *text = printed();
    says(text, "mistake: unknown");
    free(text);
    graded_lesson(grade)->judged[1] = 0;
    text = printed();
    cr_expect_null(strstr(text, "mistake: unknown"));
    says(text, "mistake: not looked for in this check"); /* values are wrong, and say no more than that */
    free(text);
    graded_lesson(grade)->result[1].err_over_tol = NAN; /* wrong in words, which say why */
    text = printed();
    cr_expect_null(strstr(text, "mistake"));
    free(text);
}

Test(report_print, a_mistake_is_said_where_it_shows) {
    graded_lesson(grade)->suspect[0].told = 1 << 2;
    char *text = printed();
    cr_expect_null(strstr(text, "tail_dropped"), "%s", text);
    free(text);
}

Test(report_print, a_skeleton_is_said_to_be_one) {
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

Test(report_print, leader_and_build_and_incompleteness_are_said) {
    td_graded_lesson *l = graded_lesson(grade);
    l->leader = 1.375, strcpy(l->leader_name, "the reference's time ÷ yours");
    strcpy(l->build, "online_softmax.c:3: error: \x1b[1m\nnext line");
    for (int i = 0; i < 200; i++) strcat(l->output, i < 199 ? "x\n" : "zzz");
    grade->complete = 0, grade->sandbox = &graded_closed;
    char *text = printed();
    says(text, "  figure for the class's leaderboard, since all is correct: the reference's time\n  ÷ yours: 1.375\n");
    says(text, "  the compiler said:\n  | online_softmax.c:3: error: \\x1b[1m\n  | next line\n");
    says(text, "  | x\n  | …\n");
    cr_expect_null(strstr(text, "zzz"));
    says(text, "INCOMPLETE");
    says(text, "sandbox: bubblewrap\n");
    cr_expect_null(strstr(text, "UNSANDBOXED"));
    free(text);
}

Test(report_print, points_are_shown_sanely) {
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
