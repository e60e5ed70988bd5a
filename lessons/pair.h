/* The pair's table: one row a variant, checked, then timed, then checked again. */
#ifndef TANDEM_LESSON_PAIR_H
#define TANDEM_LESSON_PAIR_H

#include "../checks/bench.h"
#include "../checks/ceilings.h"
#include "../checks/check.h"
#include "../checks/record.h"

/* Append to `record` the row of `variant` on `problem`: variant, block, err_over_tol, worst, got, want, median_ms,
 * iqr_ms, runs, workspace_mib, floor_percent, verdict (with its reason where it is not PASS). `ceilings` may be NULL:
 * no floor. A variant that fails its check gets no time. `failed` counts verdicts FAIL. */
td_status td_pair_row(td_record *record, const td_variant *variant, const td_problem *problem,
                      const td_check_options *check, const td_bench_options *bench, const td_ceilings *ceilings,
                      int *failed, td_error *err);

/* The numbers of one check as cells of the current row. */
void td_pair_comparison(td_record *record, const td_check_result *result);

/* Its verdict as the last cell, with the reason or the mistake that explains it. */
void td_pair_verdict(td_record *record, const td_check_result *result);

/* On stdout, in the order that every lesson uses: what was checked, then, where something was timed, the times. */
void td_pair_print(const td_record *record);

#endif
