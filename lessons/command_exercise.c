/* tandem exercise ACTION LESSON=N: a learner's working copy, from its start to the reference solution. */
#include "../checks/arguments.h"
#include "../checks/text.h"
#include "commands.h"
#include "exercise.h"
#include <string.h>
#include <unistd.h>

#define LESSON                                                                                                         \
    { "lesson", NULL, "the number of a lesson", "whose exercise" }
#define WORK                                                                                                           \
    { "work", "", "a folder", "the working copy; default mine/lesson-N" }
#define CONFIRM                                                                                                        \
    { "confirm", "", "yes", "needed where there is no terminal to type yes on" }
#define END                                                                                                            \
    { NULL, NULL, NULL, NULL }

static td_status confirm(const td_arguments *arguments, const char *question, td_error *err) {
    const char *given = td_argument_text(arguments, "confirm");
    char line[64] = "", shown[40];
    if (!strcmp(given, "yes")) return TD_OK;
    if (given[0]) return td_fail(err, TD_BAD_PARAM, "CONFIRM=%s: must be yes", td_shown(given, shown, sizeof shown));
    if (!isatty(STDIN_FILENO))
        return td_fail(err, TD_BAD_PARAM, "CONFIRM: not given, and there is no terminal to ask on; must be yes");
    printf("%s (yes or no): ", question);
    fflush(stdout);
    if (fgets(line, sizeof line, stdin) && !strcmp(line, "yes\n")) return TD_OK;
    return td_fail(err, TD_BAD_PARAM, "nothing was done: it takes a yes");
}

static void say_next(const td_work *work) {
    char command[PATH_MAX + 64];
    td_print_quoted(stdout, work->folder);
    printf(" is yours to work in; README.md in it is the task\n");
    printf("  %s     run the public checks\n", td_work_command(work, "check", command, sizeof command));
    printf("  %s      the next hint\n", td_work_command(work, "hint", command, sizeof command));
}

static td_status start(const td_arguments *arguments, const td_work *work, td_error *err) {
    (void)arguments;
    td_status status = td_work_start(work, err);
    if (status == TD_OK) say_next(work);
    return status;
}

static td_status reset(const td_arguments *arguments, const td_work *work, td_error *err) {
    char kept[PATH_MAX], question[PATH_MAX + 64];
    snprintf(question, sizeof question, "start %s over, keeping what is there under another name?", work->folder);
    td_status status = td_work_is_own(work, err);
    if (status == TD_OK) status = confirm(arguments, question, err);
    if (status == TD_OK) status = td_work_reset(work, kept, err);
    if (status) return status;
    printf("what was there is kept as ");
    td_print_quoted(stdout, kept);
    printf("\n");
    say_next(work);
    return TD_OK;
}

/* tandem grade, of the public cases: its report, its exit status. */
static td_status check(const td_arguments *arguments, const td_work *work, td_error *err) {
    (void)arguments;
    return td_work_is_there(work, err);
}

static int grade(const td_work *work) {
    char submission[PATH_MAX + 16], lesson[32], out[48], public[] = "PUBLIC=yes";
    snprintf(submission, sizeof submission, "SUBMISSION=%s", work->folder);
    snprintf(lesson, sizeof lesson, "LESSON=%d", work->number);
    snprintf(out, sizeof out, "OUT=out/check-%d", work->number);
    return td_command_grade(4, (char *[]){submission, lesson, out, public});
}

static td_status solution(const td_arguments *arguments, const td_work *work, td_error *err) {
    td_status status = confirm(arguments, "show the reference solution? Your own would teach you more", err);
    return status == TD_OK ? td_work_solution(work, stdout, err) : status;
}

static td_status hint(const td_arguments *arguments, const td_work *work, td_error *err) {
    int64_t k = 0;
    td_status status = td_argument_int_or(arguments, "hint", 1, 99, 0, &k, err);
    return status == TD_OK ? td_work_hint(work, k, stdout, err) : status;
}

static const td_option of_start[] = {LESSON, WORK, END}, of_confirmed[] = {LESSON, WORK, CONFIRM, END},
                       of_hint[] = {LESSON, WORK, {"hint", "", "integer, 1 or more", "which; default the next"}, END};

static const struct action {
    const char *name, *summary;
    const td_option *options;
    td_status (*run)(const td_arguments *arguments, const td_work *work, td_error *err);
} actions[] = {
    {"start", "a working copy of an exercise", of_start, start},
    {"check", "run the public checks on it", of_start, check},
    {"hint", "the next hint", of_hint, hint},
    {"solution", "the reference solution, after a confirmation; without a terminal: CONFIRM=yes", of_confirmed,
     solution},
    {"reset", "start over, after a confirmation; what is there is kept; without a terminal: CONFIRM=yes", of_confirmed,
     reset},
};

static td_status carry_out(const struct action *action, const td_arguments *arguments, td_work *work, td_error *err) {
    int64_t lesson;
    td_status status = td_argument_int(arguments, "lesson", 1, td_work_lessons(), &lesson, err);
    if (status == TD_OK) status = td_work_find(work, lesson, td_argument_text(arguments, "work"), err);
    return status == TD_OK ? action->run(arguments, work, err) : status;
}

static int run(const struct action *action, int argc, char **argv) {
    char command[32];
    td_error err;
    td_arguments arguments;
    td_work work;
    snprintf(command, sizeof command, "exercise %s", action->name);
    td_status status = td_arguments_parse(&arguments, command, action->options, argc, argv, &err);
    if (status == TD_OK && arguments.help) {
        td_arguments_help(&arguments, action->summary);
        return TD_EXIT_OK;
    }
    if (status == TD_OK) status = carry_out(action, &arguments, &work, &err);
    if (status) return td_exit_with(command, &err);
    return action->run == check ? grade(&work) : TD_EXIT_OK;
}

int td_command_exercise(int argc, char **argv) {
    td_error err;
    char shown[48], legal[96] = "";
    int n = sizeof actions / sizeof *actions, asks = argc > 0 && (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h"));
    if (asks) printf("usage: tandem exercise ACTION LESSON=N; tandem exercise ACTION --help tells more\n\n");
    for (int i = 0, used = 0; i < n; i++) {
        if (asks) printf("  %-8s  %s\n", actions[i].name, actions[i].summary);
        if (argc > 0 && !strcmp(argv[0], actions[i].name)) return run(&actions[i], argc - 1, argv + 1);
        used += snprintf(legal + used, sizeof legal - (size_t)used, "%s%s", i ? ", " : "", actions[i].name);
    }
    if (asks) return TD_EXIT_OK;
    td_fail(&err, TD_BAD_PARAM, "'%s': no such action; legal are %s",
            argc > 0 ? td_shown(argv[0], shown, sizeof shown) : "", legal);
    return td_exit_with("exercise", &err);
}
