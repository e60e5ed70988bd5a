/* What main.c needs of the arrays and of the socket beyond child.h. */
#ifndef TANDEM_GRADE_CHILD_ARENA_H
#define TANDEM_GRADE_CHILD_ARENA_H

#include "child.h"

/* Has an input other bytes than it came with? */
int td_child_inputs_changed(void);
/* A byte that was written beside an array that may be written; NULL: none. */
const void *td_child_outside(void);

/* All of it, or the child ends: what is wrong with the socket, nobody can be told. */
void td_child_send(uint32_t kind, uint32_t what, const void *first, size_t first_bytes, const void *rest,
                   size_t rest_bytes);
/* The next message's head; then its bytes, into pages that the caller gives back with td_child_forget. */
td_wire_head td_child_hear(char **bytes);
void td_child_forget(char *bytes, size_t count);
/* 1 while a message is half sent: a fault's words must not go into the middle of it. */
int td_child_sending(void);

#endif
