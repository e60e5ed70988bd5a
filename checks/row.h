/* One row of a problem as a problem of its own: query i in all the heads that share a key/value head, or row i of a
 * matrix. What the oracle needs minutes for as a whole, it can check a row at a time. Of attention backward's outputs
 * dQ has such rows; dK and dV, sums over all queries, are checked a key/value head at a time. */
#ifndef TANDEM_CHECKS_ROW_H
#define TANDEM_CHECKS_ROW_H

#include "compare.h"
#include "operations.h"

typedef struct td_row {
    int64_t b, kv, i; /* batch element and key/value head (0 for matrices), row */
} td_row;

/* How many rows a problem has: 0 where an output is empty. */
int64_t td_rows(const td_problem *problem);
/* Number n of them, 0 ≤ n < td_rows. */
td_row td_row_at(const td_problem *problem, int64_t n);
/* Write new normal deviates, drawn with `seed`, into one row of each input: into the row itself, and into a row that it
 * reads where there is one. Of backward's inputs only dO gets one: the given O and LSE must stay Q's, K's and V's. */
void td_row_renew(const td_problem *problem, const td_tensor *tensors, td_row row, uint64_t seed);
/* Compare outputs with the oracle on the same inputs, by the GATE that belongs to `rounding`: the row's alone, or all.
 * Writes the verdict, and for FAIL the reason. */
td_status td_row_check(const td_problem *problem, const td_tensor *tensors, td_row row, const td_rounding *rounding,
                       td_verdict *verdict, char *reason, int size, td_error *err);
/* Attention: all outputs of the row's key/value head. */
td_status td_heads_check(const td_problem *problem, const td_tensor *tensors, td_row row, const td_rounding *rounding,
                         td_verdict *verdict, char *reason, int size, td_error *err);
td_status td_outputs_check(const td_problem *problem, const td_tensor *tensors, const td_rounding *rounding,
                           td_verdict *verdict, char *reason, int size, td_error *err);

#endif
