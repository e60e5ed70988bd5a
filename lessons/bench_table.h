/* The table of a benchmark: one row a variant. */
#ifndef TANDEM_BENCH_TABLE_H
#define TANDEM_BENCH_TABLE_H

#include "../checks/bench.h"
#include "../checks/ceilings.h"
#include "../checks/record.h"

/* What is measured, before any number: scope, shape, mask, batch, device, threads. */
void td_bench_print_boundary(const td_problem *problem);
/* The line of it that a GPU adds. */
void td_bench_print_device(const td_device *device);
/* FAIL if either of the verdicts is, SKIP if it did not come to both, else the worse. */
int td_bench_verdict(const td_bench_result *result);
/* What was chosen, as cells of the current row. */
void td_bench_problem_cells(td_record *record, const td_variant *variant, const td_problem *problem);
/* Append the row: the problem, then the timing, the rates, the memory, the place under the roof (where
 * that was measured: ceilings above 0), the verdict. */
void td_bench_row(td_record *record, const td_variant *variant, const td_problem *problem,
                  const td_bench_result *result, const td_ceilings *ceilings);
void td_bench_print(const td_record *record);

/* The higher of two measurements of each ceiling: one taken while the machine was busy would be no ceiling. */
void td_ceilings_higher(td_ceilings *ceilings, const td_ceilings *other);
void td_ceilings_print(const char *label, const td_ceilings *ceilings);

#endif
