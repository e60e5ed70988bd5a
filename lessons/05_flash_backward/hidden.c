/* Backward with one mistake at a time, beside a forward pass that is right: what does each check see? */
#include "lesson_5.h"
#include <string.h>

static const char *const mistakes[] = {"no_D",         "mask_ignored", "mask_of_dK",     "dQ_not_scaled",
                                       "keys_dropped", "last_head",    "dQ_overwritten", "lse_base_2"};
enum { MISTAKES = sizeof mistakes / sizeof *mistakes };

/* A causal mask, a tail, grouped heads: a problem in which all of them show. */
static const td_attention_problem nasty = {1, 4, 2, 33, 33, 16, 0.3, TD_MASK_CAUSAL_TOP_LEFT, 16};

/* Forward's verdict: one kernel for all rows, for none of the mistakes is in it. */
static td_status forward_cells(td_lesson_5 *lesson, td_record *record, td_error *err) {
    td_problem problem = {.op = TD_OP_ATTENTION_FORWARD, .attention = nasty};
    const td_variant *variant = td_variant_find("online_f64");
    td_check_options options = td_check_defaults(variant);
    options.seed = lesson->seed;
    td_check_result result;
    td_status status = td_check(variant, &problem, &options, NULL, &result, err);
    if (status) return status;
    td_record_text(record, "forward", td_verdict_name(result.verdict));
    lesson->failed += result.verdict == TD_FAIL;
    return TD_OK;
}

static td_status row(td_lesson_5 *lesson, const td_variant *variant, const char *name, td_record *record,
                     td_error *err) {
    td_problem problem = {.op = TD_OP_ATTENTION_BACKWARD, .attention = nasty};
    td_check_options options = td_check_defaults(variant);
    options.seed = lesson->seed;
    td_check_result result;
    td_record_row(record);
    td_record_text(record, "name", name);
    td_record_text(record, "mistake", variant->mistake ? variant->mistake : "none");
    td_status status = forward_cells(lesson, record, err);
    if (!status) status = td_check(variant, &problem, &options, NULL, &result, err);
    if (status) return status;
    int caught = result.verdict == TD_FAIL;
    for (int k = 0; k < result.outputs; k++)
        td_record_text(record, result.output_name[k], td_verdict_name(result.output[k].verdict));
    td_pair_comparison(record, &result);
    td_record_text(record, "named", result.diagnosis ? result.diagnosis : "");
    td_record_text(record, "verdict", caught ? "FAIL" : "PASS");
    lesson->failed += caught != (variant->mistake != NULL);
    return TD_OK;
}

static void print_names(const td_record *record) {
    for (int r = 1; r < td_record_rows(record); r++) {
        const char *planted = td_record_get_text(record, r, "mistake"), *named = td_record_get_text(record, r, "named");
        printf("  %s\n      %s: got %.5g, want %.5g; named: %s\n", planted, td_record_get_text(record, r, "worst"),
               td_record_get(record, r, "got"), td_record_get(record, r, "want"),
               !strcmp(planted, named) ? "just so"
               : named[0]              ? named
                                       : "nothing that is known");
    }
}

td_status td_lesson_5_show_hidden(td_lesson_5 *lesson, td_error *err) {
    static const td_heading columns[] = {
        {"name", "what is wrong"}, {"forward", "forward"}, {"dQ", "dQ"}, {"dK", "dK"}, {"dV", "dV"}, {NULL, NULL}};
    td_lesson_text(5, "Forward passes, backward is wrong");
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_status status = row(lesson, td_variant_find("backward_recompute_f64"), "nothing", record, err);
    for (int i = 0; i < MISTAKES && !status; i++) {
        char name[64];
        snprintf(name, sizeof name, "mistake_backward_%s", mistakes[i]);
        status = row(lesson, td_variant_find(name), mistakes[i], record, err);
    }
    if (!status) {
        td_record_print(record, columns, stdout);
        td_lesson_text(5, "How each looks");
        print_names(record);
    }
    td_record_delete(record);
    return status;
}
