/* The ladder on a GPU: every rung checked, timed, and placed beside the rung before it. */
#include "../../checks/ceilings.h"
#include "../bench_table.h"
#include "lesson_4.h"
#include <math.h>

static td_status row(td_lesson_4 *lesson, const td_variant *variant, const td_ceilings *ceilings, double *before,
                     td_record *record, td_error *err) {
    td_bench_options bench = td_bench_defaults();
    bench.min_runs = 7, bench.max_runs = 15;
    td_bench_result r;
    td_status status = td_bench_variant(variant, &lesson->large, &bench, &r, err);
    if (status) return status;
    td_bench_row(record, variant, &lesson->large, &r, ceilings);
    if (td_bench_verdict(&r) <= TD_MARGINAL) {
        if (*before > 0) td_record_real(record, "times_faster", *before / r.timing.median);
        *before = r.timing.median;
    }
    lesson->failed += td_bench_verdict(&r) == TD_FAIL;
    return TD_OK;
}

static td_status measure(td_lesson_4 *lesson, td_record *record, td_error *err) {
    td_ceilings ceilings;
    const td_variant *variant;
    double before = NAN;
    td_status status = td_ceilings_measure_of(TD_CUDA, &ceilings, err);
    for (int i = 0; !status && (variant = td_lesson_4_rung(lesson, TD_CUDA, i)); i++)
        status = row(lesson, variant, &ceilings, &before, record, err);
    return status;
}

td_status td_lesson_4_show_ladder_gpu(td_lesson_4 *lesson, td_error *err) {
    static const td_heading columns[] = {{"variant", "variant"},
                                         {"median_ms", "median ms"},
                                         {"iqr_ms", "± IQR"},
                                         {"rate_gflop_per_s", "GFLOP/s"},
                                         {"floor_percent", "% of floor"},
                                         {"times_faster", "x the rung before"},
                                         {"verdict", "verdict"},
                                         {NULL, NULL}};
    static const td_measurement what = {"gpu_forward_ladder", NULL, columns, measure};
    td_lesson_text(4, "The same rungs on a GPU");
    return td_lesson_4_measured(lesson, &what, err);
}
