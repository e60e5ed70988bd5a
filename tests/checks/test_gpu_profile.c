/* Profiles of activities made up so that every sum can be done by hand. */
#include "../../checks/gpu_profile.h"
#include <criterion/criterion.h>
#include <math.h>

static td_activity run(td_activity_kind kind, double start, double end, int64_t bytes) {
    return (td_activity){.kind = kind, .start = start, .end = end, .bytes = bytes};
}

Test(gpu_profile, counts_launches_copies_and_their_bytes) {
    const td_activity a[] = {run(TD_ACTIVITY_UPLOAD, 0, 1, 100), run(TD_ACTIVITY_KERNEL, 1, 2, 0),
                             run(TD_ACTIVITY_FILL, 2, 3, 7),     run(TD_ACTIVITY_COPY, 3, 4, 20),
                             run(TD_ACTIVITY_KERNEL, 4, 5, 0),   run(TD_ACTIVITY_DOWNLOAD, 5, 6, 3)};
    td_gpu_profile p;
    cr_assert_eq(td_gpu_profile_of(a, 6, 6, &p, NULL), TD_OK);
    cr_expect_eq(p.launches, 2);
    cr_expect_eq(p.copies, 3);
    cr_expect_eq(p.fills, 1);
    cr_expect_eq(p.upload_bytes, 100);
    cr_expect_eq(p.copy_bytes, 20);
    cr_expect_eq(p.download_bytes, 3);
    cr_expect_eq(p.busy_seconds, 6);
    cr_expect_eq(p.kernel_seconds, 2);
    cr_expect_eq(p.idle_seconds, 0);
    cr_expect_eq(p.gaps, 0);
}

/* Two kernels side by side, and a copy hidden behind one: time in which any of them ran counts once. */
Test(gpu_profile, what_overlaps_is_busy_once) {
    const td_activity a[] = {run(TD_ACTIVITY_KERNEL, 1, 5, 0), run(TD_ACTIVITY_KERNEL, 2, 3, 0),
                             run(TD_ACTIVITY_UPLOAD, 4, 6, 8), run(TD_ACTIVITY_KERNEL, 8, 9, 0)};
    td_gpu_profile p;
    cr_assert_eq(td_gpu_profile_of(a, 4, 10, &p, NULL), TD_OK);
    cr_expect_eq(p.busy_seconds, 6);
    cr_expect_eq(p.kernel_seconds, 5);
    cr_expect_eq(p.idle_seconds, 4);
    cr_expect_eq(p.gaps, 3, "before the first, between, behind the last");
    cr_expect_eq(p.longest_gap, 2);
}

Test(gpu_profile, the_region_cuts_off_what_lies_outside) {
    const td_activity a[] = {run(TD_ACTIVITY_KERNEL, -2, 1, 0), run(TD_ACTIVITY_KERNEL, 3, 9, 0)};
    td_gpu_profile p;
    cr_assert_eq(td_gpu_profile_of(a, 2, 4, &p, NULL), TD_OK);
    cr_expect_eq(p.busy_seconds, 2);
    cr_expect_eq(p.gaps, 1);
    cr_expect_eq(p.longest_gap, 2);
}

Test(gpu_profile, nothing_at_all_is_one_gap) {
    td_gpu_profile p;
    cr_assert_eq(td_gpu_profile_of(NULL, 0, 5, &p, NULL), TD_OK);
    cr_expect_eq(p.gaps, 1);
    cr_expect_eq(p.idle_seconds, 5);
    cr_expect_eq(p.longest_gap, 5);
}

Test(gpu_profile, refuses_what_cannot_have_been_traced) {
    td_gpu_profile p;
    const td_activity backwards[] = {run(TD_ACTIVITY_KERNEL, 2, 1, 0)};
    const td_activity unsorted[] = {run(TD_ACTIVITY_KERNEL, 2, 3, 0), run(TD_ACTIVITY_KERNEL, 1, 4, 0)};
    const td_activity nan[] = {run(TD_ACTIVITY_KERNEL, NAN, 3, 0)};
    cr_expect_eq(td_gpu_profile_of(backwards, 1, 5, &p, NULL), TD_BAD_PARAM);
    cr_expect_eq(td_gpu_profile_of(unsorted, 2, 5, &p, NULL), TD_BAD_PARAM);
    cr_expect_eq(td_gpu_profile_of(nan, 1, 5, &p, NULL), TD_BAD_PARAM);
    cr_expect_eq(td_gpu_profile_of(NULL, 0, 0, &p, NULL), TD_BAD_PARAM);
    cr_expect_eq(td_gpu_profile_of(NULL, 0, NAN, &p, NULL), TD_BAD_PARAM);
}

Test(gpu_profile, cells_are_of_one_step) {
    const td_activity a[] = {run(TD_ACTIVITY_UPLOAD, 0, 1e-3, 4000000), run(TD_ACTIVITY_KERNEL, 1e-3, 2e-3, 0),
                             run(TD_ACTIVITY_KERNEL, 3e-3, 4e-3, 0)};
    td_gpu_profile p;
    cr_assert_eq(td_gpu_profile_of(a, 3, 4e-3, &p, NULL), TD_OK);
    td_record *r = td_record_new();
    td_record_row(r);
    td_gpu_profile_cells(r, &p, 2);
    cr_expect_eq(td_record_get(r, 0, "launches"), 1);
    cr_expect_eq(td_record_get(r, 0, "copies"), 0.5);
    cr_expect_eq(td_record_get(r, 0, "uploaded_mb"), 2);
    cr_expect(fabs(td_record_get(r, 0, "step_ms") - 2) < 1e-12);
    cr_expect(fabs(td_record_get(r, 0, "busy_ms") - 1.5) < 1e-12);
    cr_expect(fabs(td_record_get(r, 0, "idle_percent") - 25) < 1e-9);
    cr_expect(fabs(td_record_get(r, 0, "longest_gap_ms") - 1) < 1e-12);
    td_record_delete(r);
}
