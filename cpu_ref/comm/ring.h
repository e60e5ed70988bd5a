/* The ring all-reduce, step by step, in one process: rank r is arrays[r]. For showing how it works; ranks that compute
 * leave it to MPI or NCCL.
 *
 * Each array is cut into N chunks. In step s of N − 1 every rank sends one chunk to its right neighbour, all at the
 * same time, and adds what comes from the left to its own: after them rank r holds the whole sum of chunk (r + 1) mod N
 * (reduce-scatter). In N − 1 more steps the finished chunks go round (all-gather). A rank sends 2·(N − 1)/N of its
 * array in all, whatever N is, which no algorithm can do with less (Patarasu & Yuan 2009, theorem 1). */
#ifndef TANDEM_CPU_REF_COMM_RING_H
#define TANDEM_CPU_REF_COMM_RING_H

#include "tandem/status.h"
#include <stddef.h>
#include <stdint.h>

typedef struct td_ring {
    int ranks;
    int64_t count;  /* elements of an array */
    float **arrays; /* arrays[r]: rank r's */
    int step;       /* of the 2·(N − 1), from 0 on: just done */
    int gathering;  /* 0: chunks are added; 1: finished ones copied */
    size_t sent;    /* bytes that rank 0 has sent so far */
    size_t most;    /* bytes that any rank has sent so far: chunks differ by an element where N does not divide count */
} td_ring;

/* Called after each step. */
typedef void (*td_ring_shown)(void *context, const td_ring *ring);

/* Chunk k is [td_ring_chunk(ring, k), td_ring_chunk(ring, k + 1)). */
int64_t td_ring_chunk(const td_ring *ring, int k);
/* Which chunk rank r sends in the ring's step. */
int td_ring_sends(const td_ring *ring, int r);

/* arrays[r][i] ← Σ over ranks of arrays[·][i]: the same bits on all ranks. `shown` may be NULL. `end`, unless NULL, is
 * the ring as it stands at the end. TD_BAD_PARAM for ranks < 1 or count < 0. */
td_status td_ring_all_reduce(float **arrays, int ranks, int64_t count, td_ring_shown shown, void *context, td_ring *end,
                             td_error *err);

#endif
