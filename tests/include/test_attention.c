/* The mask's closed forms against a count by hand. */
#include "tandem/attention.h"
#include <criterion/criterion.h>

Test(attention, allowed_pairs_is_the_sum_of_allowed_keys) {
    for (int mask = 0; mask < TD_MASKS; mask++)
        for (int64_t Tq = 0; Tq < 9; Tq++)
            for (int64_t Tk = 0; Tk < 9; Tk++) {
                int64_t sum = 0;
                for (int64_t i = 0; i < Tq; i++) sum += td_allowed_keys((td_mask)mask, i, Tq, Tk);
                cr_assert_eq(td_allowed_pairs((td_mask)mask, Tq, Tk), sum, "%s Tq=%ld Tk=%ld",
                             td_mask_name((td_mask)mask), (long)Tq, (long)Tk);
            }
}
