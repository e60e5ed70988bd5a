/* Graders side by side. Each dies with this process; and this process is who their orphans come to, so that none of
 * what they started outlives it unseen. */
#include "../../cpu_ref/clock.h"
#include "../file.h"
#include "../progress.h"
#include "class.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct job {
    pid_t pid; /* 0: none */
    td_class_member *member;
    double began;
    int late;
} job;

/* NAME=value, if there is one. */
static char *given(const char *name, const char *value) {
    char *word = NULL;
    return value && value[0] && asprintf(&word, "%s=%s", name, value) > 0 ? word : NULL;
}

/* Never returns. */
static void become_grader(const td_class *class, const td_class_member *member, const char *report, pid_t parent) {
    const td_class_options *o = class->options;
    char submission[PATH_MAX + 16], out[PATH_MAX + 16], lesson[32], secret[48], threads[32];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    int in = open("/dev/null", O_RDONLY), to = open(report, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (in < 0 || to < 0) _exit(127);
    dup2(in, STDIN_FILENO), dup2(to, STDOUT_FILENO), dup2(to, STDERR_FILENO);
    snprintf(submission, sizeof submission, "SUBMISSION=%s/%s", o->submissions, member->name);
    snprintf(out, sizeof out, "OUT=%s/%s", o->out, member->name);
    snprintf(lesson, sizeof lesson, "LESSON=%d", o->lesson);
    snprintf(secret, sizeof secret, "SECRET=%llu", (unsigned long long)class->secret);
    long cores = sysconf(_SC_NPROCESSORS_ONLN) / o->jobs;
    snprintf(threads, sizeof threads, "%ld", cores < 1 ? 1 : cores);
    setenv("OMP_NUM_THREADS", threads, 1);
    char *argv[11] = {(char *)o->grader, "grade", submission, out, secret};
    char *const more[] = {o->lesson ? lesson : NULL, given("TIER", o->tier), given("RUBRIC", o->rubric),
                          given("SEED", o->seed), given("SECONDS", o->seconds)};
    for (int i = 0, n = 5; i < 5; i++)
        if (more[i]) argv[n++] = more[i];
    execv(o->grader, argv);
    dprintf(STDERR_FILENO,
            "%s: %s\nThe grader could not be started. If it was built anew meanwhile, that is why: start grade-class "
            "again, what is graded stays.\n",
            o->grader, strerror(errno));
    _exit(127);
}

static td_status start(td_class *class, job *job, td_class_member *member, td_error *err) {
    char report[PATH_MAX];
    td_status status = td_class_path(class, member, "report.txt", report, err);
    if (status) return status;
    pid_t parent = getpid();
    fflush(NULL);
    job->pid = fork();
    if (job->pid == 0) become_grader(class, member, report, parent);
    job->member = member, job->began = td_now(), job->late = 0;
    if (job->pid > 0) return TD_OK;
    job->pid = 0;
    return td_fail(err, TD_IO, "no grader can be started: %s", strerror(errno));
}

static void nap(void) {
    const struct timespec t = {0, 5 * 1000 * 1000};
    nanosleep(&t, NULL);
}

/* A grader that has ended, or NULL. Orphans of graders end here too. */
static job *reap(job *jobs, int n) {
    int how;
    for (pid_t pid; (pid = waitpid(-1, &how, WNOHANG)) > 0;)
        for (int i = 0; i < n; i++) {
            if (jobs[i].pid != pid) continue;
            jobs[i].member->status = jobs[i].late ? -1 : WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
            jobs[i].member->seconds = td_now() - jobs[i].began;
            return &jobs[i];
        }
    return NULL;
}

/* Those whose parent is this process, now that no grader runs: what a dead grader left. */
static int kill_orphans(void) {
    char path[64];
    int killed = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *children = fopen(path, "re");
    for (long pid; children && fscanf(children, "%ld", &pid) == 1; killed++) kill((pid_t)pid, SIGKILL);
    if (children) fclose(children);
    return killed;
}

/* They die with their grader, which may take a moment. */
static int end_all(job *jobs, int n) {
    int orphans = 0;
    for (int i = 0; i < n; i++)
        if (jobs[i].pid) kill(jobs[i].pid, SIGKILL);
    double patience = td_now() + 1;
    for (pid_t pid; (pid = waitpid(-1, NULL, WNOHANG)) >= 0;) {
        if (!orphans && td_now() > patience) orphans = kill_orphans();
        if (pid == 0) nap();
    }
    return orphans;
}

static td_status step(td_class *class, job *jobs, int *next, td_progress *progress,
                      td_status (*ended)(td_class *, td_class_member *, td_error *), td_error *err) {
    int busy = 0;
    for (int i = 0; i < class->options->jobs; i++) {
        while (!jobs[i].pid && *next < class->n && class->member[*next].graded) ++*next;
        td_status status =
            jobs[i].pid || *next >= class->n ? TD_OK : start(class, &jobs[i], &class->member[(*next)++], err);
        if (status) return status;
        if (!jobs[i].pid) continue;
        busy++;
        if (td_now() - jobs[i].began > class->options->limit) jobs[i].late = 1, kill(jobs[i].pid, SIGKILL);
    }
    job *over = reap(jobs, class->options->jobs);
    if (!over) {
        td_progress_step(progress, 0);
        if (busy) nap();
        return TD_OK;
    }
    over->pid = 0;
    td_progress_step(progress, 1);
    return ended(class, over->member, err);
}

td_status td_class_run(td_class *class, td_status (*ended)(td_class *, td_class_member *, td_error *), td_error *err) {
    char label[64];
    int next = 0, left = 0;
    for (int i = 0; i < class->n; i++) left += !class->member[i].graded;
    job *jobs = calloc((size_t) class->options->jobs, sizeof *jobs);
    if (!jobs) return td_fail(err, TD_NO_MEMORY, "no memory for %d graders", class->options->jobs);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    td_progress progress;
    td_progress_start(&progress, label, left);
    td_status status = TD_OK;
    while (status == TD_OK && progress.done < left) {
        snprintf(label, sizeof label, "graded %ld of %d", progress.done, left);
        status = step(class, jobs, &next, &progress, ended, err);
    }
    td_progress_end(&progress);
    class->orphans = end_all(jobs, class->options->jobs);
    free(jobs);
    return status;
}
