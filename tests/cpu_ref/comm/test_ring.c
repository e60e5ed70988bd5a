/* The ring that lesson 6 shows: exact sums, the same bits on all ranks, and as many bytes as the theorem says. */
#include "../../../cpu_ref/comm/ring.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

typedef struct seen {
    int steps, last, gathering;
    const td_ring *ring;
} seen;

/* In the middle, rank r holds the whole sum of chunk r + 1. */
static void shown(void *context, const td_ring *ring) {
    seen *s = context;
    cr_assert_eq(ring->step, s->steps++);
    s->gathering += ring->gathering;
    if (ring->step != ring->ranks - 2) return;
    for (int r = 0; r < ring->ranks; r++) {
        int k = (r + 1) % ring->ranks;
        for (int64_t i = td_ring_chunk(ring, k); i < td_ring_chunk(ring, k + 1); i++) {
            float sum = 0;
            for (int q = 0; q < ring->ranks; q++) sum += (float)(q + 1) * (float)(i + 1);
            cr_assert_eq(ring->arrays[r][i], sum);
        }
    }
}

Test(comm_ring, sums_and_bytes) {
    static const int64_t counts[] = {0, 1, 3, 7, 8, 840, 1001};
    for (int ranks = 1; ranks <= 8; ranks++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            int64_t count = counts[c];
            float *arrays[8];
            for (int r = 0; r < ranks; r++) {
                arrays[r] = calloc((size_t)count + 1, sizeof(float));
                for (int64_t i = 0; i < count; i++) arrays[r][i] = (float)(r + 1) * (float)(i + 1);
            }
            seen s = {0};
            td_ring end;
            td_error err;
            cr_assert_eq(td_ring_all_reduce(arrays, ranks, count, shown, &s, &end, &err), TD_OK);
            cr_assert_eq(s.steps, 2 * (ranks - 1));
            cr_assert_eq(s.gathering, ranks - 1);
            float all = (float)(ranks * (ranks + 1) / 2);
            for (int r = 0; r < ranks; r++) {
                for (int64_t i = 0; i < count; i++) cr_assert_eq(arrays[r][i], all * (float)(i + 1));
                cr_assert_eq(arrays[r][count], 0, "written beyond the end");
            }
            size_t bytes = (size_t)count * sizeof(float);
            if (count % ranks == 0) {
                cr_assert_eq(end.sent, 2 * (size_t)(ranks - 1) * bytes / (size_t)ranks);
                cr_assert_eq(end.most, end.sent);
            }
            size_t chunk = (size_t)(count / ranks + 1) * sizeof(float);
            cr_assert_leq(end.most, 2 * (size_t)(ranks - 1) * chunk);
            for (int r = 0; r < ranks; r++) free(arrays[r]);
        }
}

/* The order of additions differs from chunk to chunk, but each sum is made once: no rank has other bits. */
Test(comm_ring, all_ranks_have_the_same_bits) {
    float values[3][6], *arrays[] = {values[0], values[1], values[2]};
    td_error err;
    for (int r = 0; r < 3; r++)
        for (int i = 0; i < 6; i++) values[r][i] = r == 1 ? 1e8f : r ? -1e8f : 0.1f * (float)(i + 1);
    cr_assert_eq(td_ring_all_reduce(arrays, 3, 6, NULL, NULL, NULL, &err), TD_OK);
    cr_assert(!memcmp(values[0], values[1], sizeof values[0]) && !memcmp(values[0], values[2], sizeof values[0]));
    cr_assert_neq(values[0][0] == 0.1f, values[0][2] == 0.1f * 3, "another order, another sum");
}

Test(comm_ring, bad_sizes) {
    td_error err;
    cr_assert_eq(td_ring_all_reduce(NULL, 0, 1, NULL, NULL, NULL, &err), TD_BAD_PARAM);
    cr_assert(strstr(err.message, "ranks = 0"));
    cr_assert_eq(td_ring_all_reduce(NULL, 1, -1, NULL, NULL, NULL, &err), TD_BAD_PARAM);
    cr_assert(strstr(err.message, "count = -1"));
}
