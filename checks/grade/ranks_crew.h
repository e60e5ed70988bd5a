/* The children that are ranks, kept from case to case, and started anew where one went wrong. */
#ifndef TANDEM_GRADE_RANKS_CREW_H
#define TANDEM_GRADE_RANKS_CREW_H

#include "exercise.h"
#include "ranks_world.h"

typedef struct td_crew {
    td_grade_run *run;
    const td_grade_check *check;
    td_grade_result *result;
    double seconds; /* that a call may take */
    td_child *child[TD_RANKS];
    int given_up; /* a rank never ended: another would take as long */
} td_crew;

/* Is this case to be run (td_grade_wanted), by a crew that has not given up? */
int td_crew_wants(const td_crew *crew, const char *case_name, int secret);
/* One call of all ranks in an opened world. *answered = 1: every rank returned TD_OK, and no rank wronged another. Else
 * the result has been told what happened. */
td_status td_crew_call(td_crew *crew, td_ranks_world *world, uint32_t what, const td_wire_buffer *requests,
                       const char *case_name, int *answered, td_error *err);
void td_crew_dismiss(td_crew *crew);

#endif
