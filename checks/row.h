/* One row of a problem as a problem of its own: query i in all the heads that share a key/value head, or row i of a
 * matrix. What the oracle needs minutes for as a whole, it can check a row at a time.
 *
 * A row of attention backward is a query, whose dQ stands alone, and a key, whose dK and dV do not: they need P and D
 * of every query that reads it. Those are taken from the given LSE and O, which a bench knows to be the true ones
 * rounded once, in O(Tq·d) instead of O(Tq·Tk·d); what that rounding is worth is in the bound (td_backward_key). */
#ifndef TANDEM_CHECKS_ROW_H
#define TANDEM_CHECKS_ROW_H

#include "compare.h"
#include "operations.h"

typedef struct td_row {
    int64_t b, kv, i; /* batch element and key/value head (0 for matrices), row; backward: 0 ≤ i < max(Tq, Tk) */
} td_row;

/* How many rows a problem has: 0 where an output is empty. */
int64_t td_rows(const td_problem *problem);
/* Number n of them, 0 ≤ n < td_rows. Backward's last row has the last query and the last key. */
td_row td_row_at(const td_problem *problem, int64_t n);
/* Write new normal deviates, drawn with `seed`, into one row of each input: into the row itself, and into a row that it
 * reads where there is one. Backward: into Q and dO of the row's query and of the last query, which reads the row's key
 * if any does, and their O and LSE are made to fit again; K and V stay, since one row of them is in every O. Fails for
 * lack of memory, with inputs that do not belong together. */
td_status td_row_renew(const td_problem *problem, const td_tensor *tensors, td_row row, uint64_t seed, td_error *err);
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
