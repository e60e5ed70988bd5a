/* The sets of buffers that a benchmark rotates through, and the suspicion with which each run is looked at. */
#ifndef TANDEM_CHECKS_BENCH_SETS_H
#define TANDEM_CHECKS_BENCH_SETS_H

#include "row.h"
#include "trial.h"

enum { TD_BENCH_MOST_SETS = 64 };

typedef struct td_bench_sets {
    const td_variant *variant;
    td_problem problem;
    td_trial trial[TD_BENCH_MOST_SETS];
    int count;
    td_trial *current;       /* that of the last run; NULL before the first */
    td_row row;              /* new in it */
    const td_device *device; /* that it runs on; NULL = the host */
    int every_element;       /* of a check: whether the oracle can afford every row */
    char fault[200];         /* what the first run that misbehaved did; "" so far none */
} td_bench_sets;

/* As many sets as together are twice the last-level cache, the device's where there is one; *set_bytes is what one of
 * them takes there (measured). */
td_status td_bench_sets_new(td_bench_sets *sets, const td_variant *variant, const td_problem *problem,
                            size_t *set_bytes, td_error *err);
void td_bench_sets_free(td_bench_sets *sets);
/* Look at what the last run left (a fault is remembered), then make the next set ready: one row of each input new,
 * outputs and workspace poisoned. */
void td_bench_sets_turn(td_bench_sets *sets, int run);
/* The variant on the current set; TD_WRONG at once if an earlier run misbehaved. */
td_status td_bench_sets_run(td_bench_sets *sets, td_error *err);
/* Look at what the last run left: outputs written, inputs and bands untouched, the new row right. */
void td_bench_sets_inspect(td_bench_sets *sets);
/* Check the last run's output: every row, or a sample where the oracle would take too long. */
td_status td_bench_sets_check(td_bench_sets *sets, td_verdict *verdict, td_error *err);

#endif
