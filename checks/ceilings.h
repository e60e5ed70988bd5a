/* What this machine can do, measured, and the roofline floor made of it (Williams, Waterman & Patterson 2009). */
#ifndef TANDEM_CHECKS_CEILINGS_H
#define TANDEM_CHECKS_CEILINGS_H

#include "../gpu/ceilings.h"
#include "tandem/variant.h"

typedef struct td_machine {
    char device[64];                       /* the processor's name */
    int cores;                             /* that OpenMP will use */
    int64_t l1_bytes, l2_bytes, llc_bytes; /* through hwloc; of one core, one core, the whole; 0 = unknown */
} td_machine;
void td_machine_read(td_machine *out);

typedef struct td_ceilings {
    double copy_bytes_per_s; /* CPU: bytes that cross between memory and all cores, from arrays of at least 4 times the
                              * last-level cache: the best of a copy (read + written; with plain stores and with stores
                              * that bypass the cache) and of a read alone, since an operation may mostly read.
                              * GPU: the same of its own memory */
    double flops_per_s[TD_DTYPES]; /* FMA in registers (2 FLOPs each) at the widest vector that this processor has, all
                                    * cores at once; 16-bit types compute in float32 on a CPU. GPU: by the type of the
                                    * factors, in registers or by its matrix units, whichever is faster */
} td_ceilings;
/* Measure (about a second): the best of several repeats, so that a busy machine does not lower the roof. */
td_status td_ceilings_measure(td_ceilings *out, td_error *err);
/* Of what a backend runs on. TD_NO_DEVICE without a GPU; TD_UNSUPPORTED for the emulator, whose speed means nothing. */
td_status td_ceilings_measure_of(td_backend backend, td_ceilings *out, td_error *err);
void td_ceilings_from_gpu(const td_gpu_ceilings *gpu, td_ceilings *out);

/* Which of flops_per_s is a variant's roof. On a CPU the type that it computes in. On a GPU that of its inputs: 16-bit
 * factors could have gone through the matrix units, whatever the variant does with them. */
td_dtype td_ceiling_of(const td_variant *variant);

/* max(flops / peak, bytes / bandwidth), seconds. */
double td_floor_seconds(const td_ceilings *ceilings, td_dtype dtype, double flops, double bytes);

#endif
