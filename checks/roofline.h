/* The roofline: where an operation stands under what this machine can do (Williams, Waterman & Patterson 2009).
 *
 * Across: arithmetic intensity, FLOPs a byte. Up: the rate reached, FLOP/s. The roof: min(peak, intensity · bandwidth).
 * Left of the ridge, at peak / bandwidth, memory sets the limit; right of it, arithmetic. */
#ifndef TANDEM_CHECKS_ROOFLINE_H
#define TANDEM_CHECKS_ROOFLINE_H

#include "ceilings.h"
#include "record.h"

typedef struct td_roofline {
    double intensity;     /* FLOPs / bytes */
    double rate;          /* FLOP/s reached */
    double roof;          /* FLOP/s possible at this intensity */
    double floor_seconds; /* td_floor_seconds: no version can be faster */
    double fraction;      /* floor_seconds / seconds = rate / roof, 0 … 1 */
    int memory_bound;     /* memory sets the floor */
} td_roofline;

/* `arithmetic`: the type that the variant computes in. flops and bytes as counted, both above 0; seconds as measured,
 * NaN where there is no measurement: rate and fraction are then NaN too. */
td_status td_roofline_place(const td_ceilings *ceilings, td_dtype arithmetic, double flops, double bytes,
                            double seconds, td_roofline *out, td_error *err);

/* Set the cells of the current row that plots/roofline.gp reads: label (what stands beside the point), arithmetic,
 * intensity_flop_per_byte, rate_gflop_per_s, floor_ms, floor_percent, bound_by, peak_gflop_per_s,
 * bandwidth_gb_per_s. */
void td_roofline_cells(td_record *record, const char *label, td_dtype arithmetic, const td_ceilings *ceilings,
                       const td_roofline *place);

#endif
