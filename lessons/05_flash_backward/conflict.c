/* The two answers to the write conflict on dQ, checked and timed: one pass with atomics, two passes without. */
#include "lesson_5.h"
#include <string.h>

/* Products of 2·d operations that a variant computes for each pair. */
static int products(const td_variant *variant) {
    return strstr(variant->name, "two_pass") ? 7 : 5;
}

static void product_cells(const td_lesson_5 *lesson, const td_variant *variant, td_record *record) {
    const td_attention_problem *a = &lesson->cpu.attention;
    double pairs = (double)(a->B * a->Hq) * (double)td_allowed_pairs(a->mask, a->Tq, a->Tk);
    double gflop = products(variant) * 2 * (double)a->d * pairs / 1e9,
           ms = td_record_get(record, td_record_rows(record) - 1, "median_ms");
    td_record_int(record, "products", products(variant));
    td_record_real(record, "gflop", gflop);
    if (ms > 0) td_record_real(record, "gflop_per_s", 1e3 * gflop / ms);
}

td_status td_lesson_5_show_conflict(td_lesson_5 *lesson, td_error *err) {
    static const char *const names[] = {"backward_dense", "backward_one_pass", "backward_two_pass"};
    static const td_heading counted[] = {{"variant", "variant"},     {"products", "products a pair"},
                                         {"gflop", "GFLOP"},         {"median_ms", "median ms"},
                                         {"gflop_per_s", "GFLOP/s"}, {NULL, NULL}};
    td_lesson_text(5, "Who adds to dQ");
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_status status = TD_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names && !status; i++) {
        const td_variant *variant = td_lesson_5_variant(lesson, "", names[i]);
        td_check_options check = td_check_defaults(variant);
        check.seed = lesson->seed;
        td_bench_options bench = td_bench_defaults();
        bench.max_seconds = 0.4;
        status = td_pair_row(record, variant, &lesson->cpu, &check, &bench, NULL, &lesson->failed, err);
        if (!status) product_cells(lesson, variant, record);
    }
    if (!status) {
        td_pair_print(record);
        td_lesson_text(5, "Five products, or seven");
        td_record_print(record, counted, stdout);
        status = td_lesson_save(lesson->arguments, 5, record, "conflict", err);
    }
    td_record_delete(record);
    return status;
}
