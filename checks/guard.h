/* Buffers that notice misuse: poisoned with NaN before a run, guard bands on both sides, inputs hashed.
 *
 * A band holds a fixed pattern; td_guard_check finds a byte changed in either band. The body of a read-only buffer is
 * hashed when sealed and again when checked. */
#ifndef TANDEM_CHECKS_GUARD_H
#define TANDEM_CHECKS_GUARD_H

#include "tandem/alloc.h"
#include "tandem/status.h"
#include "tandem/tensor.h"

/* Bytes of one band: wider than a row of 256 doubles, so that a whole row written too far is seen and does no harm. */
enum { TD_GUARD_BAND = 4096 };

typedef struct td_guarded {
    void *data; /* the body, aligned to 64 bytes */
    size_t bytes;
    void *block;      /* what was allocated: band, body, band */
    uint64_t hash;    /* of the body when sealed; 0 = not sealed */
    const char *name; /* for messages: "Q", "O", "workspace" */
} td_guarded;

td_status td_guard_new(td_guarded *buffer, const char *name, size_t bytes, const td_allocator *allocator, td_tag tag,
                       td_error *err);
void td_guard_free(td_guarded *buffer, const td_allocator *allocator);
/* Fill the body with NaN of `dtype` (all bytes 0xFF are a NaN in each of the four types). */
void td_guard_poison(td_guarded *buffer);
/* Remember the hash of the body: from here on it is an input. */
void td_guard_seal(td_guarded *buffer);
/* TD_WRONG, naming buffer and offset, if a band was written or a sealed body changed. */
td_status td_guard_check(const td_guarded *buffer, td_error *err);
/* 64-bit hash of bytes (FNV-1a over 8-byte words, finished by an avalanche); equal bytes, equal hash. */
uint64_t td_hash(const void *data, size_t bytes);

#endif
