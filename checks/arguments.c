/* Finding options in argv, and writing the usage and the replay line from the same table. */
#include "arguments.h"
#include "text.h"
#include <ctype.h>
#include <string.h>

/* "GLOBAL_BATCH" and "global-batch" name one option: make variables cannot hold a '-'. */
static int same_letter(char a, char b) {
    a = a == '_' ? '-' : (char)tolower((unsigned char)a);
    return a == b;
}

static int is_name(const char *given, size_t length, const char *name) {
    if (strlen(name) != length) return 0;
    for (size_t i = 0; i < length; i++)
        if (!same_letter(given[i], name[i])) return 0;
    return 1;
}

static int find(const td_option *options, const char *given, size_t length) {
    for (int i = 0; options[i].name; i++)
        if (is_name(given, length, options[i].name)) return i;
    return -1;
}

char *td_option_label(const char *name, char *out, int size) {
    int i = 0;
    for (; name[i] && i + 1 < size; i++) out[i] = name[i] == '-' ? '_' : (char)toupper((unsigned char)name[i]);
    out[i] = '\0';
    return out;
}

static void legal_names(const td_option *options, char *out, int size) {
    int used = 0;
    char label[32];
    out[0] = '\0';
    for (int i = 0; options[i].name && used < size; i++)
        used += snprintf(out + used, (size_t)(size - used), "%s%s", i ? ", " : "",
                         td_option_label(options[i].name, label, sizeof label));
    if (!options[0].name) snprintf(out, (size_t)size, "none");
}

static td_status unknown(const td_arguments *arguments, const char *given, td_error *err) {
    char names[224], shown[48];
    legal_names(arguments->options, names, sizeof names);
    return td_fail(err, TD_BAD_PARAM, "'%s': no such option; legal are %s", td_shown(given, shown, sizeof shown),
                   names);
}

/* One argument, at argv[*at]: NAME=value, --name=value or --name value (which moves *at on). */
static td_status parse_one(td_arguments *arguments, int argc, char **argv, int *at, td_error *err) {
    const char *given = argv[*at];
    int dashed = !strncmp(given, "--", 2);
    const char *name = given + (dashed ? 2 : 0), *equals = strchr(name, '=');
    if (!dashed && !equals) return unknown(arguments, given, err);
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    int i = find(arguments->options, name, length);
    if (i < 0) return unknown(arguments, given, err);

    const td_option *option = &arguments->options[i];
    const char *value = NULL;
    char label[32];
    td_option_label(option->name, label, sizeof label);
    if (equals)
        value = equals + 1;
    else if (*at + 1 < argc && strncmp(argv[*at + 1], "--", 2) != 0)
        value = argv[++*at];
    int may_be_empty = option->fallback && !option->fallback[0];
    if (!value || (!value[0] && !may_be_empty))
        return td_fail(err, TD_BAD_PARAM, "%s: its value is missing; legal is %s", label, option->legal);
    if (arguments->value[i]) {
        char shown[40], again[40];
        return td_fail(err, TD_BAD_PARAM, "%s: given twice ('%s' and '%s'); once is legal", label,
                       td_shown(arguments->value[i], shown, sizeof shown), td_shown(value, again, sizeof again));
    }
    arguments->value[i] = value;
    return TD_OK;
}

td_status td_arguments_parse(td_arguments *arguments, const char *command, const td_option *options, int argc,
                             char **argv, td_error *err) {
    *arguments = (td_arguments){.command = command, .options = options};
    int count = 0;
    while (options[count].name) count++;
    if (count > TD_MAX_OPTIONS) return td_fail(err, TD_INTERNAL, "%s has over %d options", command, TD_MAX_OPTIONS);
    for (int i = 0; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) arguments->help = 1;
    if (arguments->help) return TD_OK;

    for (int at = 0; at < argc; at++) {
        td_status status = parse_one(arguments, argc, argv, &at, err);
        if (status != TD_OK) return status;
    }
    for (int i = 0; options[i].name; i++) {
        char label[32];
        td_option_label(options[i].name, label, sizeof label);
        if (!arguments->value[i] && !options[i].fallback)
            return td_fail(err, TD_BAD_PARAM, "%s: not given; must be %s", label, options[i].legal);
    }
    return TD_OK;
}

void td_arguments_help(const td_arguments *arguments, const char *summary) {
    printf("usage: tandem %s%s\n\n", arguments->command,
           arguments->options[0].name ? " [NAME=value | --name value] …" : "");
    td_print_wrapped(stdout, summary, "", "", td_terminal_columns(stdout));
    if (arguments->options[0].name) printf("\n");
    for (const td_option *o = arguments->options; o->name; o++) {
        char label[32];
        printf("  --%s, %s=%s   %s\n", o->name, td_option_label(o->name, label, sizeof label),
               o->fallback ? o->fallback : "(must be given)", o->legal);
        td_print_wrapped(stdout, o->help, "      ", "      ", td_terminal_columns(stdout));
    }
}

const char *td_argument_text(const td_arguments *arguments, const char *name) {
    int i = find(arguments->options, name, strlen(name));
    if (i < 0) return "";
    if (arguments->value[i]) return arguments->value[i];
    return arguments->options[i].fallback ? arguments->options[i].fallback : "";
}

int td_arguments_given(const td_arguments *arguments, const char *name) {
    int i = find(arguments->options, name, strlen(name));
    return i >= 0 && arguments->value[i];
}

void td_arguments_replay(const td_arguments *arguments, char *out, int size) {
    FILE *line = fmemopen(out, (size_t)size, "w");
    if (!line) {
        out[0] = '\0';
        return;
    }
    /* make would expand a '$' in a value, and split one at spaces: such a line calls the program itself */
    int number, plain = 1;
    for (int i = 0; arguments->options[i].name; i++)
        plain = plain && td_is_plain_word(td_argument_text(arguments, arguments->options[i].name));
    if (plain && sscanf(arguments->command, "lesson %d", &number) == 1)
        fprintf(line, "make lesson-%d", number);
    else
        fprintf(line, "build/tandem %s", arguments->command);
    for (int i = 0; arguments->options[i].name; i++) {
        const char *value = td_argument_text(arguments, arguments->options[i].name);
        if (!value[0]) continue;
        char label[32];
        fprintf(line, " %s=", td_option_label(arguments->options[i].name, label, sizeof label));
        td_print_quoted(line, value);
    }
    fclose(line);
    out[size - 1] = '\0';
}
