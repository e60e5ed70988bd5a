/* tandem lesson N [NAME=value …]: run a lesson. */
#include "../checks/text.h"
#include "commands.h"
#include "lesson.h"
#include <stdlib.h>
#include <string.h>

static int usage(void) {
    printf("usage: tandem lesson N [NAME=value | --name value] …; tandem lesson N --help lists its options\n\n");
    for (const td_lesson *const *l = td_lessons; *l; l++) printf("  %d  %s\n", (*l)->number, (*l)->concept);
    return TD_EXIT_OK;
}

static const td_lesson *find(const char *text) {
    char number[16];
    for (const td_lesson *const *l = td_lessons; *l; l++) {
        snprintf(number, sizeof number, "%d", (*l)->number);
        if (!strcmp(text, number)) return *l;
    }
    return NULL;
}

static td_status no_such(const char *text, td_error *err) {
    char legal[128] = "", shown[48];
    int used = 0;
    for (const td_lesson *const *l = td_lessons; *l; l++)
        used += snprintf(legal + used, sizeof legal - (size_t)used, "%s%d", used ? ", " : "", (*l)->number);
    return td_fail(err, TD_BAD_PARAM, "'%s': no such lesson; legal are %s", td_shown(text, shown, sizeof shown),
                   used ? legal : "none yet");
}

int td_command_lesson(int argc, char **argv) {
    td_error err;
    if (argc == 0) {
        td_fail(&err, TD_BAD_PARAM, "N: not given; must be the number of a lesson (tandem lesson --help lists them)");
        return td_exit_with("lesson", &err);
    }
    if (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h")) return usage();
    const td_lesson *lesson = find(argv[0]);
    if (!lesson) {
        no_such(argv[0], &err);
        return td_exit_with("lesson", &err);
    }
    char command[32];
    snprintf(command, sizeof command, "lesson %d", lesson->number);
    td_arguments arguments;
    td_status status = td_arguments_parse(&arguments, command, lesson->options, argc - 1, argv + 1, &err);
    if (status == TD_OK && arguments.help) {
        td_arguments_help(&arguments, lesson->concept);
        return TD_EXIT_OK;
    }
    if (status == TD_OK) status = td_lesson_can_write(&arguments, lesson->number, &err);
    if (status == TD_OK) status = lesson->run(&arguments, &err);
    return status == TD_OK ? TD_EXIT_OK : td_exit_with(command, &err);
}
