/* The world of ranks without children: their questions are put by hand, in any order, right ones and wrong ones. */
#include "../../../checks/grade/ranks_world.h"
#include <criterion/criterion.h>
#include <math.h>

static td_ranks_world world;

static td_status own(void *context, td_ranks_world *w, int rank, uint32_t what, td_wire_reader *question,
                     td_wire_buffer *answer, td_error *err) {
    (void)context, (void)question, (void)answer;
    if (what == TD_ASK_OWN) return td_ranks_all_awaited(w, rank, err);
    return td_fail(err, TD_WRONG, "no such question");
}

static void open_world(int ranks, td_link link) {
    td_ranks_open(&world, ranks, link, own, NULL);
}

/* One question; 1 if its answer is there and TD_OK. */
static int ask(int rank, uint32_t what, const void *head, size_t head_bytes, const void *data, size_t bytes) {
    static char question[1 << 19];
    td_error err;
    cr_assert_leq(head_bytes + bytes, sizeof question);
    if (head_bytes) memcpy(question, head, head_bytes);
    if (bytes) memcpy(question + head_bytes, data, bytes);
    td_wire_reader r = {question, question + head_bytes + bytes};
    cr_assert_eq(td_ranks_hear(&world, rank, what, &r, &err), TD_OK, "%s", err.message);
    return world.answer[rank].ready && !world.answer[rank].status;
}

static int start(int rank, td_collective what, td_dtype dtype, int64_t count, const void *data, size_t bytes) {
    const td_ask_start a = {what, dtype, TD_SUM, 1, count, "bucket 3"};
    return ask(rank, TD_ASK_START, &a, sizeof a, data, bytes);
}

static int await(int rank, int64_t number, int touched) {
    const td_ask_work a = {number, 0, touched, 0};
    return ask(rank, TD_ASK_AWAIT, &a, sizeof a, NULL, 0);
}

static void got_floats(int rank, const float *want, int n) {
    const td_ranks_answer *a = &world.answer[rank];
    cr_assert(a->ready && !a->status, "rank %d", rank);
    cr_assert_eq(a->bytes.bytes, (size_t)n * sizeof(float));
    cr_expect_eq(n ? memcmp(a->bytes.data, want, (size_t)n * sizeof(float)) : 0, 0, "rank %d", rank);
}

/* It is told to this rank, by a message with these words. */
static void refused(int rank, td_ranks_fault fault, const char *words) {
    const td_ranks_answer *a = &world.answer[rank];
    cr_expect(a->ready && a->status == TD_WRONG, "rank %d", rank);
    cr_expect_eq(world.fault, fault, "fault %d: %s", world.fault, world.message);
    cr_expect(strstr(world.message, words), "'%s' in '%s'", words, world.message);
    cr_expect_eq(a->bytes.bytes, strlen(world.message));
    td_ranks_close(&world);
}

static const td_link no_link = {0, 0};
static const float x0[] = {1, 2, 3, 4}, x1[] = {10, 20, 30, 40};

