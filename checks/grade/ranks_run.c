/* Ranks as children: each is called, and what they ask is passed to their world. */
#include "ranks_world.h"

enum { LARGEST = 1 << 24 }; /* bytes of a message: a step's results are the longest */

static td_status deliver(td_ranks_world *w, td_child *const *children, td_error *err) {
    td_status status = TD_OK;
    for (int r = 0; !status && r < w->ranks; r++) {
        td_ranks_answer *a = &w->answer[r];
        if (!a->ready || w->state[r] != TD_RANK_RUNS) continue;
        a->ready = 0;
        status = td_child_answer(children[r], a->status, &a->bytes, err);
    }
    return status;
}

static int any_left(const td_ranks_world *w) {
    for (int r = 0; r < w->ranks; r++)
        if (w->state[r] == TD_RANK_RUNS || w->state[r] == TD_RANK_WAITS) return 1;
    return 0;
}

td_status td_ranks_run(td_ranks_world *w, td_child *const *children, uint32_t what, const td_wire_buffer *requests,
                       double limit, td_error *err) {
    td_status status = TD_OK;
    for (int r = 0; !status && r < w->ranks; r++)
        status = td_child_call(children[r], what, &requests[r], limit, LARGEST, err);
    while (!status && any_left(w)) {
        int which;
        td_said said;
        if ((status = deliver(w, children, err)) || (status = td_children_next(children, w->ranks, &which, &said, err)))
            break;
        if (said.outcome == TD_CHILD_FINE && said.kind == TD_WIRE_ASK) {
            status = td_ranks_hear(w, which, said.what, &said.bytes, err);
            continue;
        }
        /* Whose time is up while it waits for another has not failed by itself. */
        const int waited = w->state[which] == TD_RANK_WAITS && said.outcome == TD_CHILD_TIMED_OUT;
        const int fine = said.outcome == TD_CHILD_FINE && !said.done.status && !said.done.notes;
        w->said[which] = said;
        td_ranks_over(w, which, said.outcome ? TD_RANK_LOST : TD_RANK_DONE, !fine && !waited);
    }
    return status;
}
