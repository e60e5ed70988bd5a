/* How a child ends, in words. */
#include "session_state.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

const char *td_outcome_name(td_outcome outcome) {
    static const char *const names[] = {"fine",          "crashed",   "ended",   "timed out",
                                        "out of memory", "forbidden", "flooded", "no message"};
    return (unsigned)outcome < TD_OUTCOMES ? names[outcome] : "?";
}

void td_child_drain(td_child *child) {
    char more[65536];
    ssize_t n = 0;
    if (child->process.output < 0) return;
    /* At most what a pipe holds: one that prints without end must not keep us here. */
    for (int i = 0; i < 16 && (n = read(child->process.output, more, sizeof more)) > 0; i++) {
        size_t kept = child->prints < TD_PRINTED_KEPT ? TD_PRINTED_KEPT - child->prints : 0;
        if (kept > (size_t)n) kept = (size_t)n;
        memcpy(child->printed + (child->prints < TD_PRINTED_KEPT ? child->prints : TD_PRINTED_KEPT), more, kept);
        child->prints += (size_t)n;
    }
    if (n != 0) return;
    close(child->process.output); /* it has closed its own end */
    child->process.output = -1;
}

void td_child_sleep(td_child *child, int asleep) {
    if (child->fd >= 0) td_sandbox_signal(&child->process, asleep ? SIGSTOP : SIGCONT);
}

static void end(td_child *child) {
    if (child->fd < 0) return;
    td_sandbox_end(child->sandbox, &child->process, &child->ended);
    td_child_drain(child);
    if (child->process.output >= 0) close(child->process.output);
    close(child->fd);
    child->fd = -1;
}

void td_child_over(td_child *child, td_outcome outcome, const char *format, ...) {
    end(child);
    if (child->outcome) return;
    va_list args;
    va_start(args, format);
    vsnprintf(child->why, sizeof child->why, format, args);
    va_end(args);
    child->outcome = outcome;
}

/* It is given a moment to end by itself, so that the reason is its own. */
static int ends_itself(const td_child *child, double seconds) {
    for (double until = td_now() + seconds; !td_sandbox_over(&child->process); poll(NULL, 0, 1))
        if (td_now() >= until) return 0;
    return 1;
}

void td_child_lost(td_child *child) {
    int itself = ends_itself(child, 0.1);
    end(child);
    int status = child->ended.status, number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    double most = child->limits.cpu_seconds;
    if (!itself)
        td_child_over(child, TD_CHILD_ENDED, "it closed its connection to the grader");
    else if (number == SIGXCPU || (number == SIGKILL && most > 0 && child->ended.cpu_seconds >= 0.9 * most))
        td_child_over(child, TD_CHILD_TIMED_OUT, "it used its %.0f s of processor time", most);
    else if (number == SIGSYS)
        td_child_over(child, TD_CHILD_FORBIDDEN, "it made a system call that a submission may not make");
    else if (number == SIGKILL)
        td_child_over(child, TD_CHILD_MEMORY, "the system stopped it, as it does where memory runs out");
    else if (number)
        td_child_over(child, TD_CHILD_CRASHED, "it was stopped by signal %d (%s)", number, strsignal(number));
    else
        td_child_over(child, TD_CHILD_ENDED, "it exited with status %d before it had answered", WEXITSTATUS(status));
}

const td_ended *td_child_end(td_child *child) {
    td_child_over(child, TD_CHILD_ENDED, "the grader ended it");
    return &child->ended;
}

const char *td_child_output(const td_child *child) {
    return child->printed;
}

void td_child_delete(td_child *child) {
    if (!child) return;
    end(child);
    free(child->body);
    free(child);
}
