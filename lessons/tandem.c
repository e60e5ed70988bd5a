/* build/tandem: one program does the work; make targets are one-line calls of it. */
#include "commands.h"
#include <string.h>

typedef struct command {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
} command;

static const command commands[] = {
    {"list", "every variant, with its backend and limits", td_command_list},
    {NULL, NULL, NULL},
};

static void usage(FILE *out) {
    fprintf(out, "usage: tandem COMMAND [options]; tandem COMMAND --help tells more\n\n");
    for (const command *c = commands; c->name; c++) fprintf(out, "  %-8s %s\n", c->name, c->summary);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        usage(stderr);
        return TD_EXIT_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        usage(stdout);
        return TD_EXIT_OK;
    }
    for (const command *c = commands; c->name; c++)
        if (!strcmp(argv[1], c->name)) return c->run(argc - 2, argv + 2);
    fprintf(stderr, "tandem: command '%s': unknown; legal are those of tandem --help\n", argv[1]);
    return TD_EXIT_USAGE;
}
