/* The emulator's matrix unit has the fragments that gpu/mma.h describes, and wrong ones are seen. */
#include "../../../checks/mma_layouts.h"
#include "mma_mutants.h"
#include <criterion/criterion.h>

static td_verdict check(const td_mma_layouts layouts[2], int half, char reason[200]) {
    td_error err = {TD_OK, ""};
    td_verdict verdict = TD_FAIL;
    cr_assert_eq(td_mma_layouts_check(&layouts[half], half ? TD_FP16 : TD_BF16, td_emulated_device(&err), &verdict,
                                      reason, &err),
                 TD_OK, "%s", err.message);
    return verdict;
}

Test(emulator_mma, layouts) {
    char reason[200];
    for (int half = 0; half < 2; half++)
        cr_expect_eq(check(td_emulated_mma_layouts, half, reason), TD_PASS, "%s", reason);
}

Test(emulator_mma, wrong_layouts_are_seen) {
    char reason[200];
    for (int half = 0; half < 2; half++)
        for (td_test_mma_mutant = 0; td_test_mma_mutant <= TD_TEST_MMA_MUTANTS; td_test_mma_mutant++)
            cr_expect_eq(check(td_test_mma_layouts, half, reason), td_test_mma_mutant ? TD_FAIL : TD_PASS,
                         "mutant %d, half %d: %s", td_test_mma_mutant, half, reason);
}
