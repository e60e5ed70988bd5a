/* The memory half of the ceilings: bytes a second between memory and all cores. */
#ifndef TANDEM_CHECKS_COPY_RATE_H
#define TANDEM_CHECKS_COPY_RATE_H

#include "tandem/status.h"
#include <stdint.h>

/* Bytes/s over all cores, of arrays of 4 × `cache_bytes` each: the best millisecond of a copy with plain stores, a copy
 * with stores that bypass the cache, and a read alone, each repeated for `seconds`. */
td_status td_copy_rate(int64_t cache_bytes, double seconds, double *out, td_error *err);

#endif
