/* Are the fragments of gpu/mma.h those that it describes? */
#ifndef TANDEM_CHECKS_MMA_LAYOUTS_H
#define TANDEM_CHECKS_MMA_LAYOUTS_H

#include "../gpu/mma_layouts.h"
#include "compare.h"
#include "tandem/device.h"

/* One-hot matrices for each element of A and of B; random ones, subnormal numbers, ∞ and NaN; two products with shared
 * memory between, of whole numbers; td_pack on numbers of all sizes; td_ldmatrix4, every element its own number.
 * TD_FAIL, and what was wrong in `reason`. `dtype`: TD_BF16 or TD_FP16. */
td_status td_mma_layouts_check(const td_mma_layouts *layouts, td_dtype dtype, const td_device *device,
                               td_verdict *verdict, char reason[200], td_error *err);

#endif
