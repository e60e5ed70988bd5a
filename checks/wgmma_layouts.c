/* Right descriptors pass, and a wrong one fails: else the check sees nothing. */
#include "wgmma_layouts.h"
#include "../gpu/wgmma_layouts.h"
#include <stdio.h>

td_status td_wgmma_layouts_check(td_verdict *verdict, char reason[200], td_error *err) {
    int forms, wrong, mistaken;
    char first[200], unused[200];
    td_status s = td_wgmma_layouts(0, &forms, &wrong, first, err);
    if (!s) s = td_wgmma_layouts(1, &forms, &mistaken, unused, err);
    if (s) return s;
    *verdict = wrong || mistaken < forms ? TD_FAIL : TD_PASS;
    if (wrong)
        snprintf(reason, 200, "%.199s", first);
    else if (mistaken < forms)
        snprintf(reason, 200, "a wrong stride was seen in %d of %d forms only", mistaken, forms);
    else
        snprintf(reason, 200, "one-hot matrices in %d forms; a wrong stride is seen in each", forms);
    return TD_OK;
}
