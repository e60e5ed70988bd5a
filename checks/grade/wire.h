/* What the grader and a child say to each other, over one stream socket. The child runs a submission's code and so may
 * say anything: whoever reads here checks every length, and believes nothing but that these bytes came.
 *
 *   child   HELLO                      once, when main begins
 *   parent  CALL what, request         run function number `what` of the exercise
 *   child   ASK what, question         the submission called the world: a device, a link, the next gradient …
 *   parent  ANSWER what, answer        … which is in the parent: td_status, then whatever belongs to the question
 *   child   DONE, td_wire_done, reply  the function returned
 *   child   FAULT, text                it was stopped: which buffer, which element, and the child ends
 *
 * The clock of a call runs in the parent from the first byte of CALL to the last of DONE, and inputs are new in every
 * call: what is not done in between is not done at all. Both sides include this header; it needs no harness. */
#ifndef TANDEM_GRADE_WIRE_H
#define TANDEM_GRADE_WIRE_H

#include "tandem/status.h"
#include "tandem/tensor.h"
#include <stdlib.h>
#include <string.h>

enum { TD_WIRE_FD = 3 }; /* the child's end, the only descriptor that it has beside 0, 1, 2 */

typedef enum td_wire_kind {
    TD_WIRE_HELLO = 0x7d01,
    TD_WIRE_CALL,
    TD_WIRE_ASK,
    TD_WIRE_ANSWER,
    TD_WIRE_DONE,
    TD_WIRE_FAULT
} td_wire_kind;

typedef struct td_wire_head {
    uint32_t kind, what;
    uint64_t bytes; /* that follow */
} td_wire_head;

enum { TD_NOTE_INPUT_CHANGED = 1, TD_NOTE_ROUNDING = 2 }; /* in td_wire_done.notes */
typedef struct td_wire_done {
    int32_t status; /* td_status that the function returned */
    uint32_t notes;
    char message[320];
} td_wire_done;

/* A tensor in a request: this, then for an input `elements` elements of its dtype. In the child its storage stands
 * against a page that may not be touched: behind its end, or before its start (at_start). The storage of an output
 * arrives full of bytes 0xFF and is sent back whole, so that the parent sees the places between elements too. */
typedef struct td_wire_tensor {
    int32_t dtype, is_output, at_start, wanted; /* wanted = 0: data is NULL, and nothing is sent */
    int64_t size[4], stride[4];
    int64_t first, elements; /* where element (0,0,0,0) lies in the storage, and how long that is */
} td_wire_tensor;

/* Bytes being put together. A failed allocation is remembered: `failed` is looked at once, before sending. */
typedef struct td_wire_buffer {
    char *data;
    size_t bytes, room;
    int failed;
} td_wire_buffer;

static inline void *td_wire_room(td_wire_buffer *b, size_t bytes) {
    if (b->failed || bytes > SIZE_MAX / 4 - b->bytes) {
        b->failed = 1;
        return NULL;
    }
    if (b->bytes + bytes > b->room) {
        size_t room = 2 * (b->bytes + bytes) + 256;
        char *more = realloc(b->data, room);
        if (!more) {
            b->failed = 1;
            return NULL;
        }
        b->data = more, b->room = room;
    }
    b->bytes += bytes;
    return b->data + b->bytes - bytes;
}

static inline void td_wire_put(td_wire_buffer *b, const void *data, size_t bytes) {
    void *to = td_wire_room(b, bytes);
    if (to && bytes) memcpy(to, data, bytes);
}

static inline void td_wire_free(td_wire_buffer *b) {
    free(b->data);
    *b = (td_wire_buffer){NULL, 0, 0, 0};
}

/* Bytes being taken apart. */
typedef struct td_wire_reader {
    const char *at, *end;
} td_wire_reader;

/* The next `bytes`, in place; NULL if there are not that many. */
static inline const void *td_wire_take(td_wire_reader *r, size_t bytes) {
    if (bytes > (size_t)(r->end - r->at)) return NULL;
    r->at += bytes;
    return r->at - bytes;
}

/* 1, or 0 if there are not that many. */
static inline int td_wire_get(td_wire_reader *r, void *out, size_t bytes) {
    const void *from = td_wire_take(r, bytes);
    if (from && bytes) memcpy(out, from, bytes);
    return from != NULL;
}

#endif
