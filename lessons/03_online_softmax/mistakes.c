/* One mistake at a time, over cases of growing nastiness: which test would have noticed, and what does it look like? */
#include "lesson_3.h"
#include <math.h>
#include <string.h>

typedef struct mistake_case {
    const char *name;
    td_attention_problem problem;
} mistake_case;

/* Small on purpose: what matters is what each case brings in that the ones before it lack. */
static const mistake_case cases[] = {
    {"1 block", {1, 2, 2, 64, 64, 16, 0.25, TD_MASK_NONE, 64}},
    {"4", {1, 2, 2, 64, 64, 16, 0.25, TD_MASK_NONE, 16}},
    {"tail", {1, 2, 2, 50, 50, 16, 0.25, TD_MASK_NONE, 16}},
    {"GQA", {1, 4, 2, 64, 64, 16, 0.25, TD_MASK_NONE, 16}},
    {"causal", {1, 2, 2, 64, 64, 16, 0.25, TD_MASK_CAUSAL_TOP_LEFT, 16}},
    {"Tq<Tk", {1, 2, 2, 33, 50, 16, 0.25, TD_MASK_CAUSAL_BOTTOM_RIGHT, 16}},
    {"Tq>Tk", {1, 2, 2, 50, 33, 16, 0.25, TD_MASK_CAUSAL_BOTTOM_RIGHT, 16}},
    {"huge", {1, 2, 2, 64, 64, 16, 1e6, TD_MASK_CAUSAL_TOP_LEFT, 16}},
    {"neg", {1, 2, 2, 64, 64, 16, -1e6, TD_MASK_NONE, 16}},
};
enum { CASES = sizeof cases / sizeof *cases };

static const char *short_name(const td_variant *variant) {
    static const char prefix[] = "mistake_";
    return strncmp(variant->name, prefix, sizeof prefix - 1) ? variant->name : variant->name + sizeof prefix - 1;
}

/* One row a variant: a cell a case, and the first failure seen. */
static td_status try_cases(td_lesson_3 *lesson, const td_variant *variant, td_record *record, td_error *err) {
    int shown = 0;
    td_record_row(record);
    td_record_text(record, "name", short_name(variant));
    for (int i = 0; i < CASES; i++) {
        td_problem problem = {.op = TD_OP_ATTENTION_FORWARD, .attention = cases[i].problem};
        td_check_options options = td_check_defaults(variant);
        options.seed = lesson->seed;
        td_check_result result;
        td_status status = td_check(variant, &problem, &options, NULL, &result, err);
        if (status) return status;
        int failed = result.verdict == TD_FAIL;
        td_record_text(record, cases[i].name, failed ? "FAIL" : result.verdict == TD_SKIP ? "skip" : ".");
        if (failed && !variant->mistake) lesson->failed++;
        if (!failed || shown++) continue;
        td_pair_comparison(record, &result);
        td_record_text(record, "mistake", variant->mistake ? variant->mistake : "");
    }
    return TD_OK;
}

static void print_cases(const td_record *record) {
    td_heading columns[CASES + 2] = {{"name", "what is wrong"}};
    for (int i = 0; i < CASES; i++) columns[i + 1] = (td_heading){cases[i].name, cases[i].name};
    td_record_print(record, columns, stdout);
}

static void print_looks(const td_record *record) {
    for (int row = 1; row < td_record_rows(record); row++) {
        if (!td_record_get_text(record, row, "mistake")[0]) continue;
        double got = td_record_get(record, row, "got");
        char text[32] = "NaN";
        if (!isnan(got)) snprintf(text, sizeof text, "%.5g", got);
        printf("  %s\n      %s: got %s, want %.5g\n", td_record_get_text(record, row, "mistake"),
               td_record_get_text(record, row, "worst"), text, td_record_get(record, row, "want"));
    }
}

td_status td_lesson_3_show_mistakes(td_lesson_3 *lesson, td_error *err) {
    td_lesson_text(3, "One mistake at a time");
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_status status = try_cases(lesson, td_variant_find("online_f64"), record, err);
    for (const td_variant *const *v = td_cpu_mistakes; *v && !status; v++) status = try_cases(lesson, *v, record, err);
    if (!status) {
        printf("\n");
        print_cases(record);
        td_lesson_text(3, "How each looks");
        print_looks(record);
    }
    td_record_delete(record);
    return status;
}
