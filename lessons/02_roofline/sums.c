/* One hundredth, a thousand times, in several pairs of types. */
#include "../../cpu_ref/accumulate/accumulate.h"
#include "lesson_2.h"
#include <math.h>

enum { TERMS = 1000 };

static const char *const choices[] = {"10.0", "9.95", "10.002", "10.0001"};

int td_lesson_2_predict_sum(void) {
    return td_lesson_predict("0.01 is added a thousand times, in fp16: the term and every partial sum are rounded to "
                             "it. What comes out?",
                             choices, sizeof choices / sizeof *choices);
}

td_status td_lesson_2_show_sums(td_lesson_2 *lesson, int chosen, td_error *err) {
    static const struct {
        const char *how;
        td_precision precision;
        double (*sum)(const double *x, int64_t n, td_precision p);
    } way[] = {
        {"one by one", {TD_F64, TD_F64}, td_accumulate_sum},
        {"one by one", {TD_F32, TD_F32}, td_accumulate_sum},
        {"one by one", {TD_FP16, TD_FP16}, td_accumulate_sum},
        {"one by one", {TD_FP16, TD_F32}, td_accumulate_sum},
        {"one by one", {TD_BF16, TD_BF16}, td_accumulate_sum},
        {"one by one", {TD_BF16, TD_F32}, td_accumulate_sum},
        {"by halves", {TD_FP16, TD_FP16}, td_accumulate_sum_pairwise},
        {"Kahan's", {TD_FP16, TD_FP16}, td_accumulate_sum_kahan},
    };
    (void)lesson;
    td_lesson_text(2, "Sums in short formats");
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    double x[TERMS];
    for (int k = 0; k < TERMS; k++) x[k] = 0.01;
    double exact = td_accumulate_sum(x, TERMS, way[0].precision);
    for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
        char text[32];
        double sum = way[i].sum(x, TERMS, way[i].precision);
        snprintf(text, sizeof text, "%.7g", sum);
        td_record_row(record);
        td_record_text(record, "how", way[i].how);
        td_record_text(record, "term", td_dtype_name(way[i].precision.term));
        td_record_text(record, "accumulator", td_dtype_name(way[i].precision.accumulator));
        td_record_text(record, "sum", text);
        td_record_real(record, "error_percent", 100 * fabs(sum - exact) / exact);
    }
    static const td_heading columns[] = {{"how", "added"},
                                         {"term", "terms in"},
                                         {"accumulator", "sum in"},
                                         {"sum", "sum"},
                                         {"error_percent", "error in %"},
                                         {NULL, NULL}};
    printf("\n");
    td_record_print(record, columns, stdout);
    td_record_delete(record);
    td_lesson_answer(chosen, 1, choices,
                     "From 8 on, neighbouring fp16 numbers are 2^-7 = 0.0078 apart, so each 0.01 adds 0.0078: a fifth "
                     "is lost. Below 8 the same rounding went up as well as down. A float accumulator keeps what "
                     "every term brings; what is left of the error is that fp16 has no 0.01, and that no accumulator "
                     "can mend.");
    return TD_OK;
}
