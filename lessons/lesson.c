/* What every lesson does the same way: ask, explain, show where it ran, and put its files in one folder. */
#include "lesson.h"
#include "../checks/file.h"
#include "../checks/markdown.h"
#include "../checks/text.h"
#include "../gpu/range.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Lines longer than this are hard to read, however wide the terminal is. */
static int line_width(void) {
    int columns = td_terminal_columns(stdout);
    return columns > 100 ? 100 : columns;
}

static void bold(const char *text) {
    if (isatty(STDOUT_FILENO))
        printf("\033[1m%s\033[0m\n", text);
    else
        printf("%s\n", text);
}

static void print_choice(int i, const char *choice) {
    char mark[16];
    snprintf(mark, sizeof mark, "  (%c) ", 'a' + i);
    td_print_wrapped(stdout, choice, mark, "      ", line_width());
}

static int someone_is_there(void) {
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

/* A line from the keyboard without its end; 0 at the end of input. */
static int read_line(char *line, int size) {
    fflush(stdout);
    if (!fgets(line, size, stdin)) {
        clearerr(stdin); /* ctrl-D skips this question, not the next one */
        printf("\n");
        return 0;
    }
    line[strcspn(line, "\n")] = '\0';
    return 1;
}

int td_lesson_predict(const char *question, const char *const *choices, int count) {
    td_lesson_section("Predict");
    return td_lesson_ask(question, choices, count);
}

int td_lesson_ask(const char *question, const char *const *choices, int count) {
    td_print_wrapped(stdout, question, "", "", line_width());
    for (int i = 0; i < count; i++) print_choice(i, choices[i]);
    if (!someone_is_there()) return -1;
    char line[64];
    for (int tries = 0; tries < 3; tries++) {
        printf("your guess, a to %c (return skips): ", 'a' + count - 1);
        if (!read_line(line, sizeof line) || !line[0]) return -1;
        int i = tolower((unsigned char)line[0]) - 'a';
        if (i >= 0 && i < count && !line[1]) return i;
    }
    return -1;
}

void td_lesson_answer(int chosen, int right, const char *const *choices, const char *why) {
    td_lesson_section("What was to be predicted");
    if (chosen == right)
        td_lesson_say("You said (%c), and that is right:", 'a' + chosen);
    else if (chosen >= 0)
        td_lesson_say("You said (%c), but it is (%c):", 'a' + chosen, 'a' + right);
    print_choice(right, choices[right]);
    td_print_wrapped(stdout, why, "", "", line_width());
}

static void header_line(const char *key, const char *value) {
    if (value[0]) printf("%-7s %s\n", key, value);
}

void td_lesson_header(const td_arguments *arguments, const char *device, const char *shape) {
    static const char *const keys[] = {"seed", "dtype", "mask"};
    char replay[1024];
    td_arguments_replay(arguments, replay, sizeof replay);
    bold(arguments->command);
    header_line("device", device);
    header_line("shape", shape);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) header_line(keys[i], td_argument_text(arguments, keys[i]));
    header_line("replay", replay);
    fflush(stdout);
}

/* A profiler's time line shows the sections too: each until the next. */
static void mark_section(const char *title) {
    static int open;
    if (open) td_range_pop();
    td_range_push(title);
    open = 1;
}

void td_lesson_section(const char *title) {
    mark_section(title);
    printf("\n");
    bold(title);
    for (int i = td_text_width(title); i > 0; i--) fputs("─", stdout);
    printf("\n");
    fflush(stdout); /* what follows may take a while, or speak on stderr */
}

void td_lesson_say(const char *format, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0) text = NULL;
    va_end(args);
    if (text) td_print_wrapped(stdout, text, "", "", line_width());
    free(text);
}

static td_status print_text(int number, const char *heading, td_error *err) {
    for (const td_lesson *const *l = td_lessons; *l; l++) {
        if ((*l)->number != number) continue;
        char name[160], path[PATH_MAX];
        snprintf(name, sizeof name, "lessons/%02d_%s/lesson.md", number, (*l)->name);
        td_status status = td_resource_find(name, path, sizeof path, err);
        if (status != TD_OK) return status;
        return td_markdown_section(stdout, path, heading, line_width(), isatty(STDOUT_FILENO), err);
    }
    return td_fail(err, TD_INTERNAL, "lesson %d is not in the table", number);
}

void td_lesson_text(int number, const char *heading) {
    td_error err;
    td_lesson_section(heading);
    if (print_text(number, heading, &err) != TD_OK) printf("(the text is missing: %s)\n", err.message);
}

void td_lesson_self_test(const td_question *questions, int count) {
    char mark[16], line[64];
    td_lesson_section("Self-test");
    for (int i = 0; i < count; i++) {
        if (i) printf("\n");
        snprintf(mark, sizeof mark, "%d. ", i + 1);
        td_print_wrapped(stdout, questions[i].question, mark, "   ", line_width());
        if (someone_is_there()) {
            printf("   (think, then press return) ");
            read_line(line, sizeof line);
        }
        td_print_wrapped(stdout, questions[i].answer, "   → ", "     ", line_width());
    }
}

/* <out>/lesson-N */
static td_status folder_of(const td_arguments *arguments, int number, char folder[PATH_MAX], td_error *err) {
    const char *out = td_argument_text(arguments, "out");
    if (snprintf(folder, PATH_MAX, "%s/lesson-%d", out[0] ? out : "out", number) < PATH_MAX) return TD_OK;
    return td_file_failed(out, "cannot be made", ENAMETOOLONG, err);
}

td_status td_lesson_can_write(const td_arguments *arguments, int number, td_error *err) {
    char folder[PATH_MAX];
    td_status status = folder_of(arguments, number, folder, err);
    return status == TD_OK ? td_folder_probe(folder, err) : status;
}

td_status td_lesson_path(const td_arguments *arguments, int number, const char *file, char *path, int size,
                         td_error *err) {
    char folder[PATH_MAX];
    td_status status = folder_of(arguments, number, folder, err);
    if (status == TD_OK) status = td_folder_make(folder, err);
    if (status == TD_OK && snprintf(path, (size_t)size, "%s/%s", folder, file) >= size)
        status = td_file_failed(folder, "cannot be written", ENAMETOOLONG, err);
    return status;
}
