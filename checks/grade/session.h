/* Children at work: started, called, asked, and ended. Whatever a child does, each call here returns, in time, with an
 * outcome; a td_status other than TD_OK is a fault of the harness itself. */
#ifndef TANDEM_GRADE_SESSION_H
#define TANDEM_GRADE_SESSION_H

#include "sandbox.h"
#include "wire.h"

typedef enum td_outcome {
    TD_CHILD_FINE = 0, /* it said what it had to: a question, or done */
    TD_CHILD_CRASHED,  /* a signal, a fault, an address that is not its own */
    TD_CHILD_ENDED,    /* it exited before it had answered */
    TD_CHILD_TIMED_OUT,
    TD_CHILD_MEMORY,    /* beyond its limit */
    TD_CHILD_FORBIDDEN, /* a system call that the filter kills for */
    TD_CHILD_FLOODED,   /* more output than any program needs */
    TD_CHILD_GARBLED,   /* bytes on the wire that belong to no message */
    TD_OUTCOMES
} td_outcome;
const char *td_outcome_name(td_outcome outcome);

typedef struct td_child td_child;

/* What a child said last. */
typedef struct td_said {
    td_outcome outcome;
    char why[400];        /* in words, for an outcome that is not fine; one line */
    uint32_t kind, what;  /* fine: TD_WIRE_ASK or TD_WIRE_DONE */
    td_wire_done done;    /* of DONE */
    td_wire_reader bytes; /* what came with it; valid until the child's next message */
    double seconds;       /* since the first byte of CALL */
} td_said;

/* Start `program` (built by build.h) and wait for its HELLO, at most `limit` seconds. A child that never says it is
 * TD_OK with a child whose next message is that outcome. */
td_status td_child_start(td_child **out, const td_sandbox *sandbox, const td_limits *limits, const char *program,
                         double limit, td_error *err);
/* Send a CALL. Between calls a child stands still, with all its threads. `limit`: seconds until the call must be done,
 * questions included. `largest`: bytes that a message of this call may have. */
td_status td_child_call(td_child *child, uint32_t what, const td_wire_buffer *request, double limit, size_t largest,
                        td_error *err);
/* Answer a question: the status that the submission's call returns, then bytes. */
td_status td_child_answer(td_child *child, td_status status, const td_wire_buffer *answer, td_error *err);
/* The next message from any of n children: its number in *which. Children that have nothing under way are not waited
 * for. */
td_status td_children_next(td_child *const *children, int n, int *which, td_said *said, td_error *err);

/* Who answers questions. Returns a status for the submission, and may put bytes. */
typedef td_status (*td_world)(void *context, uint32_t what, td_wire_reader *question, td_wire_buffer *answer,
                              td_error *err);
/* Call one child and answer until it is done, or is no more. world NULL: it has nothing to ask. */
td_status td_child_run(td_child *child, uint32_t what, const td_wire_buffer *request, double limit, size_t largest,
                       td_world world, void *context, td_said *said, td_error *err);

/* End it. What it printed (the first 16 KiB; valid until delete), and what it took. */
const td_ended *td_child_end(td_child *child);
const char *td_child_output(const td_child *child);
void td_child_delete(td_child *child);

#endif
