/* Time against T on a GPU: every rung, until it takes too long or memory ends. */
#include "../../checks/ceilings.h"
#include "../bench_table.h"
#include "../measured.h"
#include "../rungs.h"
#include "lesson_4.h"
#include <math.h>

enum { FIRST_T = 512, LAST_T = 16384, SLOW_MS = 100 };

static td_status row(td_lesson_4 *lesson, const td_variant *variant, int64_t T, const td_ceilings *ceilings, double *ms,
                     td_record *record, td_error *err) {
    td_problem problem = lesson->large;
    problem.attention.B = 1, problem.attention.Tq = problem.attention.Tk = T;
    td_bench_options bench = td_bench_defaults();
    bench.warmup = 1, bench.min_runs = 5, bench.max_runs = 8;
    td_bench_result r;
    td_status status = td_bench_variant(variant, &problem, &bench, &r, err);
    if (status == TD_NO_MEMORY) { /* here its line ends */
        *ms = INFINITY;
        return TD_OK;
    }
    if (status || td_bench_verdict(&r) == TD_SKIP) return status;
    td_bench_row(record, variant, &problem, &r, ceilings);
    td_record_int(record, "T", T);
    td_record_real(record, "q1_ms", 1e3 * r.timing.q1);
    td_record_real(record, "q3_ms", 1e3 * r.timing.q3);
    *ms = 1e3 * r.timing.median;
    lesson->failed += td_bench_verdict(&r) == TD_FAIL;
    return TD_OK;
}

static td_status measure(void *of, td_record *record, td_error *err) {
    td_lesson_4 *lesson = of;
    td_ceilings ceilings;
    const td_variant *variant;
    td_status status = td_ceilings_measure_of(TD_CUDA, &ceilings, err);
    for (int i = 0; !status && (variant = td_rung_at(TD_OP_ATTENTION_FORWARD, TD_CUDA, lesson->dtype, i)); i++) {
        double ms = 0;
        for (int64_t T = FIRST_T; T <= LAST_T && ms < SLOW_MS && !status; T *= 2)
            status = row(lesson, variant, T, &ceilings, &ms, record, err);
    }
    return status;
}

td_status td_lesson_4_show_scaling(td_lesson_4 *lesson, td_error *err) {
    static const td_heading columns[] = {
        {"variant", "variant"}, {"T", "T"}, {"median_ms", "median ms"}, {"peak_mib", "peak MiB"}, {NULL, NULL}};
    static const td_measurement what = {"gpu_forward_T", "rungs_vs_T", columns, measure};
    td_lesson_text(4, "Time against T");
    return td_measured(lesson->arguments, 4, lesson, &what, err);
}
