/* Saving and loading Adam's states: rank 0 holds the file, the owners their parts, and pieces of a few MiB go from one
 * to the other, so that no rank ever needs memory for all. */
#include "adam_file.h"
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 20 }; /* elements */

typedef struct mover {
    td_adam *adam;
    td_adam_file file; /* rank 0's */
    char *host;        /* rank 0's: a piece as the file has it */
    char *staging;     /* a piece on its way, in the engine's memory */
    td_status status;  /* of this rank's own doing; the ranks go on together until they agree on it */
    td_error error;
} mover;

/* m or v of one part, elements [first, first + count) of it. */
typedef struct piece {
    const td_adam_part *part;
    char *own; /* where this rank has it, or NULL */
    int64_t count;
    size_t bytes;
} piece;

static int alone(const td_adam *adam) {
    return adam->ranks == 1;
}

/* If a rank failed, all fail, with the message of the lowest that did. */
static td_status agree(mover *m, td_error *err) {
    td_adam *adam = m->adam;
    if (!alone(adam)) {
        double first = m->status ? adam->rank : adam->ranks;
        td_status status = td_comm_agree(adam->comm, TD_MIN, &first, 1, "Adam's states", err);
        if (status) return status;
        if (first < adam->ranks) {
            td_call call = {TD_BROADCAST,
                            TD_F32,
                            TD_SUM,
                            (int)first,
                            sizeof m->error / sizeof(float),
                            NULL,
                            (void *)&m->error,
                            "why Adam's states were refused"};
            if ((status = td_comm_run(adam->comm->host, &call, err))) return status;
            m->status = m->error.status;
        }
    }
    return m->status ? td_fail(err, m->status, "%s", m->error.message) : TD_OK;
}

static void note(mover *m, td_status status) {
    if (!m->status && status) m->status = m->error.status = status;
}

/* A broadcast of a piece; `from` and `to` are in the engine's memory. */
static td_status send(mover *m, const piece *p, int root, void *data, td_error *err) {
    const td_call call = {TD_BROADCAST, m->adam->dtype, TD_SUM, root, p->count, NULL, data, "Adam's states"};
    td_status status = td_comm_run(m->adam->comm, &call, err);
    return status ? status : td_comm_finish(m->adam->comm, err);
}

static td_status save_piece(mover *m, const piece *p, td_error *err) {
    td_adam *adam = m->adam;
    const int owner = p->part->owner, at_rank_0 = owner == 0 || owner == TD_ADAM_EVERYBODY;
    td_status status = at_rank_0 ? TD_OK : send(m, p, owner, p->own ? p->own : m->staging, err);
    if (status || adam->rank != 0) return status;
    status = adam->engine.download(m->host, at_rank_0 ? p->own : m->staging, p->bytes, err);
    if (!status) td_adam_file_write(&m->file, m->host, p->bytes);
    return status;
}

static td_status load_piece(mover *m, const piece *p, td_error *err) {
    td_adam *adam = m->adam;
    td_status status = TD_OK;
    if (adam->rank == 0) {
        note(m, td_adam_file_read(&m->file, m->host, p->bytes, &m->error));
        status = adam->engine.upload(p->own ? p->own : m->staging, m->host, p->bytes, err);
    }
    if (status || p->part->owner == 0 || alone(adam)) return status;
    return send(m, p, 0, p->own ? p->own : m->staging, err);
}

static td_status for_each_piece(mover *m, td_status (*move)(mover *, const piece *, td_error *), td_error *err) {
    const td_adam *adam = m->adam;
    const size_t size = td_dtype_size(adam->dtype);
    for (int which = 0; which < 2; which++)
        for (const td_adam_part *part = adam->part; part < adam->part + adam->parts; part++)
            for (int64_t first = 0; first < part->count; first += PIECE) {
                char *own = which == 0 ? part->m : part->v;
                piece p = {part, own ? own + (size_t)first * size : NULL, part->count - first, 0};
                if (p.count > PIECE) p.count = PIECE;
                p.bytes = (size_t)p.count * size;
                td_status status = move(m, &p, err);
                if (status) return status;
            }
    return TD_OK;
}

static void open_mover(mover *m) {
    const td_allocator *a = &m->adam->engine.allocator;
    const size_t bytes = PIECE * td_dtype_size(m->adam->dtype);
    m->staging = a->alloc(a->context, bytes, TD_MEM_COMMUNICATION);
    m->host = m->adam->rank == 0 ? malloc(bytes) : NULL;
    if (!m->staging || (m->adam->rank == 0 && !m->host))
        note(m, td_fail(&m->error, TD_NO_MEMORY, "Adam: no memory for %zu bytes of states on their way", bytes));
}

static void close_mover(mover *m) {
    const td_allocator *a = &m->adam->engine.allocator;
    if (m->staging) a->free(a->context, m->staging);
    free(m->host);
    td_adam_file_discard(&m->file);
    free(m);
}

static mover *new_mover(td_adam *adam, td_error *err) {
    mover *m = calloc(1, sizeof *m);
    if (!m) {
        td_fail(err, TD_NO_MEMORY, "Adam: no memory to move states");
        return NULL;
    }
    m->adam = adam;
    open_mover(m);
    return m;
}

td_status td_adam_save(td_adam *adam, const char *path, td_error *err) {
    mover *m = new_mover(adam, err);
    if (!m) return TD_NO_MEMORY;
    if (!m->status && adam->rank == 0) note(m, td_adam_file_create(&m->file, path, adam, &m->error));
    td_status status = agree(m, err);
    if (!status) status = for_each_piece(m, save_piece, err);
    if (!status && adam->rank == 0) note(m, td_adam_file_end(&m->file, &m->error));
    if (!status) status = agree(m, err);
    close_mover(m);
    return status;
}

td_status td_adam_load(td_adam *adam, const char *path, td_error *err) {
    mover *m = new_mover(adam, err);
    if (!m) return TD_NO_MEMORY;
    if (!m->status && adam->rank == 0) note(m, td_adam_file_open(&m->file, path, adam, &m->error));
    td_status status = agree(m, err);
    td_adam_header *header = &m->file.header;
    const td_call call = {TD_BROADCAST, TD_F32, TD_SUM,         0, sizeof *header / sizeof(float),
                          NULL,         header, "Adam's header"};
    if (!status && !alone(adam)) status = td_comm_run(adam->comm->host, &call, err);
    if (!status) status = for_each_piece(m, load_piece, err);
    if (!status) status = agree(m, err);
    if (!status) {
        adam->steps = header->steps;
        memcpy(adam->group, header->group, sizeof adam->group);
    }
    close_mover(m);
    return status;
}
