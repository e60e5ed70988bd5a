/* Every operation of the lesson: checked, timed, checked again, and placed under the roof. */
#include "../../checks/progress.h"
#include "../../checks/roofline.h"
#include "lesson_2.h"

/* Continues the row that td_pair_row has begun: counts first, then the place. Without a time there is a floor only. */
static td_status place(td_lesson_2 *lesson, const td_variant *variant, const td_problem *problem, td_error *err) {
    td_record *record = lesson->placed;
    td_roofline roofline;
    double flops = variant->flops(problem), bytes = variant->bytes(problem);
    double seconds = 1e-3 * td_record_get(record, td_record_rows(record) - 1, "median_ms");
    td_dtype arithmetic = variant->rounding.arithmetic;
    td_status status = td_roofline_place(&lesson->ceilings, arithmetic, flops, bytes, seconds, &roofline, err);
    if (status) return status;
    td_record_real(record, "mflop", 1e-6 * flops);
    td_record_real(record, "mb", 1e-6 * bytes);
    td_roofline_cells(record, variant->name, arithmetic, &lesson->ceilings, &roofline);
    return TD_OK;
}

static td_status one(td_lesson_2 *lesson, const char *name, const td_problem *problem, td_error *err) {
    const td_variant *variant = td_variant_find(name);
    if (!variant) {
        td_record_row(lesson->placed);
        td_record_text(lesson->placed, "variant", name);
        td_record_text(lesson->placed, "verdict", "SKIP: not in this build");
        return TD_OK;
    }
    td_bench_options bench = td_bench_defaults();
    bench.max_runs = 30, bench.max_seconds = 0.4;
    td_check_options check = td_check_defaults(variant);
    check.seed = lesson->seed;
    td_status status = td_pair_row(lesson->placed, variant, problem, &check, &bench, NULL, &lesson->failed, err);
    return status ? status : place(lesson, variant, problem, err);
}

td_status td_lesson_2_show_placed(td_lesson_2 *lesson, td_error *err) {
    const struct {
        const char *name;
        const td_problem *problem;
        td_op op;
    } points[] = {
        {"gelu_f32", &lesson->rows, TD_OP_GELU},
        {"softmax_f32", &lesson->rows, TD_OP_SOFTMAX},
        {"softmax_online_f32", &lesson->rows, TD_OP_SOFTMAX},
        {"gemm_naive_f32", &lesson->gemm, TD_OP_GEMM},
        {"gemm_blocked_f32", &lesson->gemm, TD_OP_GEMM},
        {"gemm_openblas_f32", &lesson->gemm, TD_OP_GEMM},
        {"dense_f32", &lesson->attention, TD_OP_ATTENTION_FORWARD},
        {"online_f32", &lesson->attention, TD_OP_ATTENTION_FORWARD},
        {"online_f32_fast", &lesson->attention, TD_OP_ATTENTION_FORWARD},
    };
    enum { POINTS = sizeof points / sizeof *points };
    td_lesson_text(2, "Under the roof");
    td_progress progress;
    td_progress_start(&progress, "checked and timed", POINTS);
    td_status status = TD_OK;
    for (int i = 0; !status && i < POINTS; i++) {
        td_problem problem = *points[i].problem;
        problem.op = points[i].op;
        status = one(lesson, points[i].name, &problem, err);
        td_progress_step(&progress, 1);
    }
    td_progress_end(&progress);
    if (status) return status;
    static const td_heading counted[] =
        {{"variant", "variant"},   {"mflop", "MFLOP"},       {"mb", "MB"}, {"intensity_flop_per_byte", "FLOP/byte"},
         {"bound_by", "bound by"}, {"floor_ms", "floor ms"}, {NULL, NULL}},
                            measured[] = {{"variant", "variant"},          {"err_over_tol", "err/tol"},
                                          {"median_ms", "median ms"},      {"iqr_ms", "± IQR"},
                                          {"rate_gflop_per_s", "GFLOP/s"}, {"floor_percent", "% of floor"},
                                          {"verdict", "verdict"},          {NULL, NULL}};
    td_lesson_say("\nCounted:");
    td_record_print(lesson->placed, counted, stdout);
    td_lesson_say("\nMeasured (%% of floor: 100 is as fast as this machine could be):");
    td_record_print(lesson->placed, measured, stdout);
    td_lesson_text(2, "Far below it");
    return TD_OK;
}
