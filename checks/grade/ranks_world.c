#include "ranks_world.h"

enum { OPS = 100000 };
static const int64_t most_held = (int64_t)1 << 28;

void td_ranks_open(td_ranks_world *w, int ranks, td_link link, td_ranks_ask ask, void *context) {
    *w = (td_ranks_world){.ranks = ranks, .link = link, .ask = ask, .context = context, .failed = -1};
    for (int r = 0; r < ranks; r++) w->waits_for[r] = -1;
}

void td_ranks_close(td_ranks_world *w) {
    for (int k = 0; k < w->ops; k++) {
        free(w->op[k].result);
        for (int r = 0; r < w->ranks; r++) free(w->op[k].data[r]);
    }
    free(w->op);
    for (int r = 0; r < w->ranks; r++) td_wire_free(&w->answer[r].bytes);
    *w = (td_ranks_world){0};
}

void td_ranks_compute(td_ranks_world *w, int rank, double seconds) {
    w->clock[rank] += seconds;
}

/* An answer that is the fault's message. */
static td_status refuse(td_ranks_world *w, int rank) {
    td_ranks_answer *a = &w->answer[rank];
    w->state[rank] = TD_RANK_RUNS, w->waits_for[rank] = -1;
    a->ready = 1, a->status = TD_WRONG, a->bytes.bytes = 0;
    td_wire_put(&a->bytes, w->message, strlen(w->message));
    return TD_WRONG;
}

/* Who waits will not get what it waits for. */
static void release_all(td_ranks_world *w) {
    for (int r = 0; r < w->ranks; r++)
        if (w->state[r] == TD_RANK_WAITS) refuse(w, r);
}

td_status td_ranks_wrong(td_ranks_world *w, td_ranks_fault fault, const char *format, ...) {
    if (w->fault) return TD_WRONG;
    va_list args;
    va_start(args, format);
    vsnprintf(w->message, sizeof w->message, format, args);
    va_end(args);
    w->fault = fault;
    release_all(w);
    return TD_WRONG;
}

static const char *words(const td_ask_start *a) {
    static char text[4][160]; /* a message names two at most */
    static int turn;
    char *out = text[turn = (turn + 1) % 4];
    snprintf(out, sizeof text[0], "%s '%.47s' of %lld %s", td_collective_name((td_collective)a->what), a->label,
             (long long)a->count, td_dtype_name((td_dtype)a->dtype));
    return out;
}

/* The collective under way that this rank lacks, on which all hang. */
static void find_hang(td_ranks_world *w) {
    int waiting = -1;
    for (int r = 0; r < w->ranks; r++) {
        if (w->state[r] == TD_RANK_RUNS) return;
        if (w->state[r] == TD_RANK_WAITS && (waiting < 0 || w->waits_for[r] < w->waits_for[waiting])) waiting = r;
    }
    if (waiting < 0) return;
    const td_ranks_op *op = &w->op[w->waits_for[waiting]];
    int missing = 0;
    while (missing < w->ranks && op->started >> missing & 1) missing++;
    td_ranks_wrong(w, TD_RANKS_NEVER_CAME, "rank %d waits for %s, which rank %d never starts: it %s", waiting,
                   words(&op->asked), missing,
                   w->state[missing] == TD_RANK_WAITS ? "waits for another one" : "has returned");
}

/* What rank gets, from byte `at` on, into its answer. */
static void give(td_ranks_world *w, int rank, td_ranks_op *op, int64_t at) {
    td_ranks_answer *a = &w->answer[rank];
    const int64_t bytes = td_ranks_gotten(&op->asked, w->ranks);
    const int64_t piece = bytes - at < TD_RANKS_PIECE ? bytes - at : TD_RANKS_PIECE;
    const int64_t part = op->asked.what == TD_REDUCE_SCATTER ? rank * bytes : 0;
    a->ready = 1, a->status = TD_OK, a->bytes.bytes = 0;
    td_wire_put(&a->bytes, (char *)op->result + part + at, (size_t)piece);
    if (at + piece == bytes) op->fetched |= 1u << rank;
    if (op->fetched == (1u << w->ranks) - 1) {
        w->held -= op->asked.what == TD_REDUCE_SCATTER ? bytes * w->ranks : bytes;
        free(op->result);
        op->result = NULL;
    }
}

static void give_first(td_ranks_world *w, int rank, td_ranks_op *op) {
    op->awaited |= 1u << rank;
    w->state[rank] = TD_RANK_RUNS, w->waits_for[rank] = -1;
    if (w->clock[rank] < op->end) w->clock[rank] = op->end;
    give(w, rank, op, 0);
}

