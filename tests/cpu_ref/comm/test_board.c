/* What a rank reads of the others, and what it says of them: no rank is asked. */
#include "../../../cpu_ref/comm/board.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 4 };

/* Four ranks' slots in ordinary memory, and the board as each rank sees it. */
typedef struct host {
    td_board_slot *slots, *by_rank[RANKS];
    td_board board[RANKS];
} host;

static void hang_up(host *h) {
    h->slots = calloc(RANKS, sizeof *h->slots);
    cr_assert_not_null(h->slots);
    for (int r = 0; r < RANKS; r++) {
        h->by_rank[r] = &h->slots[r];
        h->board[r] = (td_board){r, RANKS, h->by_rank};
    }
}

static td_work bucket(int64_t number, const char *label, int64_t count) {
    td_work w = {.call = {TD_ALL_REDUCE, TD_F32, TD_SUM, 0, count, NULL, NULL, NULL}, .number = number};
    w.bytes = (size_t)count * 4;
    snprintf(w.label, sizeof w.label, "%s", label);
    return w;
}

Test(comm_board, who_keeps_whom_waiting) {
    host h;
    td_error err;
    hang_up(&h);
    td_work six = bucket(6, "bucket 1", 8), seven = bucket(7, "bucket 2", 1024), other = bucket(7, "bucket 3", 256);
    td_board_enter(&h.board[2], &six);
    td_board_leave(&h.board[2], &six);
    td_board_enter(&h.board[0], &seven);
    cr_assert_not(td_board_complete(&h.board[0], &seven, 0, 5));
    td_board_enter(&h.board[1], &other);
    td_board_enter(&h.board[3], &seven);
    cr_assert_eq(td_board_hang(&h.board[0], &seven, 10, &err), TD_WRONG);
    cr_assert_str_eq(
        err.message,
        "rank 0 of 4 waits 10 s for all-reduce 7 'bucket 2' (4096 bytes); rank 1 is in all-reduce 7 'bucket 3' "
        "(1024 bytes); rank 2 left all-reduce 6 and has started none since; rank 3 waits too");
    td_board_enter(&h.board[2], &seven);
    cr_assert(td_board_complete(&h.board[0], &seven, 0, 5));
    free(h.slots);
}

Test(comm_board, those_who_ended_failed_never_began_or_are_unseen) {
    host h;
    td_error err;
    hang_up(&h);
    td_work one = bucket(1, "a", 1);
    td_board_enter(&h.board[0], &one);
    td_board_end(&h.board[1], TD_RANK_LEFT, NULL);
    td_board_end(&h.board[2], TD_RANK_FAILED, "no memory");
    h.by_rank[3] = NULL;
    td_board_hang(&h.board[0], &one, 0.5, &err);
    cr_assert_str_eq(err.message,
                     "rank 0 of 4 waits 0.5 s for all-reduce 1 'a' (4 bytes); rank 1 has ended; rank 2 has "
                     "failed; rank 3 is on another host, unseen");
    cr_assert(td_board_any(&h.board[0], TD_RANK_WORKS), "this rank does");
    cr_assert_not(td_board_complete(&h.board[0], &one, 0, 5));
    h.by_rank[3] = &h.slots[3];
    td_board_hang(&h.board[0], &one, 0.5, &err);
    cr_assert(strstr(err.message, "; rank 3 has started none"), "%s", err.message);
    td_board_enter(&h.board[2], &one);
    td_board_hang(&h.board[0], &one, 0.5, &err);
    cr_assert(strstr(err.message, "rank 2 waits too"), "it failed while it waited: %s", err.message);
    td_board_end(&h.board[0], TD_RANK_FAILED, "no memory");
    td_board_end(&h.board[3], TD_RANK_FAILED, "another message");
    cr_assert_not(td_board_any(&h.board[0], TD_RANK_WORKS));
    cr_assert_eq(td_board_saying(&h.board[0], "no memory"), 2);
    cr_assert_eq(td_board_saying(&h.board[2], "no memory"), 0, "rank 0 says it");
    cr_assert_eq(td_board_saying(&h.board[3], "another message"), 1);
    td_board_end(&h.board[0], TD_RANK_TOLD, NULL);
    cr_assert_eq(td_board_saying(&h.board[2], "no memory"), 0, "rank 0 has said it");
    free(h.slots);
}

