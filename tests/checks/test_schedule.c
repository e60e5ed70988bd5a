/* The schedule of a step's collectives, against times worked out by hand. */
#include "../../checks/schedule.h"
#include <criterion/criterion.h>

/* ready 1, 2, 6; each takes 3: 1–4, 4–7 (waits for the link), 7–10. Compute ends at 6: 3 + 2 hidden, 1 + 3 exposed. */
Test(schedule, a_transfer_waits_for_its_data_and_for_the_link) {
    td_transfer t[] = {{.ready = 1, .seconds = 3}, {.ready = 2, .seconds = 3}, {.ready = 6, .seconds = 3}};
    cr_expect_eq(td_schedule(t, 3, 6), 10);
    const double start[] = {1, 4, 7};
    for (int k = 0; k < 3; k++) cr_expect(t[k].start == start[k] && t[k].end == start[k] + 3, "%d", k);
    td_overlap o = td_overlap_of(t, 3, 6);
    cr_expect(o.busy == 9 && o.hidden == 5 && o.exposed == 4, "%g %g %g", o.busy, o.hidden, o.exposed);
}

Test(schedule, nothing_is_exposed_where_compute_ends_last) {
    td_transfer t[] = {{.ready = 1, .seconds = 2}, {.ready = 8, .seconds = 1}};
    cr_expect_eq(td_schedule(t, 2, 10), 10);
    cr_expect_eq(td_overlap_of(t, 2, 10).exposed, 0);
}

Test(schedule, all_is_exposed_where_nothing_is_ready_before_the_end) {
    td_transfer t[] = {{.ready = 5, .seconds = 2}, {.ready = 5, .seconds = 2}};
    cr_expect_eq(td_schedule(t, 2, 5), 9);
    td_overlap o = td_overlap_of(t, 2, 5);
    cr_expect(o.hidden == 0 && o.exposed == 4);
}

Test(schedule, without_transfers_a_step_is_its_compute) {
    cr_expect_eq(td_schedule(NULL, 0, 5), 5);
    cr_expect_eq(td_overlap_of(NULL, 0, 5).busy, 0);
}
