/* Messages from a child, which may be anything: a length is looked at before room is made for it. */
#include "session_state.h"
#include <errno.h>
#include <sys/socket.h>

enum { SHOWN = 200 }; /* characters of what a child says of its end */

/* One line of plain characters that can stand in quotes, whatever it was. */
static void plain(char *text, size_t most) {
    for (size_t i = 0; i < most && text[i]; i++)
        if (text[i] < ' ' || text[i] > '~' || text[i] == '"') text[i] = text[i] == '"' ? '\'' : text[i] < 0 ? '?' : ' ';
}

static int legal_head(td_child *child) {
    const td_wire_head *h = &child->head;
    size_t most = child->largest;
    if (!child->greeted && h->kind == TD_WIRE_HELLO) {
        most = 0;
    } else if (child->greeted && h->kind == TD_WIRE_FAULT) {
        most = TD_FAULT_LENGTH;
    } else if (child->greeted && h->kind == TD_WIRE_DONE && h->what == child->what) {
        most += sizeof(td_wire_done);
        if (h->bytes < sizeof(td_wire_done)) most = 0;
    } else if (!child->greeted || h->kind != TD_WIRE_ASK) {
        td_child_over(child, TD_CHILD_GARBLED, "it wrote bytes to the grader that are no message");
        return 0;
    }
    if (h->bytes > most) {
        td_child_over(child, TD_CHILD_GARBLED, "it sent a message of %llu bytes where %zu are the most",
                      (unsigned long long)h->bytes, most);
        return 0;
    }
    free(child->body);
    child->body = malloc(h->bytes + 1);
    if (child->body) return 1;
    td_child_over(child, TD_CHILD_MEMORY, "there is no room for its message of %llu bytes",
                  (unsigned long long)h->bytes);
    return 0;
}

static int complete(td_child *child) {
    if (child->head.kind == TD_WIRE_DONE)
        plain(child->body + offsetof(td_wire_done, message), sizeof((td_wire_done *)0)->message);
    if (child->head.kind != TD_WIRE_FAULT) return 1;
    size_t room = child->limits.address_bytes;
    int full = room && td_sandbox_address(&child->process) > room - room / 8;
    child->body[child->head.bytes] = '\0';
    plain(child->body, child->head.bytes);
    /* in quotes: a submission may have said it as well, and say what it likes */
    td_child_over(child, full ? TD_CHILD_MEMORY : TD_CHILD_CRASHED, "its program says: \"%.*s%s\"", SHOWN, child->body,
                  strlen(child->body) > SHOWN ? "..." : "");
    return 0;
}

int td_child_hear_some(td_child *child) {
    const size_t head = sizeof child->head;
    while (child->fd >= 0) {
        char *to = child->got < head ? (char *)&child->head + child->got : child->body + (child->got - head);
        size_t missing = child->got < head ? head - child->got : head + child->head.bytes - child->got;
        ssize_t n = recv(child->fd, to, missing, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
        if (n <= 0) {
            td_child_lost(child);
            return 0;
        }
        child->got += (size_t)n;
        if (child->got == head && !legal_head(child)) return 0;
        if (child->got >= head && child->got == head + child->head.bytes) return complete(child);
    }
    return 0;
}
