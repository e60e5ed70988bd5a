/* A child as the session's own files see it. */
#ifndef TANDEM_GRADE_SESSION_STATE_H
#define TANDEM_GRADE_SESSION_STATE_H

#include "../../cpu_ref/clock.h"
#include "session.h"

enum {
    TD_PRINTED_KEPT = 16384,   /* of what a child prints */
    TD_PRINTED_MOST = 4 << 20, /* more, and it is ended */
    TD_FAULT_LENGTH = 400
};

struct td_child {
    const td_sandbox *sandbox;
    td_limits limits;
    td_process process;
    td_ended ended;
    int fd; /* our end of the socket; −1 once it has ended */

    int waited_for; /* it owes a message */
    int greeted;    /* its HELLO has come: from now on ASK and DONE are legal */
    uint32_t what;  /* of the call under way */
    double began, deadline, limit;
    double looked; /* when its memory was last looked at */
    size_t largest;

    td_wire_head head; /* of the message that is coming in */
    size_t got;        /* bytes of head and body that are here */
    char *body;

    td_outcome outcome; /* not fine: it is over, and this is why */
    char why[400];
    char printed[TD_PRINTED_KEPT + 1];
    size_t prints; /* all of it, kept or not */
};

/* It is over: ended, and this is why. The first reason stays. */
void td_child_over(td_child *child, td_outcome outcome, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Its connection is closed: how did it end? */
void td_child_lost(td_child *child);
/* Between calls it stands still, whatever its threads are at: nothing is done outside the clock, or to other children's
 * time. */
void td_child_sleep(td_child *child, int asleep);
/* Read what it has printed until now. */
void td_child_drain(td_child *child);
/* Read from the socket without waiting. 1: a message is complete, and legal. */
int td_child_hear_some(td_child *child);

#endif
