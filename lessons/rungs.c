/* The rungs of a ladder, and their times on a GPU. */
#include "rungs.h"
#include "../checks/compare.h"
#include "bench_table.h"
#include <math.h>

const td_variant *td_rung_at(td_op op, td_backend backend, td_dtype dtype, int i) {
    const td_variant *const *table = backend == TD_CUDA ? td_cuda_variants : td_emulated_variants;
    for (; *table; table++)
        if ((*table)->op == op && (*table)->dtype == dtype && i-- == 0) return *table;
    return NULL;
}

const td_heading td_rungs_time_columns[] = {{"variant", "variant"},
                                            {"median_ms", "median ms"},
                                            {"iqr_ms", "± IQR"},
                                            {"rate_gflop_per_s", "GFLOP/s"},
                                            {"floor_percent", "% of floor"},
                                            {"times_faster", "x the rung before"},
                                            {"verdict", "verdict"},
                                            {NULL, NULL}};

static td_status row(const td_variant *variant, const td_problem *problem, const td_ceilings *ceilings, double *before,
                     td_record *record, int *failed, td_error *err) {
    td_bench_options bench = td_bench_defaults();
    bench.min_runs = 7, bench.max_runs = 15;
    td_bench_result r;
    td_status status = td_bench_variant(variant, problem, &bench, &r, err);
    if (status) return status;
    td_bench_row(record, variant, problem, &r, ceilings);
    if (td_bench_verdict(&r) <= TD_MARGINAL) {
        if (*before > 0) td_record_real(record, "times_faster", *before / r.timing.median);
        *before = r.timing.median;
    }
    *failed += td_bench_verdict(&r) == TD_FAIL;
    return TD_OK;
}

td_status td_rungs_time(const td_problem *problem, td_dtype dtype, int (*takes)(const td_variant *), td_record *record,
                        int *failed, td_error *err) {
    td_ceilings ceilings;
    const td_variant *variant;
    double before = NAN;
    td_status status = td_ceilings_measure_of(TD_CUDA, &ceilings, err);
    for (int i = 0; !status && (variant = td_rung_at(problem->op, TD_CUDA, dtype, i)); i++)
        if (!takes || takes(variant)) status = row(variant, problem, &ceilings, &before, record, failed, err);
    return status;
}
