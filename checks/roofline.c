/* An operation's place under the roof, and the cells that a plot of it reads. */
#include "roofline.h"
#include <math.h>

td_status td_roofline_place(const td_ceilings *ceilings, td_dtype arithmetic, double flops, double bytes,
                            double seconds, td_roofline *out, td_error *err) {
    if (!(flops > 0 && bytes > 0))
        return td_fail(err, TD_BAD_PARAM, "roofline: %g FLOPs and %g bytes: both must be above 0", flops, bytes);
    if (seconds <= 0) return td_fail(err, TD_BAD_PARAM, "roofline: %g s: must be above 0", seconds);
    double peak = ceilings->flops_per_s[arithmetic], bandwidth = ceilings->copy_bytes_per_s;
    out->intensity = flops / bytes;
    out->rate = flops / seconds;
    out->roof = fmin(peak, out->intensity * bandwidth);
    out->floor_seconds = td_floor_seconds(ceilings, arithmetic, flops, bytes);
    out->fraction = out->floor_seconds / seconds;
    out->memory_bound = bytes / bandwidth > flops / peak;
    return TD_OK;
}

void td_roofline_cells(td_record *record, const char *label, td_dtype arithmetic, const td_ceilings *ceilings,
                       const td_roofline *place) {
    td_record_text(record, "label", label);
    td_record_text(record, "arithmetic", td_dtype_name(arithmetic));
    td_record_real(record, "intensity_flop_per_byte", place->intensity);
    td_record_real(record, "rate_gflop_per_s", 1e-9 * place->rate);
    td_record_real(record, "floor_ms", 1e3 * place->floor_seconds);
    td_record_real(record, "floor_percent", 100 * place->fraction);
    td_record_text(record, "bound_by", place->memory_bound ? "memory" : "arithmetic");
    td_record_real(record, "peak_gflop_per_s", 1e-9 * ceilings->flops_per_s[arithmetic]);
    td_record_real(record, "bandwidth_gb_per_s", 1e-9 * ceilings->copy_bytes_per_s);
}
