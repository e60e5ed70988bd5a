#include "board.h"
#include "../clock.h"
#include <string.h>

void td_board_beat(const td_board *board) {
    atomic_store(&board->slot[board->rank]->beat, (int64_t)(1e3 * td_now()));
}

/* Seconds since the last beat. */
static double silent_for(td_board_slot *slot) {
    return td_now() - 1e-3 * (double)atomic_load(&slot->beat);
}

void td_board_enter(const td_board *board, const td_work *work) {
    td_board_slot *slot = board->slot[board->rank];
    td_board_entry *entry = &slot->entry[work->number % TD_BOARD_MEMORY];
    *entry = (td_board_entry){.number = work->number,
                              .what = (int32_t)work->call.what,
                              .dtype = (int32_t)work->call.dtype,
                              .bytes = work->bytes};
    int reduces = work->call.what == TD_ALL_REDUCE || work->call.what == TD_REDUCE_SCATTER;
    if (reduces) entry->reduce = (int32_t)work->call.reduce;
    if (work->call.what == TD_BROADCAST) entry->root = work->call.root;
    memcpy(entry->label, work->label, sizeof entry->label);
    td_board_beat(board);
    atomic_store(&slot->entered, work->number); /* the entry is whole: others may look */
}

void td_board_leave(const td_board *board, const td_work *work) {
    atomic_store(&board->slot[board->rank]->left, work->number);
}

void td_board_end(const td_board *board, td_rank_state state, const char *message) {
    td_board_slot *slot = board->slot[board->rank];
    if (message) snprintf(slot->message, sizeof slot->message, "%s", message);
    atomic_store(&slot->state, (int)state);
}

int td_board_any(const td_board *board, td_rank_state state) {
    for (int r = 0; r < board->ranks; r++)
        if (board->slot[r] && atomic_load(&board->slot[r]->state) == (int)state) return 1;
    return 0;
}

int td_board_saying(const td_board *board, const char *message) {
    int saying = 0;
    for (int r = 0; r < board->ranks; r++) {
        td_board_slot *slot = board->slot[r];
        if (!slot || atomic_load(&slot->state) < TD_RANK_FAILED || strcmp(slot->message, message) != 0) continue;
        if (r < board->rank) return 0;
        saying++;
    }
    return saying;
}

/* A copy of what the slot says of a collective; 0 if it was not entered, or is forgotten. */
static int look_up(td_board_slot *slot, int64_t number, td_board_entry *out) {
    if (!slot || atomic_load(&slot->entered) < number) return 0;
    memcpy(out, &slot->entry[number % TD_BOARD_MEMORY], sizeof *out);
    /* the place is written again before `entered` shows the collective that takes it */
    atomic_thread_fence(memory_order_seq_cst);
    return atomic_load(&slot->entered) < number + TD_BOARD_MEMORY - 1 && out->number == number;
}

static int same(const td_board_entry *a, const td_board_entry *b) {
    return a->what == b->what && a->dtype == b->dtype && a->reduce == b->reduce && a->root == b->root &&
           a->bytes == b->bytes && !strcmp(a->label, b->label);
}

/* "all-reduce 7 'bucket 3' (1024 bytes)" */
static void say(const td_board_entry *e, char *out, size_t size) {
    snprintf(out, size, "%s %lld '%s' (%llu bytes)", td_collective_name((td_collective)e->what), (long long)e->number,
             e->label, (unsigned long long)e->bytes);
}

/* What tells two apart that say() shows as the same. */
static void say_rest(const td_board_entry *e, char *out, size_t size) {
    static const char *const reductions[] = {"sum", "max", "min"};
    snprintf(out, size, ", %s, %s, root %d", td_dtype_name((td_dtype)e->dtype), reductions[e->reduce % 3], e->root);
}

td_status td_board_compare(const td_board *board, const td_work *work, td_error *err) {
    td_board_entry mine, other;
    if (!look_up(board->slot[board->rank], work->number, &mine)) return TD_OK;
    for (int r = 0; r < board->ranks; r++) {
        if (r == board->rank || !look_up(board->slot[r], work->number, &other) || same(&mine, &other)) continue;
        char here[128], there[128], here_rest[48] = "", there_rest[48] = "";
        say(&mine, here, sizeof here);
        say(&other, there, sizeof there);
        if (!strcmp(here, there)) {
            say_rest(&mine, here_rest, sizeof here_rest);
            say_rest(&other, there_rest, sizeof there_rest);
        }
        return td_fail(
            err, TD_WRONG,
            "mismatch: rank %d is in %s%s, rank %d in %s%s: all ranks must start the same, in the same order",
            board->rank, here, here_rest, r, there, there_rest);
    }
    return TD_OK;
}

