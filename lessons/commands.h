/* The commands of build/tandem, one file each (command_NAME.c). Each returns the process's exit status. */
#ifndef TANDEM_COMMANDS_H
#define TANDEM_COMMANDS_H

#include "tandem/status.h"

enum {
    TD_EXIT_OK = 0,
    TD_EXIT_WRONG = 1,        /* a check ran and failed */
    TD_EXIT_USAGE = 2,        /* a bad parameter */
    TD_EXIT_ENVIRONMENT = 3,  /* I/O, memory, no device */
    TD_EXIT_INTERNAL = 4,     /* a fault of Tandem's own */
    TD_EXIT_BUILD_FAILED = 5, /* grade: the submission cannot be compiled */
    TD_EXIT_CRASHED = 6,      /* grade: it did */
    TD_EXIT_TIMED_OUT = 7     /* grade: it took too long */
};

/* The exit status that belongs to the error. */
int td_exit_status(const td_error *err);
/* Print "tandem COMMAND: message" on stderr, with SKIP before the message where a device is missing; give that status.
 */
int td_exit_with(const char *command, const td_error *err);

int td_command_bench(int argc, char **argv);
int td_command_bench_adam(int argc, char **argv);
int td_command_bench_cpu(int argc, char **argv);
int td_command_bench_gpt(int argc, char **argv);
int td_command_exercise(int argc, char **argv);
int td_command_grade_class(int argc, char **argv);
int td_command_lesson(int argc, char **argv);
int td_command_run(int argc, char **argv);
int td_command_check(int argc, char **argv);
int td_command_check_gpu(int argc, char **argv);
int td_command_check_gpt(int argc, char **argv);
int td_command_grade(int argc, char **argv);
int td_command_list(int argc, char **argv);
int td_command_ranks(int argc, char **argv);
int td_command_resources(int argc, char **argv);
int td_command_sweep(int argc, char **argv);

#endif
