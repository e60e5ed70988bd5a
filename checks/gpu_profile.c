/* Busy time is a union of intervals: what overlaps, as copies do that hide behind kernels, counts once. */
#include "gpu_profile.h"
#include <math.h>
#include <string.h>

/* A union grown from intervals that arrive in the order of their starts. */
typedef struct cover {
    double until; /* everything before this has been looked at */
    double covered, longest_gap;
    int64_t gaps;
} cover;

static void open_gap(cover *c, double until) {
    double gap = until - c->until;
    if (!(gap > 0)) return;
    c->gaps++;
    c->longest_gap = fmax(c->longest_gap, gap);
}

static void add(cover *c, double start, double end) {
    open_gap(c, start);
    if (end > c->until) c->covered += end - fmax(start, c->until), c->until = end;
}

static void count_one(td_gpu_profile *p, const td_activity *a) {
    p->launches += a->kind == TD_ACTIVITY_KERNEL;
    p->fills += a->kind == TD_ACTIVITY_FILL;
    p->copies += a->kind == TD_ACTIVITY_UPLOAD || a->kind == TD_ACTIVITY_DOWNLOAD || a->kind == TD_ACTIVITY_COPY;
    if (a->kind == TD_ACTIVITY_UPLOAD) p->upload_bytes += a->bytes;
    if (a->kind == TD_ACTIVITY_DOWNLOAD) p->download_bytes += a->bytes;
    if (a->kind == TD_ACTIVITY_COPY) p->copy_bytes += a->bytes;
}

td_status td_gpu_profile_of(const td_activity *activity, int64_t count, double seconds, td_gpu_profile *out,
                            td_error *err) {
    cover all = {0, 0, 0, 0}, kernels = {0, 0, 0, 0};
    memset(out, 0, sizeof *out);
    if (!(seconds > 0)) return td_fail(err, TD_BAD_PARAM, "profile: a region of %g s: must be above 0", seconds);
    for (int64_t i = 0; i < count; i++) {
        const td_activity *a = &activity[i];
        if (!(a->start <= a->end) || (i && !(activity[i - 1].start <= a->start)))
            return td_fail(err, TD_BAD_PARAM, "profile: activity %lld runs from %g s to %g s: out of order",
                           (long long)i, a->start, a->end);
        count_one(out, a);
        double start = fmin(fmax(a->start, 0), seconds), end = fmin(fmax(a->end, 0), seconds);
        add(&all, start, end);
        if (a->kind == TD_ACTIVITY_KERNEL) add(&kernels, start, end);
    }
    open_gap(&all, seconds);
    out->seconds = seconds;
    out->busy_seconds = all.covered;
    out->kernel_seconds = kernels.covered;
    out->idle_seconds = seconds - all.covered;
    out->gaps = all.gaps;
    out->longest_gap = all.longest_gap;
    return TD_OK;
}

void td_gpu_profile_cells(td_record *record, const td_gpu_profile *profile, int steps) {
    td_record_real(record, "launches", (double)profile->launches / steps);
    td_record_real(record, "copies", (double)profile->copies / steps);
    td_record_real(record, "uploaded_mb", 1e-6 * (double)profile->upload_bytes / steps);
    td_record_real(record, "step_ms", 1e3 * profile->seconds / steps);
    td_record_real(record, "busy_ms", 1e3 * profile->busy_seconds / steps);
    td_record_real(record, "idle_ms", 1e3 * profile->idle_seconds / steps);
    td_record_real(record, "idle_percent", 100 * profile->idle_seconds / profile->seconds);
    td_record_real(record, "gaps", (double)profile->gaps / steps);
    td_record_real(record, "longest_gap_ms", 1e3 * profile->longest_gap);
}