int td_board_complete(const td_board *board, const td_work *work, int unseen, double silence) {
    for (int r = 0; r < board->ranks; r++) {
        td_board_slot *slot = board->slot[r];
        if (!slot && !unseen) return 0;
        if (!slot) continue;
        if (atomic_load(&slot->entered) < work->number) return 0;
        if (atomic_load(&slot->left) < work->number && silent_for(slot) > silence) return 0;
    }
    return 1;
}

/* What rank r is at, seen from a rank that has waited in `mine` for so long; 0 if it waits in the same. */
static int whereabouts(const td_board *board, int r, const td_board_entry *mine, double waited, char *out,
                       size_t size) {
    td_board_slot *slot = board->slot[r];
    if (!slot) {
        snprintf(out, size, "rank %d is on another host, unseen", r);
        return 1;
    }
    int64_t left = atomic_load(&slot->left), entered = atomic_load(&slot->entered);
    td_board_entry its = {0};
    int known = look_up(slot, entered, &its);
    int silent = left < entered && silent_for(slot) > waited / 2;
    if (known && left < entered && entered == mine->number && same(mine, &its)) {
        snprintf(out, size, "rank %d is in it, and stands still", r);
        return silent && atomic_load(&slot->state) == TD_RANK_WORKS;
    }
    char what[128] = "a collective";
    if (known) say(&its, what, sizeof what);
    int state = atomic_load(&slot->state);
    if (state >= TD_RANK_FAILED && left < entered)
        snprintf(out, size, "rank %d failed in %s", r, what);
    else if (state)
        snprintf(out, size, state == TD_RANK_LEFT ? "rank %d has ended" : "rank %d has failed", r);
    else if (entered == 0)
        snprintf(out, size, "rank %d has started none", r);
    else if (left < entered)
        snprintf(out, size, "rank %d is in %s", r, what);
    else
        snprintf(out, size, "rank %d left %s %lld and has started none since", r,
                 known ? td_collective_name((td_collective)its.what) : "collective", (long long)entered);
    return 1;
}

/* Those who wait too, as "; ranks 1, 2 wait too", for what room there is. */
static void say_waiting(const td_board *board, const td_board_entry *mine, double seconds, char *out, size_t size) {
    int waiting = 0;
    char what[192], list[64] = "";
    for (int r = 0; r < board->ranks; r++) {
        if (r == board->rank || whereabouts(board, r, mine, seconds, what, sizeof what)) continue;
        size_t used = strlen(list);
        if (waiting < 4) snprintf(list + used, sizeof list - used, "%s%d", waiting ? ", " : "", r);
        waiting++;
    }
    if (waiting > 4)
        snprintf(out, size, "; %d others wait too", waiting);
    else if (waiting)
        snprintf(out, size, "; rank%s %s wait%s too", waiting > 1 ? "s" : "", list, waiting > 1 ? "" : "s");
}

td_status td_board_hang(const td_board *board, const td_work *work, double seconds, td_error *err) {
    char text[sizeof((td_error *)0)->message], what[192], waiting[96] = "", more[48];
    td_board_entry mine = {0};
    look_up(board->slot[board->rank], work->number, &mine);
    say(&mine, what, sizeof what);
    say_waiting(board, &mine, seconds, waiting, sizeof waiting);
    int used =
        snprintf(text, sizeof text, "rank %d of %d waits %.3g s for %s", board->rank, board->ranks, seconds, what);
    /* those who keep it waiting, as many as fit beside the rest */
    int room = (int)sizeof text - (int)strlen(waiting) - (int)sizeof more, unsaid = 0;
    for (int r = 0; r < board->ranks; r++) {
        if (r == board->rank || !whereabouts(board, r, &mine, seconds, what, sizeof what)) continue;
        if (!unsaid && used + 2 + (int)strlen(what) < room)
            used += snprintf(text + used, sizeof text - (size_t)used, "; %s", what);
        else
            unsaid++;
    }
    more[0] = '\0';
    if (unsaid) snprintf(more, sizeof more, "; %d more are not in it either", unsaid);
    return td_fail(err, TD_WRONG, "%s%s%s", text, more, waiting);
}
