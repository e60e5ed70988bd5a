/* AVX2 and FMA: 16 registers of 8 floats. Compiled for x86-64-v3. */
#if defined(__x86_64__)
#define LEVEL td_fast_v3
#define LEVEL_NAME "x86-64-v3"
#define LEVEL_SUPPORTED __builtin_cpu_supports("x86-64-v3")
#define LANES 8
#define MR 4
#include "online_fast_body.h"
#else
typedef int td_no_v3; /* an empty file is no C */
#endif
