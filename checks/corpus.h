/* A text to learn from, byte by byte, and the batches drawn from it. */
#ifndef TANDEM_CHECKS_CORPUS_H
#define TANDEM_CHECKS_CORPUS_H

#include "tandem/alloc.h"
#include "tandem/status.h"
#include <stdint.h>

typedef struct td_corpus {
    unsigned char *bytes;
    int64_t length;
} td_corpus;

/* Read the whole file. TD_IO if it cannot be read, is empty or no regular file. The bytes come with the data tag; free
 * them with td_corpus_free. */
td_status td_corpus_load(td_corpus *corpus, const char *path, const td_allocator *allocator, td_error *err);
void td_corpus_free(td_corpus *corpus, const td_allocator *allocator);

/* B samples of T bytes: tokens (B,T), and as targets (B,T) the byte after each. Where sample first + b begins depends
 * on (seed, step, first + b) only, so ranks that share a global batch draw its parts: rank r takes first = r·B.
 * TD_BAD_PARAM if the text is shorter than T + 1 bytes. */
td_status td_corpus_batch(const td_corpus *corpus, uint64_t seed, int64_t step, int64_t first, int64_t B, int64_t T,
                          int32_t *tokens, int32_t *targets, td_error *err);

#endif
