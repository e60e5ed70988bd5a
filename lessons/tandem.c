/* build/tandem: one program does the work; make targets are one-line calls of it. */
#include "../checks/text.h"
#include "commands.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

typedef struct command {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
} command;

static const command commands[] = {
    {"bench", "time the variants of an operation", td_command_bench},
    {"bench-adam", "the GPU's Adam, checked, then timed beside a copy", td_command_bench_adam},
    {"bench-cpu", "the CPU's attention beside OpenBLAS's matrix product", td_command_bench_cpu},
    {"bench-gpt", "time the GPT's forward and backward on the GPU", td_command_bench_gpt},
    {"lesson", "run lesson N", td_command_lesson},
    {"grade-class", "a folder of submissions, side by side", td_command_grade_class},
    {"exercise", "a learner's working copy: start, check, hint, solution, reset", td_command_exercise},
    {"run", "one variant on your own tensors (.npy)", td_command_run},
    {"check", "compare variants with the double-precision reference", td_command_check},
    {"check-gpu", "every rung of the GPU, over the shapes that kernels fail on", td_command_check_gpu},
    {"check-gpt", "the GPT on the GPU, layer by layer and as a whole", td_command_check_gpt},
    {"grade", "a submission of an exercise: compiled, run in a sandbox, scored", td_command_grade},
    {"list", "every variant, with its backend and limits", td_command_list},
    {"ranks", "what ranks do together: a task under mpirun", td_command_ranks},
    {"resources", "what a GPU's kernels take: registers, shared memory, occupancy", td_command_resources},
    {"sweep", "error against block size, next to the derived bounds", td_command_sweep},
    {NULL, NULL, NULL},
};

static void usage(FILE *out) {
    fprintf(out, "usage: tandem COMMAND [options]; tandem COMMAND --help tells more\n\n");
    for (const command *c = commands; c->name; c++) fprintf(out, "  %-10s %s\n", c->name, c->summary);
}

static int run(int argc, char **argv) {
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
    char shown[48];
    fprintf(stderr, "tandem: '%s': no such command; legal are those of tandem --help\n",
            td_shown(argv[1], shown, sizeof shown));
    return TD_EXIT_USAGE;
}

int td_exit_status(const td_error *err) {
    switch (err->status) {
    case TD_OK: return TD_EXIT_OK;
    case TD_WRONG: return TD_EXIT_WRONG;
    case TD_BAD_PARAM:
    case TD_UNSUPPORTED: return TD_EXIT_USAGE;
    case TD_INTERNAL: return TD_EXIT_INTERNAL;
    default: return TD_EXIT_ENVIRONMENT;
    }
}

int td_exit_with(const char *command, const td_error *err) {
    fprintf(stderr, "tandem %s: %s%s\n", command, err->status == TD_NO_DEVICE ? "SKIP: " : "", err->message);
    return td_exit_status(err);
}

/* A result that could not be printed is no success. A reader that has gone (| head) is told nothing. */
static int with_output_written(int status) {
    int unwritten = ferror(stdout);
    if (fflush(stdout) == 0 && !unwritten) return status;
    if (errno != EPIPE) fprintf(stderr, "tandem: standard output: %s\n", strerror(errno));
    return status == TD_EXIT_OK ? TD_EXIT_ENVIRONMENT : status;
}

int main(int argc, char **argv) {
    /* a closed standard stream must not become the number of the next file opened */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0) (void)!open("/dev/null", O_RDONLY);
    signal(SIGXFSZ, SIG_IGN); /* a file-size limit is then an error of write, with a message */
    return with_output_written(run(argc, argv));
}
