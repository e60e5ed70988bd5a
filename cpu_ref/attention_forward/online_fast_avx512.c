/* AVX-512: 32 registers of 16 floats. Compiled with -mavx512f, so nothing here runs unless the machine has it. */
#if defined(__x86_64__)
#define LEVEL td_fast_avx512
#define LEVEL_NAME "avx512"
#define LEVEL_SUPPORTED __builtin_cpu_supports("avx512f")
#define LANES 16
#define MR 8
#include "online_fast_body.h"
#else
typedef int td_no_avx512; /* an empty file is no C */
#endif