Test(grade_ranks, every_collective) {
    const float sums[] = {11, 22, 33, 44}, both[] = {1, 2, 3, 4, 10, 20, 30, 40};
    open_world(2, no_link);
    cr_assert(start(0, TD_ALL_REDUCE, TD_F32, 4, x0, 16));
    cr_assert(!await(0, 0, 0), "rank 1 has not come");
    cr_assert(start(1, TD_ALL_REDUCE, TD_F32, 4, x1, 16));
    got_floats(0, sums, 4);
    cr_assert(await(1, 0, 0));
    got_floats(1, sums, 4);
    cr_assert(start(0, TD_REDUCE_SCATTER, TD_F32, 2, x0, 16) && start(1, TD_REDUCE_SCATTER, TD_F32, 2, x1, 16));
    cr_assert(await(0, 1, 0) && await(1, 1, 0));
    got_floats(0, sums, 2);
    got_floats(1, sums + 2, 2);
    cr_assert(start(1, TD_ALL_GATHER, TD_F32, 4, x1, 16) && start(0, TD_ALL_GATHER, TD_F32, 4, x0, 16));
    cr_assert(await(0, 2, 0) && await(1, 2, 0));
    got_floats(0, both, 8);
    got_floats(1, both, 8);
    cr_assert(start(0, TD_BROADCAST, TD_F32, 4, NULL, 0) && start(1, TD_BROADCAST, TD_F32, 4, x1, 16));
    cr_assert(await(0, 3, 0) && await(1, 3, 0));
    got_floats(0, x1, 4);
    cr_assert(start(0, TD_ALL_REDUCE, TD_F32, 0, NULL, 0) && start(1, TD_ALL_REDUCE, TD_F32, 0, NULL, 0));
    cr_assert(await(0, 4, 0) && await(1, 4, 0), "no elements, and yet a collective");
    cr_expect_eq(world.held, 0, "all memory has been given back");
    /* half of 16, 16 and 32 bytes, all of 16, and 16 twice a half */
    cr_expect_float_eq(world.sent, 16 + 8 + 16 + 16, 0);
    td_ranks_over(&world, 0, TD_RANK_DONE, 0), td_ranks_over(&world, 1, TD_RANK_DONE, 0);
    cr_expect_eq(world.fault, TD_RANKS_FINE, "%s", world.message);
    td_ranks_close(&world);
}

Test(grade_ranks, ranks_add_in_their_order) {
    const float terms[3] = {0x1p24f, 1, 1}, sum = 0x1p24f, other = 0x1p24f + 2;
    for (int first = 0; first < 3; first++) { /* whoever comes first */
        open_world(3, no_link);
        for (int k = 0; k < 3; k++) start((first + k) % 3, TD_ALL_REDUCE, TD_F32, 1, &terms[(first + k) % 3], 4);
        await(1, 0, 0);
        got_floats(1, &sum, 1);
        td_ranks_close(&world);
    }
    open_world(3, no_link); /* 1 + 1 first */
    for (int r = 0; r < 3; r++) start(r, TD_ALL_REDUCE, TD_F32, 1, &terms[2 - r], 4);
    await(0, 0, 0);
    got_floats(0, &other, 1);
    td_ranks_close(&world);
}

Test(grade_ranks, long_arrays_come_in_pieces) {
    enum { N = TD_RANKS_PIECE / 4 + 100 };
    static float data[N], twice[N];
    for (int k = 0; k < N; k++) data[k] = (float)k, twice[k] = 2 * (float)k;
    open_world(2, no_link);
    for (int r = 0; r < 2; r++) {
        const td_ask_work more = {0, TD_RANKS_PIECE, 0, 0};
        cr_assert(start(r, TD_ALL_REDUCE, TD_F32, N, data, TD_RANKS_PIECE));
        cr_expect_eq(world.op[0].started, r == 0 ? 0u : 1u, "not all of it is there");
        cr_assert(ask(r, TD_ASK_MORE, &more, sizeof more, data + TD_RANKS_PIECE / 4, 400));
    }
    cr_assert(await(1, 0, 0));
    got_floats(1, twice, TD_RANKS_PIECE / 4);
    const td_ask_work rest = {0, TD_RANKS_PIECE, 0, 0};
    cr_assert(ask(1, TD_ASK_REST, &rest, sizeof rest, NULL, 0));
    got_floats(1, twice + TD_RANKS_PIECE / 4, 100);
    td_ranks_close(&world);
}

