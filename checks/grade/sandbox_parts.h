/* What the sandbox's files share. */
#ifndef TANDEM_GRADE_SANDBOX_PARTS_H
#define TANDEM_GRADE_SANDBOX_PARTS_H

#include "sandbox.h"

/* A uid under which nothing runs and that owns nothing, kept for us alone until *lock is closed. Only root can use one;
 * TD_UNSUPPORTED if all are taken. */
td_status td_uid_take(uid_t *uid, int *lock, td_error *err);
/* Kill all that runs under it. */
void td_uid_kill(uid_t uid);

/* Full path of bwrap, or NULL. */
const char *td_bubblewrap(void);

/* A process by its descriptor, which no other process can come to have. −1: it is no more. */
int td_process_handle(pid_t pid);
/* 1 once it has ended; waits at most `seconds`. */
int td_process_gone(int handle, double seconds);

#endif
