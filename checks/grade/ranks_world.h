/* The world of ranks, in the parent: its children start collectives and await them (ranks_wire.h), and here they meet,
 * are compared, carried out in the order of ranks, and timed by a clock that no machine disturbs.
 *
 * The clock: each rank has its own. Computing moves it on by what td_ranks_compute is told; an await moves it to the
 * collective's end. A collective begins when all ranks have started it and the one before it has ended, and takes what
 * link.h says for a ring. Reductions add in the order of ranks, in the collective's own dtype. */
#ifndef TANDEM_GRADE_RANKS_WORLD_H
#define TANDEM_GRADE_RANKS_WORLD_H

#include "ranks_wire.h"
#include "session.h"

enum { TD_RANKS = 8 };

/* What ranks do wrong to each other. */
typedef enum td_ranks_fault {
    TD_RANKS_FINE = 0,
    TD_RANKS_MISMATCH,   /* the collective of one is not that of another */
    TD_RANKS_NEVER_CAME, /* all that are left wait, for a rank that never starts it */
    TD_RANKS_UNAWAITED,  /* a step ended with a collective under way */
    TD_RANKS_TOUCHED,    /* an array was written while it was in flight */
    TD_RANKS_EARLY,      /* a gradient was given away before it was final: backward had still to write it */
    TD_RANKS_ILLEGAL,    /* a call that comm.h does not have */
    TD_RANKS_LOST        /* a rank is no more; or returned an error */
} td_ranks_fault;

typedef struct td_ranks_op {
    td_ask_start asked; /* by the rank that came first */
    int first;
    unsigned started, awaited, fetched; /* a bit a rank */
    void *data[TD_RANKS], *result;      /* of each rank until all have come; from then on */
    int64_t have[TD_RANKS];
    double ready, begin, end;
} td_ranks_op;

typedef struct td_ranks_answer {
    int ready;
    td_status status;
    td_wire_buffer bytes;
} td_ranks_answer;

typedef enum td_rank_state { TD_RANK_RUNS = 0, TD_RANK_WAITS, TD_RANK_DONE, TD_RANK_LOST } td_rank_state;

typedef struct td_ranks_world td_ranks_world;
/* The exercise's own questions (TD_ASK_OWN and on), of rank `rank`. What it returns, the submission's call returns. */
typedef td_status (*td_ranks_ask)(void *context, td_ranks_world *world, int rank, uint32_t what,
                                  td_wire_reader *question, td_wire_buffer *answer, td_error *err);

struct td_ranks_world {
    int ranks;
    td_link link;
    td_ranks_ask ask;
    void *context;

    td_ranks_op *op;
    int ops, room;
    int64_t held; /* bytes of data and results */
    int started[TD_RANKS], waits_for[TD_RANKS];
    td_rank_state state[TD_RANKS];
    td_ranks_answer answer[TD_RANKS];
    double clock[TD_RANKS], link_free;
    double sent; /* bytes that each rank has put on a ring */

    td_ranks_fault fault;   /* the first; from then on every question is refused */
    int64_t fault_count[2]; /* of a mismatch: elements there, and on the rank that came first */
    char message[400];
    td_said said[TD_RANKS]; /* how each rank ended */
    int failed;             /* the first rank that ended badly by itself; −1 */
};

void td_ranks_open(td_ranks_world *world, int ranks, td_link link, td_ranks_ask ask, void *context);
void td_ranks_close(td_ranks_world *world);
/* A question arrives. Answers that are there now, of this rank or of others that waited, are `ready`. Not TD_OK: the
 * parent's own memory. */
td_status td_ranks_hear(td_ranks_world *world, int rank, uint32_t what, td_wire_reader *question, td_error *err);
/* A rank's call is over, or the rank is. `own` = 1: for a reason of its own. */
void td_ranks_over(td_ranks_world *world, int rank, td_rank_state state, int own);
/* Call function `what` on every rank, child r with request r, and be their world until each is done or no more. */
td_status td_ranks_run(td_ranks_world *world, td_child *const *children, uint32_t what, const td_wire_buffer *requests,
                       double limit, td_error *err);

/* For the exercise's questions. */
void td_ranks_compute(td_ranks_world *world, int rank, double seconds);
/* TD_WRONG, and a fault, if this rank has started what it did not await. */
td_status td_ranks_all_awaited(td_ranks_world *world, int rank, td_error *err);
td_status td_ranks_wrong(td_ranks_world *world, td_ranks_fault fault, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ranks_carry.c: all ranks have started it: result, and times. */
td_status td_ranks_carry_out(td_ranks_world *world, td_ranks_op *op, td_error *err);

#endif
