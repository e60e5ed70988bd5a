/* What every machine of the kind has (SSE2, NEON, …): vectors of 4 floats. */
#define LEVEL td_fast_base
#define LEVEL_NAME "base"
#define LEVEL_SUPPORTED 1
#define LANES 4
#define MR 3
#include "online_fast_body.h"
