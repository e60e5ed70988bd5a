/* Who owns what: 19 elements, and one, over eight ranks that were asked. */
#include "lesson_7.h"
#include <math.h>
#include <string.h>

enum { RANKS = 8, MOST = 19 };

/* "a 3-5, b 0-1": what a rank holds. */
static void add_range(char text[64], const char *parameter, int first, int count) {
    size_t used = strlen(text);
    if (count == 0) return;
    snprintf(text + used, 64 - used, count > 1 ? "%s%s %d-%d" : "%s%s %d", used ? ", " : "", parameter, first,
             first + count - 1);
}

/* The rows of one plan and one P, a rank a row; every element must have one owner. */
static void rows(td_lesson_7 *lesson, const td_record *owned, const char *plan, int P, td_record *record) {
    int owners[MOST] = {0}, expected = (P + RANKS - 1) / RANKS, flat = !strcmp(plan, "flat"), good = 1;
    for (int rank = 0; rank < RANKS; rank++) {
        char text[64] = "";
        int held = 0, at = 0;
        for (int r = 0; r < td_record_rows(owned); r++) {
            if (strcmp(td_record_get_text(owned, r, "plan"), plan) != 0 || td_record_get(owned, r, "P") != P) continue;
            const char *name = td_record_get_text(owned, r, "parameter");
            at = strcmp(name, "a") ? 12 : 0; /* b begins where a ends */
            if (td_record_get(owned, r, "rank") != rank) continue;
            int first = (int)td_record_get(owned, r, "first"), count = (int)td_record_get(owned, r, "count");
            add_range(text, name, first, count);
            for (int e = 0; e < count; e++) owners[at + first + e]++;
            held += count;
        }
        int share = P - rank * expected < 0 ? 0 : P - rank * expected < expected ? P - rank * expected : expected;
        good = good && (!flat || held == share);
        td_record_row(record);
        td_record_text(record, "plan", plan);
        td_record_int(record, "P", P);
        td_record_int(record, "rank", rank);
        td_record_text(record, "holds", text[0] ? text : "nothing");
        td_record_int(record, "elements", held);
    }
    for (int e = 0; e < P; e++) good = good && owners[e] == 1;
    char what[64];
    snprintf(what, sizeof what, "%s, P = %d: every element has one owner", plan, P);
    printf("  %-50s  %s\n", what, td_lesson_7_verdict(lesson, good, 1));
}

/* One line a rank, both plans side by side. */
static void print(const td_record *record) {
    static const char *const columns[] = {"flat, P = 19", "by parameter, P = 19", "flat, P = 1"};
    printf("\nrank  %-22s  %-22s  %s\n", columns[0], columns[1], columns[2]);
    for (int rank = 0; rank < RANKS; rank++)
        printf("%4d  %-22s  %-22s  %s\n", rank, td_record_get_text(record, rank, "holds"),
               td_record_get_text(record, RANKS + rank, "holds"),
               td_record_get_text(record, 2 * RANKS + rank, "holds"));
}

static void print_clipped(td_lesson_7 *lesson, const td_record *clipped) {
    printf("\n");
    for (int r = 0; r < td_record_rows(clipped); r++) {
        double norm = td_record_get(clipped, r, "norm"), a = td_record_get(clipped, r, "g0"),
               b = td_record_get(clipped, r, "g1"), few = 16 * td_unit_roundoff(TD_F32);
        int good = fabs(norm - 5) <= 5 * few && fabs(a - 0.6) <= few && fabs(b - 0.8) <= few;
        printf("  %-12s  3, 4 on %d ranks: norm %.7g, clipped to %.7g, %.7g  %s\n",
               td_record_get_text(clipped, r, "plan"), RANKS, norm, a, b, td_lesson_7_verdict(lesson, good, 1));
    }
}

static td_status show(td_lesson_7 *lesson, td_record *record, td_error *err) {
    td_record *owned, *clipped;
    td_status status = td_lesson_7_read(lesson, "owners", RANKS, &owned, err);
    if (status) return status;
    status = td_lesson_7_read(lesson, "clipped", RANKS, &clipped, err);
    if (!status) {
        rows(lesson, owned, "flat", 19, record);
        rows(lesson, owned, "by parameter", 19, record);
        rows(lesson, owned, "flat", 1, record);
        print(record);
        print_clipped(lesson, clipped);
        status = td_lesson_save(lesson->arguments, 7, record, "owners", err);
        if (!status) td_lesson_text(7, "Slices and owners");
    }
    td_record_delete(owned), td_record_delete(clipped);
    return status;
}

td_status td_lesson_7_show_owners(td_lesson_7 *lesson, td_error *err) {
    td_lesson_text(7, "Who owns what");
    td_status status = td_lesson_7_launch(lesson, RANKS, "owners", lesson->B, lesson->steps, err);
    if (status || lesson->no_ranks) return status;
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    status = show(lesson, record, err);
    td_record_delete(record);
    return status;
}