Test(grade_ranks, the_clock) {
    const td_link link = {1e-3, 1e3}; /* 16 bytes: 2·(1 ms + 8 ms) */
    open_world(2, link);
    td_ranks_compute(&world, 0, 0.5);
    start(0, TD_ALL_REDUCE, TD_F32, 4, x0, 16), start(1, TD_ALL_REDUCE, TD_F32, 4, x1, 16);
    cr_expect_float_eq(world.op[0].begin, 0.5, 1e-15, "when the last rank has come");
    start(0, TD_ALL_REDUCE, TD_F32, 4, x0, 16), start(1, TD_ALL_REDUCE, TD_F32, 4, x1, 16);
    cr_expect_float_eq(world.op[1].begin, 0.518, 1e-15, "one after another");
    td_ranks_compute(&world, 0, 0.01);
    await(0, 0, 0), await(1, 1, 0);
    cr_expect_float_eq(world.clock[0], 0.518, 1e-15);
    cr_expect_float_eq(world.clock[1], 0.536, 1e-15);
    td_ranks_compute(&world, 0, 1);
    await(0, 1, 0);
    cr_expect_float_eq(world.clock[0], 1.518, 1e-15, "it was done long before");
    td_ranks_close(&world);
}

Test(grade_ranks, who_differs_is_named) {
    open_world(2, no_link);
    start(0, TD_ALL_REDUCE, TD_F32, 4, x0, 16);
    await(0, 0, 0);
    start(1, TD_ALL_REDUCE, TD_F32, 2, x1, 8);
    cr_expect(world.answer[0].ready && world.answer[0].status == TD_WRONG, "who waits is told too");
    refused(1, TD_RANKS_MISMATCH,
            "all-reduce 'bucket 3' of 2 f32 on rank 1, but all-reduce 'bucket 3' of 4 f32 on rank 0");
    open_world(2, no_link);
    start(1, TD_REDUCE_SCATTER, TD_F32, 2, x0, 16);
    start(0, TD_ALL_GATHER, TD_F32, 2, x1, 8);
    refused(0, TD_RANKS_MISMATCH, "all-gather");
    open_world(2, no_link);
    start(1, TD_ALL_REDUCE, TD_F64, 1, x0, 8);
    start(0, TD_ALL_REDUCE, TD_F32, 1, x1, 4);
    refused(0, TD_RANKS_MISMATCH, "f64 on rank 1");
}

Test(grade_ranks, a_hang_is_found_at_once) {
    open_world(3, no_link);
    start(0, TD_ALL_REDUCE, TD_F32, 4, x0, 16), start(2, TD_ALL_REDUCE, TD_F32, 4, x1, 16);
    cr_assert(!await(0, 0, 0) && !await(2, 0, 0));
    cr_expect_eq(world.fault, TD_RANKS_FINE, "rank 1 may still come");
    td_ranks_over(&world, 1, TD_RANK_DONE, 0);
    cr_expect(world.answer[2].ready && world.answer[2].status == TD_WRONG);
    refused(0, TD_RANKS_NEVER_CAME, "rank 0 waits for all-reduce 'bucket 3' of 4 f32, which rank 1 never starts");
    open_world(2, no_link); /* crosswise */
    start(0, TD_ALL_REDUCE, TD_F32, 4, x0, 16), start(0, TD_ALL_REDUCE, TD_F32, 4, x0, 16);
    start(1, TD_ALL_REDUCE, TD_F32, 4, x1, 16);
    cr_assert(!await(0, 1, 0) && await(1, 0, 0));
    td_ranks_over(&world, 1, TD_RANK_LOST, 1);
    cr_expect_eq(world.failed, 1);
    refused(0, TD_RANKS_LOST, "rank 1 is no more");
}

