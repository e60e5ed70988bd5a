/* AVX2 and FMA: 16 registers of 8 floats. Compiled with -mavx2 -mfma. */
#if defined(__x86_64__)
#define LEVEL td_fast_avx2
#define LEVEL_NAME "avx2"
#define LEVEL_SUPPORTED __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
#define LANES 8
#define MR 4
#include "online_fast_body.h"
#else
typedef int td_no_avx2; /* an empty file is no C */
#endif
