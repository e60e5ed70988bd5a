/* tandem ranks TASK: what ranks do together, each of them this program. Outside mpirun RANKS=n starts it. */
#include "../checks/launch.h"
#include "../checks/text.h"
#include "../cpu_ref/comm/mpi_end.h"
#include "commands.h"
#include "ranks/world.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void usage(FILE *out) {
    fprintf(out, "usage: tandem ranks TASK [RANKS=n] [NAME=value …]\n"
                 "       tandem ranks TASK --help tells more\n\n"
                 "RANKS=n starts n of them with mpirun; without, this process is a world of one,\n"
                 "or a rank of the mpirun, srun or the like that started it.\n\n");
    for (const td_rank_task *const *t = td_rank_tasks; *t; t++) fprintf(out, "  %-17s %s\n", (*t)->name, (*t)->summary);
}

static const td_rank_task *find(const char *name) {
    for (const td_rank_task *const *t = td_rank_tasks; *t; t++)
        if (!strcmp((*t)->name, name)) return *t;
    return NULL;
}

/* Several ranks that fail alike say so in one line, and those that lack a device are alike, whichever each lacks. The
 * others may wait for this one: all end. */
static int fail(const char *task, td_comm *host, const td_error *err) {
    char who[48] = "";
    int skips = err->status == TD_NO_DEVICE;
    int alike = host && host->ranks > 1 ? td_comm_mpi_failed(host, skips ? "SKIP" : err->message) : 1;
    if (skips) {
        if (alike) printf("SKIP: %s\n", err->message);
        fflush(stdout);
        return td_exit_status(err);
    }
    if (alike > 1) snprintf(who, sizeof who, "%d ranks: ", alike);
    if (host && host->ranks > 1 && alike == 1) {
        snprintf(who, sizeof who, "rank %d ", host->rank);
        int said = !strncmp(err->message, who, strlen(who)); /* "rank 0 of 4 waits" */
        snprintf(who, sizeof who, said ? "" : "rank %d: ", host->rank);
    }
    if (alike) fprintf(stderr, "tandem ranks %s: %s%s\n", task, who, err->message);
    return td_exit_status(err);
}

static td_status run(const td_rank_task *task, td_comm *host, int argc, char **argv, td_world *world, td_error *err) {
    td_arguments arguments;
    char command[64];
    snprintf(command, sizeof command, "ranks %s", task->name);
    td_status status = td_arguments_parse(&arguments, command, task->options, argc, argv, err);
    if (status == TD_OK && arguments.help) {
        if (host->rank == 0) td_arguments_help(&arguments, task->summary);
        return TD_OK;
    }
    if (status == TD_OK) status = td_world_open(world, host, &arguments, err);
    return status ? status : task->run(&arguments, world, err);
}

/* Without MPI ranks cannot agree on who speaks. What is the same on all of them, rank 0 says; the others leave it time
 * to, since the launcher ends all when one ends. */
static int fail_alone(const char *task, int rank, const td_error *err) {
    const struct timespec moment = {0, 300 * 1000 * 1000};
    int all_alike = err->status == TD_BAD_PARAM || err->status == TD_UNSUPPORTED;
    if (rank == 0 || !all_alike) return fail(task, NULL, err);
    nanosleep(&moment, NULL);
    return td_exit_status(err);
}

static int as_rank(const td_rank_task *task, int argc, char **argv) {
    td_error err = {0};
    td_comm *host = NULL;
    int rank, launched = td_launched_rank(&rank);
    if ((launched ? td_comm_mpi(&host, &err) : td_comm_alone(&host, TD_CPU, &err)) != TD_OK)
        return fail_alone(task->name, rank, &err);
    td_world world = {.comm = host};
    td_status status = run(task, host, argc, argv, &world, &err);
    fflush(stdout);
    if (status == TD_OK) {
        td_world_close(&world);
        return TD_EXIT_OK;
    }
    int code = fail(task->name, host, &err);
    if (launched) td_comm_mpi_abandon(host, code);
    td_world_close(&world);
    return code;
}

static int already(const char *task, int rank, const char *ranks) {
    char shown[48];
    td_error err;
    td_fail(&err, TD_BAD_PARAM, "RANKS=%s: this already runs as a rank under mpirun, whose -n says how many there are",
            td_shown(ranks, shown, sizeof shown));
    return fail_alone(task, rank, &err);
}

/* "RANKS=4", "--ranks=4" or "--ranks 4" among the arguments: its value, NULL without; the others move up. */
static const char *take_ranks(int *argc, char **argv) {
    for (int i = 0; i < *argc; i++) {
        int words = 1;
        const char *value = NULL;
        if (!strncmp(argv[i], "RANKS=", 6))
            value = argv[i] + 6;
        else if (!strncmp(argv[i], "--ranks=", 8))
            value = argv[i] + 8;
        else if (!strcmp(argv[i], "--ranks") && i + 1 < *argc)
            value = argv[i + 1], words = 2;
        if (!value) continue;
        *argc -= words;
        for (int k = i; k <= *argc; k++) argv[k] = argv[k + words]; /* the NULL at the end as well */
        return value;
    }
    return NULL;
}

/* `again` is NULL unless RANKS was given twice. */
static int launch(const char *ranks, const char *again, char **argv) {
    char command[2][64], *given[] = {command[0], command[1], NULL};
    td_error err;
    td_arguments arguments;
    int64_t count;
    int ended = TD_EXIT_OK;
    static const td_option options[] = {{"ranks", "1", "an integer from 1 to 1024", "how many"},
                                        {NULL, NULL, NULL, NULL}};
    snprintf(command[0], sizeof command[0], "RANKS=%.40s", ranks);
    snprintf(command[1], sizeof command[1], "RANKS=%.40s", again ? again : "");
    td_status status = td_arguments_parse(&arguments, "ranks", options, again ? 2 : 1, given, &err);
    if (status == TD_OK) status = td_argument_int(&arguments, "ranks", 1, 1024, &count, &err);
    if (status == TD_OK) status = td_launch_here((int)count, NULL, (const char *const *)argv, &ended, &err);
    return status ? td_exit_with("ranks", &err) : ended;
}

int td_command_ranks(int argc, char **argv) {
    int rank;
    int launched = td_launched_rank(&rank);
    if (argc == 0 || !strcmp(argv[0], "--help") || !strcmp(argv[0], "-h")) {
        if (rank == 0) usage(stdout);
        return TD_EXIT_OK;
    }
    const td_rank_task *task = find(argv[0]);
    if (!task) {
        char shown[48];
        if (rank == 0)
            fprintf(stderr, "tandem ranks: '%s': no such task; legal are those of tandem ranks --help\n",
                    td_shown(argv[0], shown, sizeof shown));
        return TD_EXIT_USAGE;
    }
    const char *ranks = take_ranks(&argc, argv);
    if (!ranks) return as_rank(task, argc - 1, argv + 1);
    if (launched) return already(task->name, rank, ranks);
    return launch(ranks, take_ranks(&argc, argv), argv);
}
