/* What a kernel may not assume: each row is a right evaluation with one wrong assumption, run twice: on the shape where
 * the assumption holds, and on one where it does not. */
#include "lesson_4.h"
#include <math.h>
#include <string.h>

static const td_variant *right(void) {
    return td_variant_find("online_f64");
}

/* Each input is taken for contiguous, whatever its strides say. */
static td_status run_contiguous(const td_problem *problem, const td_tensor *tensors, void *workspace, void *stream,
                                td_error *err) {
    td_tensor t[TD_ATTENTION_TENSORS];
    memcpy(t, tensors, sizeof t);
    for (int k = TD_Q; k <= TD_V; k++)
        t[k] = td_contiguous(t[k].data, t[k].dtype, t[k].size[0], t[k].size[1], t[k].size[2], t[k].size[3]);
    return right()->run(problem, t, workspace, stream, err);
}

/* 2^s instead of e^s: s should have been multiplied by log2 e first. */
static td_status run_base_2(const td_problem *problem, const td_tensor *tensors, void *workspace, void *stream,
                            td_error *err) {
    td_problem other = *problem;
    other.attention.scale *= log(2);
    return right()->run(&other, tensors, workspace, stream, err);
}

static td_variant with(const char *mistake,
                       td_status (*run)(const td_problem *, const td_tensor *, void *, void *, td_error *)) {
    td_variant v = *right();
    v.name = v.mistake = mistake;
    v.run = run;
    return v;
}

/* Where the assumption holds, and where it does not. */
static const td_attention_problem plain = {1, 2, 2, 64, 64, 16, 0.25, TD_MASK_NONE, 16};
static const td_attention_problem ragged = {1, 2, 2, 50, 50, 16, 0.25, TD_MASK_NONE, 16};
static const td_attention_problem empty_rows = {1, 2, 2, 50, 33, 16, 0.25, TD_MASK_CAUSAL_BOTTOM_RIGHT, 16};

static td_status check(const td_lesson_4 *lesson, const td_variant *variant, const td_attention_problem *a,
                       td_layout layout, td_check_result *result, td_error *err) {
    td_problem problem = {.op = TD_OP_ATTENTION_FORWARD, .attention = *a};
    td_check_options options = td_check_defaults(variant);
    options.seed = lesson->seed, options.layout = layout;
    return td_check(variant, &problem, &options, NULL, result, err);
}

static void error_cell(td_record *record, const char *column, const td_check_result *result, const char *output) {
    for (int k = 0; k < result->outputs; k++)
        if (!strcmp(result->output_name[k], output)) {
            if (result->output[k].nonfinite)
                td_record_text(record, column, "not finite");
            else
                td_record_real(record, column, result->output[k].rel_l2);
        }
}

/* `wrong`: the second test must notice. */
static td_status row(td_lesson_4 *lesson, td_record *record, const char *demand, const td_variant *variant,
                     const td_attention_problem *telling, td_layout layout, int wrong, td_error *err) {
    td_check_result first, second;
    td_status status = check(lesson, variant, &plain, TD_LAYOUT_CONTIGUOUS, &first, err);
    if (!status) status = check(lesson, variant, telling, layout, &second, err);
    if (status) return status;
    td_record_row(record);
    td_record_text(record, "demand", demand);
    td_record_text(record, "assumption", variant->mistake ? variant->mistake : "none: as it should be");
    td_record_text(record, "plain", td_verdict_name(first.verdict));
    td_record_text(record, "telling", td_verdict_name(second.verdict));
    error_cell(record, "o", &second, "O");
    error_cell(record, "lse", &second, "LSE");
    lesson->failed += wrong ? second.verdict != TD_FAIL : first.verdict == TD_FAIL || second.verdict == TD_FAIL;
    return TD_OK;
}

static td_status rows(td_lesson_4 *lesson, td_record *record, td_error *err) {
    td_variant contiguous = with("inputs are contiguous, (B, H, T, d)", run_contiguous),
               base_2 = with("2^s, s not multiplied by log2 e", run_base_2);
    const struct {
        const char *demand;
        const td_variant *variant;
        const td_attention_problem *telling;
        td_layout layout;
    } tests[] = {
        {"", right(), &ragged, TD_LAYOUT_TRANSPOSED},
        {"strides", &contiguous, &plain, TD_LAYOUT_TRANSPOSED},
        {"tail", td_variant_find("mistake_tail_dropped"), &ragged, TD_LAYOUT_CONTIGUOUS},
        {"tail", td_variant_find("mistake_zero_padded_tail"), &ragged, TD_LAYOUT_CONTIGUOUS},
        {"mask", td_variant_find("mistake_finite_sentinel"), &empty_rows, TD_LAYOUT_CONTIGUOUS},
        {"base", &base_2, &plain, TD_LAYOUT_CONTIGUOUS},
        {"base", td_variant_find("mistake_lse_base_2"), &plain, TD_LAYOUT_CONTIGUOUS},
    };
    td_status status = TD_OK;
    for (size_t i = 0; i < sizeof tests / sizeof *tests && !status; i++)
        status = row(lesson, record, tests[i].demand, tests[i].variant, tests[i].telling, tests[i].layout, i > 0, err);
    return status;
}

td_status td_lesson_4_show_demands(td_lesson_4 *lesson, td_error *err) {
    td_lesson_text(4, "Why");
    td_lesson_text(4, "From the formula to a program");
    td_lesson_text(4, "What a kernel may not assume");
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_status status = rows(lesson, record, err);
    static const td_heading columns[] = {{"demand", ""},     {"assumption", "what is assumed"},
                                         {"plain", "plain"}, {"telling", "telling"},
                                         {"o", "O off by"},  {"lse", "LSE off by"},
                                         {NULL, NULL}};
    if (!status) td_record_print(record, columns, stdout);
    td_record_delete(record);
    return status;
}
