/* Children called and listened to, several at once, each against its own deadline. */
#include "session_state.h"
#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { LOOK_MS = 100 }; /* how often memory is looked at */

static td_status next(td_child *const *children, int n, int *which, td_error *err);

td_status td_child_start(td_child **out, const td_sandbox *sandbox, const td_limits *limits, const char *program,
                         double limit, td_error *err) {
    int pair[2], which;
    td_child *child = calloc(1, sizeof *child);
    *out = NULL;
    if (!child) return td_fail(err, TD_NO_MEMORY, "no memory for a child");
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        free(child);
        return td_fail(err, TD_IO, "no socket for a child: %s", strerror(errno));
    }
    child->sandbox = sandbox, child->limits = *limits, child->fd = pair[0];
    const char *argv[] = {program, NULL};
    td_status status = td_sandbox_start(sandbox, limits, argv, NULL, NULL, pair[1], &child->process, err);
    close(pair[1]);
    if (status) {
        close(pair[0]);
        free(child);
        return status;
    }
    fcntl(child->process.output, F_SETFL, O_NONBLOCK);
    child->limit = limit;
    child->began = td_now(), child->deadline = child->began + limit;
    child->waited_for = 1;
    status = next(&child, 1, &which, err);
    child->greeted = 1, child->waited_for = 0;
    td_child_sleep(child, 1);
    if (status) {
        td_child_delete(child);
        return status;
    }
    *out = child;
    return TD_OK;
}

/* Send all of it, or find out that the child is over. What it prints meanwhile is read: it may have to print before it
 * can listen. */
static void send_all(td_child *child, const td_wire_head *head, const void *first, size_t first_bytes,
                     const td_wire_buffer *rest) {
    struct iovec part[3] = {
        {(void *)head, sizeof *head}, {(void *)first, first_bytes}, {rest ? rest->data : NULL, rest ? rest->bytes : 0}};
    struct msghdr message = {.msg_iov = part, .msg_iovlen = 3};
    while (child->fd >= 0) {
        ssize_t n = sendmsg(child->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            td_child_lost(child);
            return;
        }
        size_t left = 0, sent = n > 0 ? (size_t)n : 0;
        for (int i = 0; i < 3; i++) {
            size_t gone = sent < part[i].iov_len ? sent : part[i].iov_len;
            part[i].iov_base = (char *)part[i].iov_base + gone, part[i].iov_len -= gone, sent -= gone;
            left += part[i].iov_len;
        }
        if (!left) return;
        double seconds = child->deadline - td_now();
        struct pollfd look[2] = {{child->fd, POLLOUT, 0}, {child->process.output, POLLIN, 0}};
        if (seconds <= 0) {
            td_child_over(child, TD_CHILD_TIMED_OUT, "it did not read what it was sent within %.3g s", child->limit);
            return;
        }
        poll(look, 2, seconds < 1 ? (int)(1000 * seconds) + 1 : 1000);
        td_child_drain(child);
    }
}

td_status td_child_call(td_child *child, uint32_t what, const td_wire_buffer *request, double limit, size_t largest,
                        td_error *err) {
    if (request && request->failed) return td_fail(err, TD_NO_MEMORY, "no memory for a request");
    td_wire_head head = {TD_WIRE_CALL, what, request ? request->bytes : 0};
    char early;
    child->what = what, child->largest = largest, child->limit = limit, child->got = 0, child->waited_for = 1;
    if (child->fd >= 0 && recv(child->fd, &early, 1, MSG_DONTWAIT | MSG_PEEK) > 0)
        td_child_over(child, TD_CHILD_GARBLED, "it wrote to the grader before it was called");
    /* Threads of ours that still spin after a parallel region would take its processors away. */
    omp_pause_resource_all(omp_pause_soft);
    td_child_sleep(child, 0);
    child->began = td_now(), child->deadline = child->began + limit;
    send_all(child, &head, NULL, 0, request);
    return TD_OK;
}

