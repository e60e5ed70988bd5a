/* The index function: 64-bit, with strides of any sign. */
#include "tandem/tensor.h"
#include <criterion/criterion.h>

Test(tensor, offsets_beyond_32_bits_are_exact) {
    td_tensor t = {NULL, TD_FP16, {1, 1, 225305, 128}, {0, 0, 9728, 1}};
    cr_assert_eq(td_offset(&t, 0, 0, 225304, 0), INT64_C(2191757312)); /* past 2^31 */
    cr_assert_eq(td_offset(&t, 0, 0, 225304, 127), INT64_C(2191757439));
    t = td_contiguous(NULL, TD_BF16, 8300, 16, 1 << 20, 256);
    cr_assert_eq(td_offset(&t, 8299, 15, (1 << 20) - 1, 255), INT64_C(8300) * 16 * (1 << 20) * 256 - 1);
    cr_assert_eq(td_count(&t), INT64_C(8300) * 16 * (1 << 20) * 256);
}

Test(tensor, zero_and_negative_strides) {
    double x[6] = {0, 1, 2, 3, 4, 5};
    td_tensor reversed = {x + 5, TD_F64, {1, 1, 2, 3}, {0, 0, -3, -1}};
    cr_assert_eq(td_get(&reversed, 0, 0, 0, 0), 5);
    cr_assert_eq(td_get(&reversed, 0, 0, 1, 2), 0);
    td_tensor repeated = {x + 2, TD_F64, {1, 1, 9, 3}, {0, 0, 0, 1}};
    cr_assert_eq(td_get(&repeated, 0, 0, 8, 1), 3);
}