/* All of this rank's data is there: it has started. */
static td_status has_started(td_ranks_world *w, int rank, int number, td_error *err) {
    td_ranks_op *op = &w->op[number];
    op->started |= 1u << rank;
    if (op->ready < w->clock[rank]) op->ready = w->clock[rank];
    if (op->started != (1u << w->ranks) - 1) return TD_OK;
    td_status status = td_ranks_carry_out(w, op, err);
    for (int r = 0; !status && r < w->ranks; r++)
        if (w->state[r] == TD_RANK_WAITS && w->waits_for[r] == number) give_first(w, r, op);
    return status;
}

static td_status take_piece(td_ranks_world *w, int rank, int number, td_wire_reader *question, td_error *err) {
    td_ranks_op *op = &w->op[number];
    const int64_t bytes = td_ranks_given(&op->asked, rank, w->ranks), piece = question->end - question->at;
    if (piece > bytes - op->have[rank] || (piece == 0 && bytes > op->have[rank]))
        return td_ranks_wrong(w, TD_RANKS_ILLEGAL, "rank %d sent data that is not that of %s", rank, words(&op->asked));
    if (piece) memcpy((char *)op->data[rank] + op->have[rank], question->at, (size_t)piece);
    op->have[rank] += piece;
    w->answer[rank].ready = 1, w->answer[rank].status = TD_OK, w->answer[rank].bytes.bytes = 0;
    return op->have[rank] == bytes ? has_started(w, rank, number, err) : TD_OK;
}

static int legal(const td_ranks_world *w, const td_ask_start *a) {
    const int reduction = a->what == TD_ALL_REDUCE || a->what == TD_REDUCE_SCATTER;
    return a->what >= 0 && a->what < TD_COLLECTIVES && a->dtype >= 0 && a->dtype < TD_DTYPES && a->count >= 0 &&
           a->count <= most_held && a->label[TD_RANKS_LABEL - 1] == '\0' &&
           (!reduction || (a->dtype <= TD_F32 && a->reduce >= TD_SUM && a->reduce <= TD_MIN)) &&
           (a->what != TD_BROADCAST || (a->root >= 0 && a->root < w->ranks));
}

static int same(const td_ask_start *a, const td_ask_start *b) {
    const int reduction = a->what == TD_ALL_REDUCE || a->what == TD_REDUCE_SCATTER;
    return a->what == b->what && a->dtype == b->dtype && a->count == b->count &&
           (!reduction || a->reduce == b->reduce) && (a->what != TD_BROADCAST || a->root == b->root);
}

static td_status more_room(td_ranks_world *w, td_error *err) {
    if (w->ops < w->room) return TD_OK;
    const int room = 2 * w->room + 64;
    td_ranks_op *more = realloc(w->op, (size_t)room * sizeof *more);
    if (!more) return td_fail(err, TD_NO_MEMORY, "no memory for %d collectives", room);
    w->op = more, w->room = room;
    return TD_OK;
}

static td_status start(td_ranks_world *w, int rank, td_wire_reader *question, td_error *err) {
    td_ask_start a;
    const int number = w->started[rank];
    if (!td_wire_get(question, &a, sizeof a) || !legal(w, &a) || number == OPS)
        return td_ranks_wrong(w, TD_RANKS_ILLEGAL,
                              number == OPS ? "rank %d started too many collectives"
                                            : "rank %d started a collective that comm.h does not have: reductions take "
                                              "f32 and f64, count is 0 or more, root a rank",
                              rank);
    if (number == w->ops) {
        td_status status = more_room(w, err);
        if (status) return status;
        w->op[w->ops++] = (td_ranks_op){.asked = a, .first = rank};
    }
    td_ranks_op *op = &w->op[number];
    const td_ask_start *first = &op->asked;
    if (!same(first, &a)) {
        w->fault_count[0] = a.count, w->fault_count[1] = first->count;
        return td_ranks_wrong(w, TD_RANKS_MISMATCH,
                              "collective %d is %s on rank %d, but %s on rank %d: every rank must start the same in "
                              "the same order",
                              number, words(&a), rank, words(first), op->first);
    }
    const int64_t bytes = td_ranks_given(&a, rank, w->ranks);
    if (bytes > most_held - w->held)
        return td_ranks_wrong(w, TD_RANKS_ILLEGAL, "rank %d: more than %lld bytes are in flight with %s", rank,
                              (long long)most_held, words(&a));
    op->data[rank] = malloc((size_t)bytes + 1);
    if (!op->data[rank]) return td_fail(err, TD_NO_MEMORY, "no memory for a rank's data");
    w->held += bytes;
    w->started[rank]++;
    return take_piece(w, rank, number, question, err);
}

