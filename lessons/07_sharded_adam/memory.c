/* Memory of a rank, counted by tag while it trains, beside the formula. */
#include "../../checks/memory.h"
#include "lesson_7.h"
#include <math.h>
#include <string.h>

static double bytes_of(const td_record *memory, int plan, const char *tag) {
    for (int r = 0; r < td_record_rows(memory); r++)
        if (!strcmp(td_record_get_text(memory, r, "plan"), td_lesson_7_plan(plan)) &&
            !strcmp(td_record_get_text(memory, r, "tag"), tag))
            return td_record_get(memory, r, "bytes");
    return NAN;
}

/* Bytes of m and v that a rank may have. Flat: equal slices, rounded up to an element. By parameter, where each goes to
 * the rank that has least so far: no rank gets more than an N-th of all and the last piece it took (Graham 1966). */
static double most_states(int plan, double N, double P, double largest) {
    if (plan == TD_ADAM_FULL) return 8 * P;
    return plan == TD_ADAM_FLAT ? 8 * ceil(P / N) : 8 * (P / N + (1 - 1 / N) * largest);
}

/* A plan on N ranks: bytes a parameter of each tag, and in `bars` one row a tag for the plot. */
static void plan_row(td_lesson_7 *lesson, const td_record *memory, int plan, int64_t N, td_record *record,
                     td_record *bars, int bar) {
    static const struct {
        const char *column, *tags[5];
    } owners[] = {{"parameters", {"parameters"}},
                  {"gradients", {"gradients"}},
                  {"optimizer", {"optimizer"}},
                  {"communication", {"communication"}},
                  {"activations", {"activations", "logits", "scores", "workspace"}}};
    double P = td_record_get(memory, 0, "parameters"), largest = td_record_get(memory, 0, "largest"), low = 0,
           total = 0;
    char label[48];
    snprintf(label, sizeof label, plan ? "%s N=%lld" : "%s", td_lesson_7_plan(plan), (long long)N);
    td_record_row(record);
    td_record_text(record, "plan", td_lesson_7_plan(plan));
    td_record_int(record, "N", N);
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++) {
        double bytes = 0;
        for (int k = 0; owners[i].tags[k]; k++) bytes += bytes_of(memory, plan, owners[i].tags[k]);
        td_record_real(record, owners[i].column, bytes / P);
        total += bytes;
        td_record_row(bars);
        td_record_int(bars, "bar", bar);
        td_record_text(bars, "label", label);
        td_record_text(bars, "tag", owners[i].column);
        td_record_real(bars, "low", low / P);
        td_record_real(bars, "high", total / P);
        td_record_real(bars, "states_formula", plan ? 8 / (double)N : 8);
        low = total;
    }
    double states = bytes_of(memory, plan, "optimizer"), share = plan ? (double)N : 1;
    td_record_real(record, "formula", 8 / share);
    td_record_real(record, "total", total / P);
    /* two arrays, each on a cache line */
    td_record_text(
        record, "verdict",
        td_lesson_7_verdict(
            lesson, states >= 8 * P / share - 0.5 && states <= most_states(plan, (double)N, P, largest) + 2 * 64, 1));
}

/* What is the same whatever the plan; what is not is the optimizer's. */
static td_status say_what_stays(td_lesson_7 *lesson, td_error *err) {
    static const char *const tags[] = {"parameters", "gradients", "activations", "logits", "scores"};
    td_record *memory;
    td_status status = td_lesson_7_read(lesson, "memory", lesson->ranks, &memory, err);
    if (status) return status;
    printf("\non %lld rank%s:\n", (long long)lesson->ranks, lesson->ranks == 1 ? "" : "s");
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        double full = bytes_of(memory, TD_ADAM_FULL, tags[i]), sharded = bytes_of(memory, TD_ADAM_FLAT, tags[i]);
        printf("  %-11s  full %9.0f bytes, flat %9.0f: the same  %s\n", tags[i], full, sharded,
               td_lesson_7_verdict(lesson, full == sharded, 1));
    }
    td_record_delete(memory);
    return TD_OK;
}

/* The run's own N has been trained by now; the others take two steps, the same samples a rank. */
static td_status one_number(td_lesson_7 *lesson, int64_t N, td_record *record, td_record *bars, td_error *err) {
    int64_t each = (lesson->B + lesson->ranks - 1) / lesson->ranks;
    td_record *memory;
    td_status status = TD_OK;
    if (N != lesson->ranks) status = td_lesson_7_launch(lesson, N, "train", each * N, 2, err);
    if (!status) status = td_lesson_7_read(lesson, "memory", N, &memory, err);
    if (status) return status;
    lesson->P = (int64_t)td_record_get(memory, 0, "parameters");
    /* full is the same for any N; one rank shares with nobody */
    for (int plan = N == lesson->N[0] ? 0 : 1; plan < (N == 1 ? 1 : TD_LESSON_7_PLANS); plan++)
        plan_row(lesson, memory, plan, N, record, bars, td_record_rows(record));
    td_record_delete(memory);
    return TD_OK;
}

static td_status show(td_lesson_7 *lesson, td_record *record, td_record *bars, td_error *err) {
    static const td_heading columns[] = {{"plan", "plan"},
                                         {"N", "N"},
                                         {"parameters", "values"},
                                         {"gradients", "grads"},
                                         {"optimizer", "m, v"},
                                         {"formula", "8/N"},
                                         {"communication", "comm"},
                                         {"activations", "act."},
                                         {"total", "total"},
                                         {"verdict", "verdict"},
                                         {NULL, NULL}};
    td_status status = TD_OK;
    for (int i = 0; i < lesson->numbers && !status; i++) status = one_number(lesson, lesson->N[i], record, bars, err);
    if (status) return status;
    printf("\n");
    td_record_print(record, columns, stdout);
    status = say_what_stays(lesson, err);
    if (!status) status = td_lesson_save(lesson->arguments, 7, record, "memory", err);
    if (!status) status = td_lesson_plot(lesson->arguments, 7, bars, "adam_memory", "adam_memory", err);
    if (!status) td_lesson_text(7, "What sharding does not save");
    return status;
}

td_status td_lesson_7_show_memory(td_lesson_7 *lesson, td_error *err) {
    td_lesson_text(7, "Memory of a rank, measured");
    if (td_lesson_7_skips(lesson)) return TD_OK;
    td_status status = td_lesson_7_launch(lesson, lesson->ranks, "train", lesson->B, lesson->steps, err);
    if (status) return status;
    td_record *record = td_record_new(), *bars = td_record_new();
    status = record && bars ? show(lesson, record, bars, err) : td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_record_delete(record), td_record_delete(bars);
    return status;
}
