/* The log of launches, fed by hand as TD_LAUNCH feeds it. */
#include "../../gpu/launches.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

static const unsigned grid[3] = {7, 2, 1}, block[3] = {32, 4, 1};

Test(launches, nothing_is_kept_while_it_is_off) {
    td_launch_add("early", grid, block, 0, NULL);
    cr_expect_eq(td_launch_notes(), 0);
    td_launch_log(1);
    td_launch_add("kernel", grid, block, 0, NULL);
    td_launch_log(0);
    td_launch_add("late", grid, block, 0, NULL);
    cr_expect_eq(td_launch_notes(), 1, "what stood in it stays");
    td_launch_log(1);
    cr_expect_eq(td_launch_notes(), 0, "switching it on empties it");
}

Test(launches, one_note_a_kernel_with_the_last_shape) {
    const unsigned other[3] = {1, 1, 1};
    td_launch_log(1);
    td_launch_add("(attend<64, 32>)", grid, block, 100, NULL);
    td_launch_add("scores", grid, block, 0, NULL);
    td_launch_add("(attend<64, 32>)", other, block, 200, NULL);
    cr_assert_eq(td_launch_notes(), 2);
    const td_launch_note *n = td_launch_note_at(0);
    cr_expect_str_eq(n->kernel, "attend<64, 32>");
    cr_expect_eq(n->launches, 2);
    cr_expect_eq(n->grid[0], 1);
    cr_expect_eq(n->dynamic_shared, 200);
    cr_expect_null(td_launch_note_at(2));
    cr_expect_null(td_launch_note_at(-1));
}

Test(launches, what_only_a_gpu_knows_is_unknown_elsewhere) {
    td_launch_log(1);
    td_launch_add("kernel", grid, block, 0, NULL);
    const td_launch_note *n = td_launch_note_at(0);
    cr_expect_eq(n->resources.registers, -1);
    cr_expect_eq(n->resources.local_bytes, -1);
    cr_expect(isnan(td_launch_occupancy(n)));
}

/* 3 blocks of 128 threads: 12 warps of the 64 that a multiprocessor holds. A block of 33 threads takes two warps. */
Test(launches, occupancy_counts_whole_warps) {
    td_kernel_resources r = {.registers = 40, .resident_blocks = 3, .most_warps = 64};
    const unsigned odd[3] = {33, 1, 1};
    td_launch_log(1);
    td_launch_add("a", grid, block, 0, &r);
    td_launch_add("b", grid, odd, 0, &r);
    cr_expect_eq(td_launch_occupancy(td_launch_note_at(0)), 12.0 / 64);
    cr_expect_eq(td_launch_occupancy(td_launch_note_at(1)), 6.0 / 64);
}

Test(launches, a_full_log_counts_on) {
    char name[16];
    td_launch_log(1);
    for (int i = 0; i < TD_LAUNCH_NOTES + 5; i++) {
        snprintf(name, sizeof name, "kernel_%d", i);
        td_launch_add(name, grid, block, 0, NULL);
    }
    cr_assert_eq(td_launch_notes(), TD_LAUNCH_NOTES);
    cr_expect_str_eq(td_launch_note_at(TD_LAUNCH_NOTES - 1)->kernel, "and others");
    cr_expect_eq(td_launch_note_at(TD_LAUNCH_NOTES - 1)->launches, 6);
}
