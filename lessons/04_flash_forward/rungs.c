/* Every rung of the ladder against the demands: the very source that a GPU runs, under the emulator. */
#include "../../gpu/launches.h"
#include "lesson_4.h"
#include <string.h>

typedef struct demand {
    const char *name;
    td_attention_problem problem;
    td_layout layout;
} demand;

static const demand demands[] = {
    {"plain", {1, 2, 2, 32, 32, 32, 0.2, TD_MASK_NONE, 0}, TD_LAYOUT_CONTIGUOUS},
    {"tail", {1, 2, 2, 33, 33, 32, 0.2, TD_MASK_NONE, 0}, TD_LAYOUT_CONTIGUOUS},
    {"d=46", {1, 2, 2, 17, 17, 46, 0.2, TD_MASK_NONE, 0}, TD_LAYOUT_CONTIGUOUS},
    {"strides", {2, 2, 2, 17, 17, 32, 0.2, TD_MASK_NONE, 0}, TD_LAYOUT_TRANSPOSED},
    {"stride 0", {2, 2, 2, 17, 17, 32, 0.2, TD_MASK_NONE, 0}, TD_LAYOUT_BROADCAST},
    {"GQA", {1, 4, 2, 17, 17, 32, 0.2, TD_MASK_NONE, 0}, TD_LAYOUT_CONTIGUOUS},
    {"causal", {1, 2, 2, 33, 33, 32, 0.2, TD_MASK_CAUSAL_TOP_LEFT, 0}, TD_LAYOUT_CONTIGUOUS},
    {"Tq<Tk", {1, 2, 2, 17, 31, 32, 0.2, TD_MASK_CAUSAL_BOTTOM_RIGHT, 0}, TD_LAYOUT_CONTIGUOUS},
    {"Tq>Tk", {1, 2, 2, 31, 17, 32, 0.2, TD_MASK_CAUSAL_BOTTOM_RIGHT, 0}, TD_LAYOUT_CONTIGUOUS},
    {"T=1", {1, 2, 2, 1, 1, 32, 0.2, TD_MASK_NONE, 0}, TD_LAYOUT_CONTIGUOUS},
};
enum { DEMANDS = sizeof demands / sizeof *demands };

static td_status row(td_lesson_4 *lesson, const td_variant *variant, td_record *record, td_error *err) {
    td_record_row(record);
    td_record_text(record, "variant", variant->name);
    for (int i = 0; i < DEMANDS; i++) {
        td_problem problem = {.op = TD_OP_ATTENTION_FORWARD, .attention = demands[i].problem};
        td_check_options options = td_check_defaults(variant);
        options.seed = lesson->seed, options.layout = demands[i].layout;
        td_check_result result;
        td_launch_log(1);
        td_status status = td_check(variant, &problem, &options, NULL, &result, err);
        td_launch_log(0);
        if (status) return status;
        const char *lower = td_counted_lower_rung(variant);
        char passed[TD_RECORD_TEXT];
        snprintf(passed, sizeof passed, "%s%s", lower ? "by " : "pass", lower ? lower : "");
        td_record_text(record, demands[i].name,
                       result.verdict == TD_FAIL   ? "FAIL"
                       : result.verdict == TD_SKIP ? "skip"
                                                   : passed);
        if (result.verdict == TD_SKIP) td_record_text(record, "reason", result.reason);
        lesson->failed += result.verdict == TD_FAIL;
    }
    return TD_OK;
}

td_status td_lesson_4_show_rungs(td_lesson_4 *lesson, td_error *err) {
    td_lesson_text(4, "The rungs, against the same demands");
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_status status = TD_OK;
    for (const td_variant *const *v = td_emulated_variants; *v && !status; v++)
        if ((*v)->op == TD_OP_ATTENTION_FORWARD) status = row(lesson, *v, record, err);
    td_heading columns[DEMANDS + 2] = {{"variant", "variant"}};
    for (int i = 0; i < DEMANDS; i++) columns[i + 1] = (td_heading){demands[i].name, demands[i].name};
    if (!status) td_record_print(record, columns, stdout);
    for (int r = 0; !status && r < td_record_rows(record); r++)
        if (td_record_get_text(record, r, "reason")[0])
            td_lesson_say("%s skips: %s.", td_record_get_text(record, r, "variant"),
                          td_record_get_text(record, r, "reason"));
    td_record_delete(record);
    return status;
}
