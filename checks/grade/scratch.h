/* A grading's private folder, of which nothing remains: not even when the grader is killed. */
#ifndef TANDEM_GRADE_SCRATCH_H
#define TANDEM_GRADE_SCRATCH_H

#include "tandem/status.h"

typedef struct td_scratch {
    char path[4096];
    int lock; /* descriptor of the folder: held as long as its grader lives */
} td_scratch;

/* A new folder in $TMPDIR (else /tmp), for this user alone. Those whose graders have died are removed first. */
td_status td_scratch_make(td_scratch *out, td_error *err);
void td_scratch_remove(td_scratch *scratch);

#endif
