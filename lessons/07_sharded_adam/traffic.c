/* What ranks send in a step: counted, beside the formula. */
#include "lesson_7.h"
#include <math.h>
#include <string.h>

enum { KINDS = 4 };
static const char *const kinds[KINDS] = {"all-reduce", "reduce-scatter", "all-gather", "broadcast"};

/* What a rank sends, on average, for a collective over an array of so many bytes: of an all-reduce on a ring, each part
 * goes around twice; of the others, every byte comes to N − 1 ranks once. */
static double sent(int kind, double bytes, double N) {
    return (kind == 0 ? 2 : 1) * (N - 1) / N * bytes;
}

/* Not an array of the model: a loss, a flag, a norm. */
static int is_small(const char *label) {
    static const char *const small[] = {"loss", "gradients finite", "element not finite", "norm of gradients"};
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        if (!strcmp(label, small[i])) return 1;
    return 0;
}

typedef struct count {
    int calls;
    double bytes;
} count;

static void count_plan(const td_record *traffic, const char *plan, count by_kind[KINDS + 1]) {
    memset(by_kind, 0, (KINDS + 1) * sizeof *by_kind);
    for (int r = 0; r < td_record_rows(traffic); r++) {
        if (strcmp(td_record_get_text(traffic, r, "plan"), plan) != 0) continue;
        int kind = 0;
        while (strcmp(td_record_get_text(traffic, r, "collective"), kinds[kind]) != 0) kind++;
        count *c = &by_kind[is_small(td_record_get_text(traffic, r, "label")) ? KINDS : kind];
        c->calls++;
        c->bytes += td_record_get(traffic, r, "bytes");
    }
}

/* Bytes of arrays that a plan should move, by kind; padding: flat's last slice is filled up. */
static double expected(int plan, int kind, double P, double N) {
    if (plan == TD_ADAM_FLAT) return kind == 1 || kind == 2 ? 4 * N * ceil(P / N) : 0;
    return kind == 0 || (kind == 3 && plan == TD_ADAM_BY_PARAMETER) ? 4 * P : 0;
}

static void rows(td_lesson_7 *lesson, const td_record *traffic, int plan, td_record *record) {
    double P = (double)lesson->P, N = (double)lesson->ranks, total = 0, baseline = sent(0, 4 * P, N);
    count by_kind[KINDS + 1];
    count_plan(traffic, td_lesson_7_plan(plan), by_kind);
    for (int kind = 0; kind < KINDS; kind++) {
        double want = expected(plan, kind, P, N);
        if (by_kind[kind].calls == 0 && want == 0) continue;
        total += sent(kind, by_kind[kind].bytes, N);
        td_record_row(record);
        td_record_text(record, "plan", td_lesson_7_plan(plan));
        td_record_text(record, "collective", kinds[kind]);
        td_record_int(record, "calls", by_kind[kind].calls);
        td_record_int(record, "array_bytes", (int64_t)by_kind[kind].bytes);
        td_record_int(record, "formula_bytes", (int64_t)want);
        td_record_int(record, "sent_bytes", llround(sent(kind, by_kind[kind].bytes, N)));
        td_record_text(record, "verdict", td_lesson_7_verdict(lesson, by_kind[kind].bytes == want, 1));
    }
    td_record_row(record);
    td_record_text(record, "plan", td_lesson_7_plan(plan));
    td_record_text(record, "collective", "in all");
    td_record_int(record, "sent_bytes", llround(total));
    if (N > 1) td_record_real(record, "against_all_reduce", total / baseline);
    td_record_int(record, "small_calls", by_kind[KINDS].calls);
    td_record_real(record, "small_bytes", by_kind[KINDS].bytes);
}

/* How many of them a plan takes in a step. */
static void say_small(const td_record *record) {
    printf("\ncollectives over single numbers, in the step:");
    for (int r = 0, first = 1; r < td_record_rows(record); r++) {
        if (strcmp(td_record_get_text(record, r, "collective"), "in all") != 0) continue;
        printf("%s %s %.0f", first ? "" : ",", td_record_get_text(record, r, "plan"),
               td_record_get(record, r, "small_calls"));
        first = 0;
    }
    printf("\n");
}

static td_status show(td_lesson_7 *lesson, td_record *record, td_error *err) {
    static const td_heading columns[] = {{"plan", "plan"},
                                         {"collective", "collective"},
                                         {"calls", "calls"},
                                         {"array_bytes", "bytes"},
                                         {"formula_bytes", "formula"},
                                         {"sent_bytes", "sends"},
                                         {"against_all_reduce", "times"},
                                         {"verdict", "verdict"},
                                         {NULL, NULL}};
    td_record *traffic;
    td_status status = td_lesson_7_read(lesson, "traffic", lesson->ranks, &traffic, err);
    if (status) return status;
    for (int plan = 0; plan < TD_LESSON_7_PLANS; plan++) rows(lesson, traffic, plan, record);
    td_record_delete(traffic);
    printf("\n");
    td_record_print(record, columns, stdout);
    say_small(record);
    if (!(status = td_lesson_save(lesson->arguments, 7, record, "traffic", err)))
        td_lesson_text(7, "The same bytes, cut in two");
    return status;
}

td_status td_lesson_7_show_traffic(td_lesson_7 *lesson, td_error *err) {
    td_lesson_text(7, "What is sent");
    if (td_lesson_7_skips(lesson)) return TD_OK;
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_status status = show(lesson, record, err);
    td_record_delete(record);
    return status;
}
