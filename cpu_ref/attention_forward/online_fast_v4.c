/* AVX-512: 32 registers of 16 floats. Compiled for x86-64-v4, so nothing here runs unless the machine has it. */
#if defined(__x86_64__)
#define LEVEL td_fast_v4
#define LEVEL_NAME "x86-64-v4"
#define LEVEL_SUPPORTED __builtin_cpu_supports("x86-64-v4")
#define LANES 16
#define MR 8
#include "online_fast_body.h"
#else
typedef int td_no_v4; /* an empty file is no C */
#endif
