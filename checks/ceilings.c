/* The two lines of the roofline, measured. */
#include "ceilings.h"
#include "copy_rate.h"
#include "fma_rate.h"
#include <math.h>
#include <string.h>

td_status td_ceilings_measure(td_ceilings *out, td_error *err) {
    td_machine machine;
    memset(out, 0, sizeof *out);
    td_machine_read(&machine);
    td_status status =
        td_copy_rate(machine.llc_bytes > 0 ? machine.llc_bytes : 32 << 20, 0.25, &out->copy_bytes_per_s, err);
    if (status) return status;
    out->flops_per_s[TD_F64] = td_fma_rate(TD_F64, 0.1);
    out->flops_per_s[TD_F32] = td_fma_rate(TD_F32, 0.1);
    out->flops_per_s[TD_BF16] = out->flops_per_s[TD_FP16] = out->flops_per_s[TD_F32];
    return TD_OK;
}

double td_floor_seconds(const td_ceilings *ceilings, td_dtype dtype, double flops, double bytes) {
    return fmax(flops / ceilings->flops_per_s[dtype], bytes / ceilings->copy_bytes_per_s);
}