Test(grade_ranks, arrays_in_flight) {
    open_world(1, no_link);
    start(0, TD_ALL_REDUCE, TD_F32, 4, x0, 16);
    await(0, 0, 1);
    refused(0, TD_RANKS_TOUCHED, "written while all-reduce 'bucket 3'");
    open_world(1, no_link);
    start(0, TD_ALL_REDUCE, TD_F32, 4, x0, 16);
    ask(0, TD_ASK_OWN, NULL, 0, NULL, 0);
    refused(0, TD_RANKS_UNAWAITED, "rank 0 never awaits all-reduce 'bucket 3'");
    open_world(1, no_link);
    start(0, TD_ALL_REDUCE, TD_F32, 4, x0, 16);
    td_ranks_over(&world, 0, TD_RANK_DONE, 0);
    cr_expect_eq(world.fault, TD_RANKS_UNAWAITED, "who returns has left it too");
    td_ranks_close(&world);
    open_world(1, no_link);
    const td_ask_early early = {7, "bucket 3"};
    ask(0, TD_ASK_EARLY, &early, sizeof early, NULL, 0);
    refused(0, TD_RANKS_EARLY, "parameter 7's gradient, and 'bucket 3' holds it");
}

/* Whatever a child says: an answer, a message, and nothing written or read outside. */
Test(grade_ranks, nonsense) {
    const td_ask_start wrong[] = {{9, TD_F32, 0, 0, 1, ""},
                                  {TD_ALL_REDUCE, TD_BF16, 0, 0, 1, ""},
                                  {TD_ALL_REDUCE, TD_F32, 5, 0, 1, ""},
                                  {TD_ALL_REDUCE, TD_F32, 0, 0, -1, ""},
                                  {TD_ALL_GATHER, -1, 0, 0, 1, ""},
                                  {TD_BROADCAST, TD_F32, 0, 2, 1, ""},
                                  {TD_ALL_REDUCE, TD_F32, 0, 0, INT64_MAX, ""}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        open_world(2, no_link);
        ask(0, TD_ASK_START, &wrong[k], sizeof wrong[k], x0, 4);
        refused(0, TD_RANKS_ILLEGAL, "comm.h does not have");
    }
    td_ask_start open_end = {TD_ALL_REDUCE, TD_F32, 0, 0, 1, ""};
    memset(open_end.label, 'x', sizeof open_end.label);
    open_world(2, no_link);
    ask(0, TD_ASK_START, &open_end, sizeof open_end, x0, 4);
    refused(0, TD_RANKS_ILLEGAL, "comm.h does not have");
    open_world(2, no_link);
    ask(0, TD_ASK_START, x0, 3, NULL, 0);
    refused(0, TD_RANKS_ILLEGAL, "comm.h does not have");
    open_world(2, no_link);
    start(0, TD_ALL_REDUCE, TD_F32, 4, x0, 12), start(0, TD_ALL_REDUCE, TD_F32, 1, x0, 16);
    refused(0, TD_RANKS_ILLEGAL, "data that is not that of");
    open_world(2, no_link);
    start(0, TD_ALL_REDUCE, TD_F32, (int64_t)1 << 27, x0, 4);
    refused(0, TD_RANKS_ILLEGAL, "in flight");
    open_world(1, no_link);
    await(0, 0, 0);
    refused(0, TD_RANKS_ILLEGAL, "has not started");
    open_world(1, no_link);
    await(0, -1, 0);
    refused(0, TD_RANKS_ILLEGAL, "has not started");
    open_world(1, no_link);
    start(0, TD_ALL_REDUCE, TD_F32, 4, x0, 16), await(0, 0, 0), await(0, 0, 0);
    refused(0, TD_RANKS_ILLEGAL, "twice");
    open_world(1, no_link);
    const td_ask_work rest = {0, 1 << 30, 0, 0};
    start(0, TD_ALL_REDUCE, TD_F32, 4, x0, 16), ask(0, TD_ASK_REST, &rest, sizeof rest, NULL, 0);
    refused(0, TD_RANKS_ILLEGAL, "twice");
    open_world(1, no_link);
    ask(0, 0, NULL, 0, NULL, 0);
    refused(0, TD_RANKS_ILLEGAL, "no meaning");
    open_world(1, no_link);
    ask(0, TD_ASK_OWN + 5, NULL, 0, NULL, 0);
    refused(0, TD_RANKS_ILLEGAL, "no such question");
}