/* MORE, AWAIT and REST name one of the rank's own collectives. */
static td_status on_work(td_ranks_world *w, int rank, uint32_t what, td_wire_reader *question, td_error *err) {
    td_ask_work ask;
    const unsigned bit = 1u << rank;
    if (!td_wire_get(question, &ask, sizeof ask) || ask.work < 0 || ask.work >= w->started[rank])
        return td_ranks_wrong(w, TD_RANKS_ILLEGAL, "rank %d awaits what it has not started", rank);
    td_ranks_op *op = &w->op[ask.work];
    if (what == TD_ASK_MORE && !(op->started & bit)) return take_piece(w, rank, (int)ask.work, question, err);
    if (what == TD_ASK_REST && (op->awaited & bit) && op->result && ask.at >= 0 &&
        ask.at <= td_ranks_gotten(&op->asked, w->ranks)) {
        give(w, rank, op, ask.at);
        return TD_OK;
    }
    if (what != TD_ASK_AWAIT || (op->awaited & bit) || !(op->started & bit))
        return td_ranks_wrong(w, TD_RANKS_ILLEGAL, "rank %d awaits %s twice", rank, words(&op->asked));
    if (ask.touched)
        return td_ranks_wrong(w, TD_RANKS_TOUCHED, "rank %d: an array was written while %s was under way", rank,
                              words(&op->asked));
    if (op->started == (1u << w->ranks) - 1) {
        give_first(w, rank, op);
    } else {
        w->state[rank] = TD_RANK_WAITS, w->waits_for[rank] = (int)ask.work;
    }
    return TD_OK;
}

static td_status early(td_ranks_world *w, int rank, td_wire_reader *question) {
    td_ask_early ask;
    if (!td_wire_get(question, &ask, sizeof ask)) memset(&ask, 0, sizeof ask);
    return td_ranks_wrong(w, TD_RANKS_EARLY,
                          "rank %d: backward has still to write parameter %d's gradient, and '%.47s' holds it already",
                          rank, ask.parameter, ask.label);
}

static td_status own_question(td_ranks_world *w, int rank, uint32_t what, td_wire_reader *question) {
    td_ranks_answer *a = &w->answer[rank];
    td_error own = {TD_OK, ""};
    if (what < TD_ASK_OWN) return td_ranks_wrong(w, TD_RANKS_ILLEGAL, "rank %d asked what has no meaning", rank);
    td_status status = w->ask(w->context, w, rank, what, question, &a->bytes, &own);
    if (status) return td_ranks_wrong(w, TD_RANKS_ILLEGAL, "rank %d: %s", rank, own.message);
    a->ready = 1, a->status = TD_OK;
    return TD_OK;
}

td_status td_ranks_hear(td_ranks_world *w, int rank, uint32_t what, td_wire_reader *question, td_error *err) {
    td_ranks_answer *a = &w->answer[rank];
    td_status status = TD_OK;
    a->ready = 0, a->bytes.bytes = 0;
    if (w->fault)
        refuse(w, rank);
    else if (what == TD_ASK_START)
        status = start(w, rank, question, err);
    else if (what == TD_ASK_MORE || what == TD_ASK_AWAIT || what == TD_ASK_REST)
        status = on_work(w, rank, what, question, err);
    else if (what == TD_ASK_EARLY)
        status = early(w, rank, question);
    else
        status = own_question(w, rank, what, question);
    if (status && !w->fault) return status; /* the parent's own */
    if (status) refuse(w, rank);
    find_hang(w);
    for (int r = 0; r < w->ranks; r++)
        if (w->answer[r].bytes.failed) return td_fail(err, TD_NO_MEMORY, "no memory for an answer");
    return TD_OK;
}

void td_ranks_over(td_ranks_world *w, int rank, td_rank_state state, int own) {
    td_error told;
    w->state[rank] = state, w->waits_for[rank] = -1;
    if (own && w->failed < 0 && !w->fault) w->failed = rank;
    if (own)
        td_ranks_wrong(w, TD_RANKS_LOST, "rank %d is no more", rank);
    else if (state == TD_RANK_DONE)
        td_ranks_all_awaited(w, rank, &told);
    find_hang(w);
}

td_status td_ranks_all_awaited(td_ranks_world *w, int rank, td_error *err) {
    for (int k = 0; k < w->started[rank] && !w->fault; k++)
        if (!(w->op[k].awaited >> rank & 1))
            td_ranks_wrong(w, TD_RANKS_UNAWAITED, "rank %d never awaits %s: its result is not there yet", rank,
                           words(&w->op[k].asked));
    return w->fault ? td_fail(err, TD_WRONG, "%.300s", w->message) : TD_OK;
}
