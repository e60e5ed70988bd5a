/* What this machine can do, measured, and the roofline floor made of it (Williams, Waterman & Patterson 2009). */
#ifndef TANDEM_CHECKS_CEILINGS_H
#define TANDEM_CHECKS_CEILINGS_H

#include "tandem/dtype.h"
#include "tandem/status.h"

typedef struct td_machine {
    char device[64];                       /* the processor's name */
    int cores;                             /* that OpenMP will use */
    int64_t l1_bytes, l2_bytes, llc_bytes; /* through hwloc; of one core, one core, the whole; 0 = unknown */
} td_machine;
void td_machine_read(td_machine *out);

typedef struct td_ceilings {
    double copy_bytes_per_s;       /* bytes that cross between memory and all cores, from arrays of at least 4 times the
                                    * last-level cache: the best of a copy (read + written; with plain stores and with stores
                                    * that bypass the cache) and of a read alone, since an operation may mostly read */
    double flops_per_s[TD_DTYPES]; /* FMA in registers (2 FLOPs each) at the widest vector that this processor has, all
                                    * cores at once; 16-bit types compute in float32 on a CPU */
} td_ceilings;
/* Measure (about a second): the best of several repeats, so that a busy machine does not lower the roof. */
td_status td_ceilings_measure(td_ceilings *out, td_error *err);

/* max(flops / peak, bytes / bandwidth), seconds. */
double td_floor_seconds(const td_ceilings *ceilings, td_dtype dtype, double flops, double bytes);

#endif
