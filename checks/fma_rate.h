/* The arithmetic half of the ceilings: FLOP/s of multiply-adds in registers. */
#ifndef TANDEM_CHECKS_FMA_RATE_H
#define TANDEM_CHECKS_FMA_RATE_H

#include "tandem/dtype.h"

/* FLOP/s over all cores in about 2 × `seconds`; 16-bit types as float32. */
double td_fma_rate(td_dtype dtype, double seconds);

#endif
