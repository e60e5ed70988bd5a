#include "launch_hear.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Between two lines of dashes: what mpirun has to say, kept until it is whole. */
typedef struct notice {
    char text[8192];
    size_t used;
    int open;
} notice;

static int is_dashes(const char *line) {
    size_t n = strspn(line, "-");
    return n >= 70 && (line[n] == '\n' || !line[n]);
}

/* "mpirun noticed that process rank 2 with PID 0 on node name exited on signal 9 (Killed)." */
static int tell_killed(const char *text, FILE *out) {
    const char *who = strstr(text, "process rank "), *how = strstr(text, "exited on signal ");
    if (!who || !how) return 0;
    long rank = strtol(who + strlen("process rank "), NULL, 10);
    int number = (int)strtol(how + strlen("exited on signal "), NULL, 10);
    const char *name = number > 0 && number < NSIG ? strsignal(number) : "unknown";
    fprintf(out, "tandem ranks: rank %ld was killed by signal %d (%s)\n", rank, number, name);
    return 1;
}

/* The ranks have said what went wrong, or ended with a status that says it. */
static int is_known(const char *text) {
    return strstr(text, "MPI_ABORT was invoked") || strstr(text, "a non-zero exit code") ||
           strstr(text, "exiting improperly") || strstr(text, "exited with non-zero status");
}

static void tell(notice *n, FILE *out) {
    if (n->used && !tell_killed(n->text, out) && !is_known(n->text)) fputs(n->text, out);
    n->used = 0, n->text[0] = '\0';
}

void td_launcher_retell(FILE *in, FILE *out) {
    notice n = {.used = 0};
    char *line = NULL;
    size_t room = 0;
    for (ssize_t length; (length = getline(&line, &room, in)) >= 0;) {
        if (is_dashes(line)) {
            tell(&n, out);
            n.open = !n.open;
        } else if (n.open && (size_t)length < sizeof n.text - n.used) {
            memcpy(n.text + n.used, line, (size_t)length + 1);
            n.used += (size_t)length;
        } else if (!strstr(line, "sent help message help-") && !strstr(line, "\"orte_base_help_aggregate\"")) {
            fputs(line, out);
        }
        fflush(out);
    }
    tell(&n, out);
    free(line);
}

static volatile sig_atomic_t told_to;

/* What a terminal sends (Ctrl-C), mpirun gets as well: a second one it would take for impatience. */
static void pass_on(int number, siginfo_t *from, void *context) {
    (void)context;
    if (from->si_code <= 0) kill((pid_t)told_to, number);
}

void td_launcher_hear(int pipe, pid_t mpirun) {
    static const int asking[] = {SIGTERM, SIGHUP, SIGINT};
    enum { ASKING = sizeof asking / sizeof *asking };
    struct sigaction before[ASKING], passing = {.sa_flags = SA_RESTART | SA_SIGINFO, .sa_sigaction = pass_on};
    told_to = (sig_atomic_t)mpirun;
    for (int i = 0; i < ASKING; i++) sigaction(asking[i], &passing, &before[i]);
    FILE *in = fdopen(pipe, "r");
    if (in) td_launcher_retell(in, stderr);
    for (int i = 0; i < ASKING; i++) sigaction(asking[i], &before[i], NULL);
    if (in) fclose(in);
}
