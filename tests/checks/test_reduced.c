/* The sums over ranks are told from everything that is not quite that. */
#include "../../checks/reduced.h"
#include "tandem/philox.h"
#include <criterion/criterion.h>

enum { RANKS = 3, COUNT = 1000 };
static float each[RANKS * COUNT], sum[COUNT];

static void fill(void) {
    for (int i = 0; i < RANKS * COUNT; i++) each[i] = (float)td_normal(7, 1, (uint64_t)i);
    for (int i = 0; i < COUNT; i++) sum[i] = each[i] + each[COUNT + i] + each[2 * COUNT + i];
}

static double worst(void) {
    double size = 0, w = td_reduced_worst(sum, each, COUNT, RANKS, &size);
    cr_expect_gt(size, 0);
    return w;
}

Test(reduced, sums_in_any_order_are_within_the_bound) {
    fill();
    double w = worst();
    cr_expect(w > 0 && w <= 1, "%g", w);
    for (int i = 0; i < COUNT; i++) sum[i] = each[2 * COUNT + i] + each[COUNT + i] + each[i];
    cr_expect(worst() <= 1);
}

Test(reduced, one_element_that_is_not_the_sum_is_found) {

    for (int k = 0; k < 3; k++) {
        fill();
        sum[417] -= each[k * COUNT + 417];
        cr_expect_eq(worst(), INFINITY, "without rank %d", k);
    }
    fill(), sum[COUNT - 1] /= RANKS;
    cr_expect_eq(worst(), INFINITY, "a mean");
    fill(), sum[0] = NAN;
    cr_expect_eq(worst(), INFINITY, "NaN");
    fill(), sum[1] = td_bf16_to_f32(td_f32_to_bf16(sum[1]));
    cr_expect_eq(worst(), INFINITY, "rounded to bf16");
    fill(), sum[2] += 0x1p-20f * fabsf(sum[2]);
    cr_expect_eq(worst(), INFINITY, "off by 16 units in the last place");
}

Test(reduced, one_rank_is_its_own_sum_to_the_last_bit) {
    double size = 0;
    fill();
    cr_expect_eq(td_reduced_worst(each, each, COUNT, 1, &size), 0);
    for (int i = 0; i < COUNT; i++) sum[i] = each[i];
    sum[5] = nextafterf(sum[5], 10);
    cr_expect_eq(td_reduced_worst(sum, each, COUNT, 1, &size), INFINITY);
}

Test(reduced, zeros_have_no_size) {
    static const float zeros[RANKS * COUNT];
    double size = 0;
    cr_expect_eq(td_reduced_worst(zeros, zeros, COUNT, RANKS, &size), 0);
    cr_expect_eq(size, 0);
}
