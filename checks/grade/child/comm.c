/* Collectives as questions. What a collective will write is filled with bytes 0xFF, NaN, from its start to its await:
 * whoever reads it too early has NaN. And who writes an array that is in flight is found at its await: hashes of what
 * the collective reads and writes, taken after its start, must still be theirs. */
#include "comm.h"

enum { WORKS = 4096 };

struct td_work {
    td_call call;
    td_ask_start asked;
    int64_t number;
    uint64_t in_hash, out_hash;
    int awaited;
};

static td_work works[WORKS]; /* a ring: this many under way at most */
static int64_t started;

static uint64_t hash(const void *data, int64_t bytes) {
    const unsigned char *at = data;
    uint64_t h = 0xcbf29ce484222325u, word;
    for (; bytes >= 8; at += 8, bytes -= 8) {
        memcpy(&word, at, 8);
        h = (h ^ word) * 0x100000001b3u;
        h ^= h >> 29;
    }
    for (; bytes > 0; at++, bytes--) h = (h ^ *at) * 0x100000001b3u;
    return h;
}

td_status td_child_ask_world(uint32_t what, const void *question, size_t bytes, td_wire_reader *answer, td_error *err) {
    td_status status = td_child_ask(what, question, bytes, answer, err);
    const int said = (int)(answer->end - answer->at);
    return status && said ? td_fail(err, status, "%.*s", said, answer->at) : status;
}

/* What the collective reads where it does not read `out`. */
static const void *in_of(const td_work *w) {
    return w->call.what == TD_ALL_REDUCE || w->call.what == TD_BROADCAST ? NULL : w->call.in;
}

static int64_t in_bytes(const td_comm *comm, const td_work *w) {
    return in_of(w) ? td_ranks_given(&w->asked, comm->rank, comm->ranks) : 0;
}

td_status td_child_ask_with(uint32_t what, const void *head, size_t head_bytes, const char *data, int64_t piece,
                            td_wire_reader *answer, td_error *err) {
    static char question[sizeof(td_ask_start) + TD_RANKS_PIECE];
    memcpy(question, head, head_bytes);
    if (piece) memcpy(question + head_bytes, data, (size_t)piece);
    return td_child_ask_world(what, question, head_bytes + (size_t)piece, answer, err);
}

static int64_t piece_of(int64_t left) {
    return left < TD_RANKS_PIECE ? left : TD_RANKS_PIECE;
}

static td_status send(const td_comm *comm, td_work *w, td_error *err) {
    const char *data = in_of(w) ? in_of(w) : w->call.out;
    const int64_t bytes = td_ranks_given(&w->asked, comm->rank, comm->ranks);
    td_wire_reader answer;
    int64_t sent = piece_of(bytes);
    td_status status = td_child_ask_with(TD_ASK_START, &w->asked, sizeof w->asked, data, sent, &answer, err);
    for (int64_t piece; !status && sent < bytes; sent += piece) {
        const td_ask_work more = {w->number, sent, 0, 0};
        piece = piece_of(bytes - sent);
        status = td_child_ask_with(TD_ASK_MORE, &more, sizeof more, data + sent, piece, &answer, err);
    }
    return status;
}

static td_status start(td_comm *comm, const td_call *call, td_work **work, td_error *err) {
    td_work *w = &works[started % WORKS];
    *work = NULL;
    if ((unsigned)call->what >= TD_COLLECTIVES || (unsigned)call->dtype >= TD_DTYPES || call->count < 0)
        return td_fail(err, TD_BAD_PARAM, "%s: no collective, no dtype, or a negative count",
                       call->label ? call->label : "?");
    if (started >= WORKS && !w->awaited)
        return td_fail(err, TD_UNSUPPORTED, "more than %d collectives are under way", WORKS);
    *w = (td_work){.call = *call, .number = started};
    w->asked = (td_ask_start){call->what, call->dtype, call->reduce, call->root, call->count, ""};
    snprintf(w->asked.label, sizeof w->asked.label, "%s", call->label ? call->label : "?");
    td_status status = send(comm, w, err);
    if (status) return status;
    started++;
    const int64_t out = td_ranks_gotten(&w->asked, comm->ranks);
    if (out && (call->what != TD_BROADCAST || comm->rank != call->root)) memset(call->out, 0xFF, (size_t)out);
    w->out_hash = hash(call->out, out);
    w->in_hash = hash(in_of(w), in_bytes(comm, w));
    *work = w;
    return TD_OK;
}

static td_status await(td_comm *comm, td_work *work, td_error *err) {
    td_wire_reader answer;
    if (work < works || work >= works + WORKS || work->awaited || work->number >= started)
        return td_fail(err, TD_WRONG, "await of what was not started, or was awaited before");
    const int64_t bytes = td_ranks_gotten(&work->asked, comm->ranks);
    td_ask_work ask = {work->number, 0, 0, 0};
    ask.touched =
        hash(work->call.out, bytes) != work->out_hash || hash(in_of(work), in_bytes(comm, work)) != work->in_hash;
    work->awaited = 1;
    td_status status = td_child_ask_world(TD_ASK_AWAIT, &ask, sizeof ask, &answer, err);
    for (int64_t piece; !status && ask.at < bytes; ask.at += piece) {
        if (ask.at > 0 && (status = td_child_ask_world(TD_ASK_REST, &ask, sizeof ask, &answer, err))) break;
        piece = piece_of(bytes - ask.at);
        if (!td_wire_get(&answer, (char *)work->call.out + ask.at, (size_t)piece))
            status = td_fail(err, TD_INTERNAL, "%s: the answer is too short", work->asked.label);
    }
    return status;
}

static int overlap(const char *a, size_t a_bytes, const char *b, size_t b_bytes) {
    return a && b && a < b + b_bytes && b < a + a_bytes;
}

static td_status writable(const td_comm *comm, const void *array, size_t bytes, td_error *err) {
    for (int64_t k = started > WORKS ? started - WORKS : 0; k < started; k++) {
        const td_work *w = &works[k % WORKS];
        if (w->awaited) continue;
        if (overlap(array, bytes, w->call.out, (size_t)td_ranks_gotten(&w->asked, comm->ranks)) ||
            overlap(array, bytes, in_of(w), (size_t)in_bytes(comm, w)))
            return td_fail(err, TD_WRONG, "%s", w->asked.label);
    }
    return TD_OK;
}

static td_status simulate(td_comm *comm, td_link link, td_error *err) {
    (void)comm;
    return link.alpha == 0 && link.beta == 0 ? TD_OK : td_fail(err, TD_UNSUPPORTED, "the link is the grader's");
}

static td_status record(td_comm *comm, int most, td_error *err) {
    (void)comm;
    return most == 0 ? TD_OK : td_fail(err, TD_UNSUPPORTED, "the grader records, not its ranks");
}

static int events(td_comm *comm, const td_comm_event **list) {
    (void)comm;
    *list = NULL;
    return 0;
}

static void destroy(td_comm *comm) {
    (void)comm; /* it is no memory of its own */
}

td_comm *td_child_comm(int rank, int ranks) {
    static td_comm comm;
    started = 0;
    comm = (td_comm){.rank = rank,
                     .ranks = ranks,
                     .backend = TD_CPU,
                     .name = "grader",
                     .host = &comm,
                     .limit = 8,
                     .start = start,
                     .await = await,
                     .writable = writable,
                     .simulate = simulate,
                     .record = record,
                     .events = events,
                     .destroy = destroy};
    return &comm;
}
