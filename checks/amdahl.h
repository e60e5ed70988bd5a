/* Amdahl's law: what one part's share of a step allows (Amdahl 1967). */
#ifndef TANDEM_CHECKS_AMDAHL_H
#define TANDEM_CHECKS_AMDAHL_H

#include "tandem/status.h"

/* Speed-up of the whole when a part that takes `share` of its time (0 … 1) becomes `factor` (> 0) times as fast;
 * factor = ∞ makes the part free and gives the limit, 1 / (1 − share). */
td_status td_amdahl_speedup(double share, double factor, double *out, td_error *err);
/* Seconds that the whole would then take, if nothing else changes. */
td_status td_amdahl_seconds(double whole, double share, double factor, double *out, td_error *err);

#endif
