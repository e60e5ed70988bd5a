/* A grading's private folder, of which nothing remains: not even when the grader is killed. */
#ifndef TANDEM_GRADE_SCRATCH_H
#define TANDEM_GRADE_SCRATCH_H

#include "tandem/status.h"
#include <sys/types.h>

typedef struct td_scratch {
    char path[4096];
    int lock;      /* descriptor of the folder: held as long as its grader lives */
    pid_t watcher; /* removes the folder when its grader has died, of whatever; −1: there is none */
    int alive;     /* a pipe to the watcher, that nobody writes to: it ends with its grader */
} td_scratch;

/* A new folder in $TMPDIR (else /tmp), for this user alone. Those whose graders and watchers have died are
 * removed first. */
td_status td_scratch_make(td_scratch *out, td_error *err);
void td_scratch_remove(td_scratch *scratch);

#endif
