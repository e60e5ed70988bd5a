/* The board: where each rank of a host writes which collective it is in, for the others to read without a message,
 * since a rank that waits for ever in one cannot be asked. One slot a rank, in memory that all of them share; a slot is
 * written by its rank only. */
#ifndef TANDEM_CPU_REF_COMM_BOARD_H
#define TANDEM_CPU_REF_COMM_BOARD_H

#include "work.h"
#include <stdatomic.h>

/* How many collectives a slot remembers: a rank may leave some (a broadcast, by its root) before others come to them.
 */
enum { TD_BOARD_MEMORY = 64 };

typedef struct td_board_entry {
    int64_t number;
    int32_t what, dtype, reduce, root;
    uint64_t bytes;
    char label[48];
} td_board_entry;

/* How a rank stands: at work; gone in good order; failed, its message in the slot; and that message told to the user.
 */
typedef enum td_rank_state { TD_RANK_WORKS = 0, TD_RANK_LEFT, TD_RANK_FAILED, TD_RANK_TOLD } td_rank_state;

/* All zero: has begun nothing. */
typedef struct td_board_slot {
    _Atomic int64_t entered, left; /* the last collective's number */
    _Atomic int64_t beat;          /* milliseconds of the host's clock: when its thread was last at work on one */
    _Atomic int state;             /* td_rank_state */
    char message[sizeof((td_error *)0)->message];
    td_board_entry entry[TD_BOARD_MEMORY]; /* of collective k: entry[k % TD_BOARD_MEMORY] */
} td_board_slot;

typedef struct td_board {
    int rank, ranks;
    td_board_slot **slot; /* by rank; NULL on another host */
} td_board;

void td_board_enter(const td_board *board, const td_work *work);
/* To be called again and again while in it. */
void td_board_beat(const td_board *board);
void td_board_leave(const td_board *board, const td_work *work);
/* This rank stands so from now on, with a message if it has failed (else NULL). */
void td_board_end(const td_board *board, td_rank_state state, const char *message);
/* Does any rank that this one sees stand so? */
int td_board_any(const td_board *board, td_rank_state state);
/* How many have failed with just this message; 0 if a lower rank than this one has. */
int td_board_saying(const td_board *board, const char *message);
/* TD_WRONG, naming both, if a rank entered the same collective with another label, size or kind. Between two ranks that
 * enter before they compare, one at least sees the other. */
td_status td_board_compare(const td_board *board, const td_work *work, td_error *err);
/* Have all ranks come to it, none of them standing still for `silence` seconds since? What is said of one that this
 * rank cannot see is `unseen`. */
int td_board_complete(const td_board *board, const td_work *work, int unseen, double silence);
/* TD_WRONG: this rank has waited for `work` for so long; what are the others at? Half of it without a beat is standing
 * still. */
td_status td_board_hang(const td_board *board, const td_work *work, double seconds, td_error *err);

#endif
