/* What a rank in a child asks the world of ranks in the parent. Both sides include this header.
 *
 * A collective is started with its data, in pieces: whole in TD_ASK_START where they fit into one, the rest in
 * TD_ASK_MORE. TD_ASK_AWAIT is answered when all ranks have started it; what the piece in its answer does not hold is
 * fetched by TD_ASK_REST. An answer that is not TD_OK has the reason behind it, as text. */
#ifndef TANDEM_GRADE_RANKS_WIRE_H
#define TANDEM_GRADE_RANKS_WIRE_H

#include "tandem/comm.h"

enum { TD_ASK_START = 1, TD_ASK_MORE, TD_ASK_AWAIT, TD_ASK_REST, TD_ASK_EARLY, TD_ASK_OWN = 16 /* the exercise's */ };
enum { TD_RANKS_PIECE = 1 << 18, TD_RANKS_LABEL = 48 };

/* START: then the first piece of what this rank gives. */
typedef struct td_ask_start {
    int32_t what, dtype, reduce, root;
    int64_t count;
    char label[TD_RANKS_LABEL];
} td_ask_start;

/* MORE: then a piece, right behind the one before. AWAIT, REST: of this rank's collective number `work`, counted from
 * its start; AWAIT tells whether the arrays in flight were written, and REST asks from byte `at` on. */
typedef struct td_ask_work {
    int64_t work, at;
    int32_t touched, unused;
} td_ask_work;

/* EARLY: backward must write parameter i's gradient, which a collective under way holds. */
typedef struct td_ask_early {
    int32_t parameter;
    char label[TD_RANKS_LABEL];
} td_ask_early;

/* Bytes that a rank gives to a collective, and gets from it. */
static inline int64_t td_ranks_given(const td_ask_start *s, int rank, int ranks) {
    int64_t bytes = s->count * (int64_t)td_dtype_size((td_dtype)s->dtype);
    if (s->what == TD_BROADCAST) return rank == s->root ? bytes : 0;
    return s->what == TD_REDUCE_SCATTER ? bytes * ranks : bytes;
}
static inline int64_t td_ranks_gotten(const td_ask_start *s, int ranks) {
    int64_t bytes = s->count * (int64_t)td_dtype_size((td_dtype)s->dtype);
    return s->what == TD_ALL_GATHER ? bytes * ranks : bytes;
}

/* Calls of lesson 6's child: steps of a scheme; the factor alone. A request begins with td_ranks_call. */
enum { TD_DDP_STEPS = 1, TD_DDP_FACTOR };
/* NEXT: what backward has next, answered by td_ddp_next and its values, to be added to the gradient. DONE: a step is
 * over; the gradients follow, all parameters'. */
enum { TD_ASK_NEXT = TD_ASK_OWN, TD_ASK_STEP_DONE };
typedef struct td_ddp_next {
    int32_t parameter, unused; /* −1: backward is over */
    double factor;             /* for finish */
} td_ddp_next;

/* Calls of lesson 7's child: steps of Adam; the same without the submission, to know what the rest takes. */
enum { TD_ADAM_STEPS = 1, TD_ADAM_IDLE };
/* GRADIENT: from byte `at` on of parameter i's, a piece; VALUE: a piece of parameter i's values, right behind the one
 * before; STEP: a step begins or, after the last, ends: answered by td_adam_next. */
enum { TD_ASK_GRADIENT = TD_ASK_OWN, TD_ASK_VALUE, TD_ASK_STEP };
typedef struct td_ask_parameter {
    int64_t at;
    int32_t parameter, unused;
} td_ask_parameter;

/* A request: this, lesson 7's five doubles of the config in `config`, then td_ranks_parameter for each parameter, then
 * for each its array: lesson 6 the gradient, as it stands before backward; lesson 7 the values. */
typedef struct td_ranks_call {
    int32_t rank, ranks, parameters, steps;
    int64_t cap_bytes, counted;
    double config[5];
} td_ranks_call;
typedef struct td_ranks_parameter {
    int64_t count;
    int32_t frozen, uses, decay, unused;
} td_ranks_parameter;

#endif
