/* The td_comm that a submission is given: this rank's side of a world that is in the parent (ranks_wire.h). */
#ifndef TANDEM_GRADE_CHILD_COMM_H
#define TANDEM_GRADE_CHILD_COMM_H

#include "../ranks_wire.h"
#include "child.h"

/* Rank `rank` of `ranks`, nothing under way; one a process, valid until the next is asked for. */
td_comm *td_child_comm(int rank, int ranks);
/* Ask, and have the world's own words in err where it refuses. */
td_status td_child_ask_world(uint32_t what, const void *question, size_t bytes, td_wire_reader *answer, td_error *err);
/* The same with `head` and a piece of data behind it (at most TD_RANKS_PIECE) as one question. */
td_status td_child_ask_with(uint32_t what, const void *head, size_t head_bytes, const char *data, int64_t piece,
                            td_wire_reader *answer, td_error *err);

#endif
