/* wgmma's descriptors and fragments on one-hot matrices: it takes a GPU. */
#include "../../checks/wgmma_layouts.h"
#include "../support.h"

Test(wgmma_layouts, one_hot_matrices_meet_where_the_headers_say) {
    td_error err = {TD_OK, ""};
    td_verdict verdict;
    char reason[200];
    td_status s = td_wgmma_layouts_check(&verdict, reason, &err);
    if (s == TD_NO_DEVICE) cr_skip_test("SKIP: %s", err.message);
    cr_assert_eq(s, TD_OK, "%s", err.message);
    cr_assert_eq(verdict, TD_PASS, "%s", reason);
}
