/* Do Hopper's matrix layouts lie as gpu/hopper/ describes them, and would the check see it if they did not? */
#ifndef TANDEM_CHECKS_WGMMA_LAYOUTS_H
#define TANDEM_CHECKS_WGMMA_LAYOUTS_H

#include "compare.h"
#include "tandem/status.h"

/* Every form of wgmma on one-hot matrices (gpu/wgmma_layouts.h), right in all of them; and with a wrong stride, wrong
 * in all of them. What was seen in `reason`. */
td_status td_wgmma_layouts_check(td_verdict *verdict, char reason[200], td_error *err);

#endif