/* A rank that was stopped in the middle keeps the others waiting, though it has come. */
Test(comm_board, one_that_stands_still_is_named) {
    host h;
    td_error err;
    hang_up(&h);
    td_work one = bucket(1, "a", 1);
    for (int r = 0; r < RANKS; r++) td_board_enter(&h.board[r], &one);
    cr_assert(td_board_complete(&h.board[0], &one, 0, 5));
    atomic_fetch_sub(&h.slots[2].beat, 6000);
    cr_assert_not(td_board_complete(&h.board[0], &one, 0, 5));
    cr_assert(td_board_complete(&h.board[0], &one, 0, 7));
    td_board_hang(&h.board[0], &one, 10, &err);
    cr_assert_str_eq(err.message, "rank 0 of 4 waits 10 s for all-reduce 1 'a' (4 bytes); rank 2 is in it, and stands "
                                  "still; ranks 1, 3 wait too");
    td_board_leave(&h.board[2], &one);
    cr_assert(td_board_complete(&h.board[0], &one, 0, 5), "it is done with it");
    free(h.slots);
}

/* Each thing in which two ranks can differ, and none. */
Test(comm_board, a_mismatch_is_seen_by_both) {
    td_work same = bucket(3, "bucket 1", 64), w = same;
    for (int kind = 0; kind < 6; kind++) {
        host h;
        td_error err = {0};
        hang_up(&h);
        w = same;
        if (kind == 1) strcpy(w.label, "bucket 2");
        if (kind == 2) w.bytes = 60;
        if (kind == 3) w.call.what = TD_ALL_GATHER;
        if (kind == 4) w.call.dtype = TD_F64;
        if (kind == 5) w.call.reduce = TD_MAX;
        td_board_enter(&h.board[1], &same);
        cr_expect_eq(td_board_compare(&h.board[1], &same, &err), TD_OK, "alone");
        td_board_enter(&h.board[2], &w);
        td_status wanted = kind ? TD_WRONG : TD_OK;
        cr_expect_eq(td_board_compare(&h.board[1], &same, &err), wanted, "%d", kind);
        cr_expect_eq(td_board_compare(&h.board[2], &w, &err), wanted, "%d", kind);
        if (kind) cr_expect(strstr(err.message, "rank 2") && strstr(err.message, "rank 1"), "%s", err.message);
        if (kind == 5) cr_expect(strstr(err.message, "max") && strstr(err.message, "sum"), "%s", err.message);
        free(h.slots);
    }
}

/* A rank far ahead has left collectives that others come to later; what is forgotten is not compared. */
Test(comm_board, what_was_left_is_remembered_for_a_while) {
    host h;
    td_error err;
    hang_up(&h);
    td_work w, late = bucket(5, "five", 1);
    for (int n = 1; n <= 5 + TD_BOARD_MEMORY - 2; n++) {
        w = bucket(n, "other", 1);
        td_board_enter(&h.board[0], &w);
        td_board_leave(&h.board[0], &w);
    }
    td_board_enter(&h.board[1], &late);
    cr_expect_eq(td_board_compare(&h.board[1], &late, &err), TD_WRONG);
    w.number++;
    td_board_enter(&h.board[0], &w);
    cr_expect_eq(td_board_compare(&h.board[1], &late, &err), TD_OK);
    free(h.slots);
}

/* 320 bytes hold what matters: whom it waits for first. */
Test(comm_board, many_ranks_fit_a_message) {
    enum { MANY = 200 };
    td_board_slot *slots = calloc(MANY, sizeof *slots), *by_rank[MANY];
    cr_assert_not_null(slots);
    char label[48];
    memset(label, 'x', 47), label[47] = '\0';
    td_work ours = bucket(1000000, label, INT64_C(1) << 40), its = bucket(1000000, "y", 1);
    for (int r = 0; r < MANY; r++) {
        by_rank[r] = &slots[r];
        td_board board = {r, MANY, by_rank};
        td_board_enter(&board, r % 2 ? &its : &ours);
    }
    td_board mine = {0, MANY, by_rank};
    td_error err;
    td_board_hang(&mine, &ours, 10, &err);
    cr_assert_lt(strlen(err.message), sizeof err.message - 1, "nothing is cut off: %s", err.message);
    cr_assert(strstr(err.message, "rank 1 is in all-reduce 1000000 'y'"), "%s", err.message);
    cr_assert(strstr(err.message, " more are not in it either; 99 others wait too"), "%s", err.message);
    free(slots);
}
