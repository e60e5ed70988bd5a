/* The child's end of the socket, and questions to the world. */
#include "arena.h"
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile sig_atomic_t sending;
static td_wire_head answered;
static char *answer_bytes;

int td_child_sending(void) {
    return sending;
}

static void put(const char *at, size_t bytes) {
    while (bytes) {
        ssize_t n = write(TD_WIRE_FD, at, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) _exit(3);
        at += n, bytes -= (size_t)n;
    }
}

static void get(char *at, size_t bytes) {
    while (bytes) {
        ssize_t n = read(TD_WIRE_FD, at, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) _exit(0); /* the parent is done with us */
        at += n, bytes -= (size_t)n;
    }
}

void td_child_send(uint32_t kind, uint32_t what, const void *first, size_t first_bytes, const void *rest,
                   size_t rest_bytes) {
    td_wire_head head = {kind, what, first_bytes + rest_bytes};
    sending = 1;
    put((const char *)&head, sizeof head);
    put(first, first_bytes);
    put(rest, rest_bytes);
    sending = 0;
}

/* Pages of their own, not malloc: a submission's allocations stay what they are without us. */
td_wire_head td_child_hear(char **bytes) {
    td_wire_head head;
    get((char *)&head, sizeof head);
    *bytes = NULL;
    if (head.bytes) {
        *bytes = mmap(NULL, head.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (*bytes == MAP_FAILED) _exit(4);
        get(*bytes, head.bytes);
    }
    return head;
}

void td_child_forget(char *bytes, size_t count) {
    if (bytes) munmap(bytes, count);
}

td_status td_child_ask(uint32_t what, const void *question, size_t bytes, td_wire_reader *answer, td_error *err) {
    td_child_forget(answer_bytes, answered.bytes);
    td_child_send(TD_WIRE_ASK, what, question, bytes, NULL, 0);
    answered = td_child_hear(&answer_bytes);
    int32_t status;
    td_wire_reader r = {answer_bytes, answer_bytes + answered.bytes};
    if (answered.kind != TD_WIRE_ANSWER || answered.what != what || !td_wire_get(&r, &status, sizeof status)) _exit(5);
    if (answer) *answer = r;
    return status ? td_fail(err, (td_status)status, "question %u was refused", what) : TD_OK;
}
