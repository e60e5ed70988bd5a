#include "ring.h"
#include <stdlib.h>

int64_t td_ring_chunk(const td_ring *ring, int k) {
    return ring->count / ring->ranks * k + ring->count % ring->ranks * k / ring->ranks;
}

int td_ring_sends(const td_ring *ring, int r) {
    int n = ring->ranks, reducing = n - 1;
    /* a rank sends its own chunk first, then what it received last; it begins to gather with the one that it finished
     */
    int k = ring->gathering ? r + 1 - (ring->step - reducing) : r - ring->step;
    return ((k % n) + n) % n;
}

/* Within a step no rank sends the chunk that it receives: one may go after the other, and it is as if all went at once.
 */
static void one_step(td_ring *ring, size_t *sent) {
    for (int r = 0; r < ring->ranks; r++) {
        int k = td_ring_sends(ring, r);
        int64_t from = td_ring_chunk(ring, k), to = td_ring_chunk(ring, k + 1);
        const float *mine = ring->arrays[r];
        float *right = ring->arrays[(r + 1) % ring->ranks];
        for (int64_t i = from; i < to; i++) right[i] = ring->gathering ? mine[i] : right[i] + mine[i];
        sent[r] += (size_t)(to - from) * sizeof *mine;
        if (sent[r] > ring->most) ring->most = sent[r];
    }
    ring->sent = sent[0];
}

td_status td_ring_all_reduce(float **arrays, int ranks, int64_t count, td_ring_shown shown, void *context, td_ring *end,
                             td_error *err) {
    if (ranks < 1) return td_fail(err, TD_BAD_PARAM, "ring: ranks = %d: must be at least 1", ranks);
    if (count < 0) return td_fail(err, TD_BAD_PARAM, "ring: count = %lld: must be 0 or more", (long long)count);
    size_t *sent = calloc((size_t)ranks, sizeof *sent);
    if (!sent) return td_fail(err, TD_NO_MEMORY, "ring: no memory for %d counts", ranks);
    td_ring ring = {.ranks = ranks, .count = count, .arrays = arrays};
    for (int s = 0; s < 2 * (ranks - 1); s++) {
        ring.step = s;
        ring.gathering = s >= ranks - 1;
        one_step(&ring, sent);
        if (shown) shown(context, &ring);
    }
    free(sent);
    if (end) *end = ring;
    return TD_OK;
}
