/* An engine's operations on long vectors (engine.h), held to the CPU's. */
#ifndef TANDEM_CHECKS_ENGINE_CHECK_H
#define TANDEM_CHECKS_ENGINE_CHECK_H

#include "compare.h"
#include "tandem/engine.h"

/* On `count` elements (32 or more; a few thousand fill a GPU's blocks): conversions between all dtypes, with factors,
 * wherever the two arrays begin, to the last bit; Σ x² within its bound, with the same bits twice; the first NaN or ∞
 * wherever it stands among many slices; copy and zero. TD_FAIL, and what was wrong in `reason`, if one is not as it
 * should be. */
td_status td_engine_check(const td_engine *engine, int count, td_verdict *verdict, char reason[200], td_error *err);

#endif