td_status td_child_answer(td_child *child, td_status status, const td_wire_buffer *answer, td_error *err) {
    if (answer && answer->failed) return td_fail(err, TD_NO_MEMORY, "no memory for an answer");
    const int32_t code = (int32_t)status;
    td_wire_head head = {TD_WIRE_ANSWER, child->head.what, sizeof code + (answer ? answer->bytes : 0)};
    child->got = 0, child->waited_for = 1;
    send_all(child, &head, &code, sizeof code, answer);
    return TD_OK;
}

static void look_at_memory(td_child *child) {
    size_t most = child->limits.resident_bytes;
    double now = td_now();
    if (!most || now < child->looked + LOOK_MS / 1000.0) return;
    child->looked = now;
    if (td_sandbox_resident(&child->process) > most)
        td_child_over(child, TD_CHILD_MEMORY, "it used more than %zu MiB of memory", most >> 20);
}

/* Has it said something, or is it over? */
static int settled(td_child *child) {
    if (child->fd < 0) return 1;
    int heard = 0;
    td_child_drain(child);
    if (child->prints > TD_PRINTED_MOST)
        td_child_over(child, TD_CHILD_FLOODED, "it printed more than %d MiB", TD_PRINTED_MOST >> 20);
    else
        heard = td_child_hear_some(child);
    if (child->fd < 0) return 1;
    /* Also where it has said something: one that asks without end has its time too. */
    if (td_now() >= child->deadline)
        td_child_over(child, TD_CHILD_TIMED_OUT, "it was not done after %.3g s", child->limit);
    else
        look_at_memory(child);
    return heard || child->fd < 0;
}

static td_status next(td_child *const *children, int n, int *which, td_error *err) {
    struct pollfd *look = malloc(2 * sizeof *look * (size_t)(n > 0 ? n : 1));
    if (!look) return td_fail(err, TD_NO_MEMORY, "no memory to wait for %d children", n);
    for (;;) {
        int looks = 0;
        double wait = LOOK_MS / 1000.0, now = td_now();
        for (int i = 0; i < n; i++) {
            td_child *c = children[i];
            if (!c->waited_for) continue;
            if (settled(c)) {
                *which = i;
                free(look);
                return TD_OK;
            }
            look[looks++] = (struct pollfd){c->fd, POLLIN, 0};
            look[looks++] = (struct pollfd){c->process.output, POLLIN, 0};
            if (c->deadline - now < wait) wait = c->deadline - now;
        }
        if (!looks) break;
        poll(look, (nfds_t)looks, wait > 0 ? (int)(1000 * wait) + 1 : 0);
    }
    free(look);
    return td_fail(err, TD_INTERNAL, "none of %d children was called", n);
}

td_status td_children_next(td_child *const *children, int n, int *which, td_said *said, td_error *err) {
    td_status status = next(children, n, which, err);
    if (status) return status;
    td_child *child = children[*which];
    *said = (td_said){.outcome = child->outcome, .seconds = td_now() - child->began};
    child->waited_for = 0;
    if (child->outcome) {
        snprintf(said->why, sizeof said->why, "%s", child->why);
        return TD_OK;
    }
    if (child->head.kind == TD_WIRE_DONE) td_child_sleep(child, 1);
    said->kind = child->head.kind, said->what = child->head.what;
    said->bytes = (td_wire_reader){child->body, child->body + child->head.bytes};
    if (said->kind == TD_WIRE_DONE && td_wire_get(&said->bytes, &said->done, sizeof said->done))
        said->done.message[sizeof said->done.message - 1] = '\0';
    return TD_OK;
}

td_status td_child_run(td_child *child, uint32_t what, const td_wire_buffer *request, double limit, size_t largest,
                       td_world world, void *context, td_said *said, td_error *err) {
    int which;
    td_status status = td_child_call(child, what, request, limit, largest, err);
    while (!status && !(status = td_children_next(&child, 1, &which, said, err))) {
        if (said->outcome || said->kind == TD_WIRE_DONE) return TD_OK;
        td_wire_buffer answer = {NULL, 0, 0, 0};
        td_error refused = {TD_OK, ""};
        td_status answered = world ? world(context, said->what, &said->bytes, &answer, &refused) : TD_BAD_PARAM;
        status = td_child_answer(child, answered, &answer, err);
        td_wire_free(&answer);
    }
    return status;
}
