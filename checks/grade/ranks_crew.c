#include "ranks_crew.h"

int td_crew_wants(const td_crew *crew, const char *case_name, int secret) {
    return !crew->given_up && td_grade_wanted(crew->run, crew->check, case_name, secret);
}

void td_crew_dismiss(td_crew *crew) {
    for (int r = 0; r < TD_RANKS; r++) {
        td_grade_let_go(crew->run, crew->child[r]);
        crew->child[r] = NULL;
    }
}

td_status td_crew_call(td_crew *crew, td_ranks_world *w, uint32_t what, const td_wire_buffer *requests,
                       const char *case_name, int *answered, td_error *err) {
    td_status status = TD_OK;
    *answered = 0;
    for (int r = 0; !status && r < w->ranks; r++)
        if (!crew->child[r]) status = td_grade_start(crew->run, crew->check, &crew->child[r], err);
    if (!status) status = td_ranks_run(w, crew->child, what, requests, td_grade_limit(crew->run, crew->seconds), err);
    *answered = !status && !w->fault && w->failed < 0;
    if (*answered) return TD_OK;
    for (int r = 0; r < w->ranks; r++) crew->given_up |= w->said[r].outcome == TD_CHILD_TIMED_OUT;
    if (!status && w->failed >= 0) {
        td_grade_outcome(crew->result, case_name, &w->said[w->failed]);
    } else if (!status) {
        td_grade_wrong(crew->result, case_name, "%s", w->message);
    }
    td_crew_dismiss(crew); /* who knows what the others are in the middle of */
    return status;
}
