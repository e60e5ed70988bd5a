/* The questions asked of a trace: how many launches and copies, how long the GPU worked, and how long it stood idle. */
#ifndef TANDEM_CHECKS_GPU_PROFILE_H
#define TANDEM_CHECKS_GPU_PROFILE_H

#include "../gpu/activity.h"
#include "record.h"

typedef struct td_gpu_profile {
    int64_t launches;                                 /* kernels */
    int64_t copies, fills;                            /* copies in all three directions */
    int64_t upload_bytes, download_bytes, copy_bytes; /* copy_bytes: within the device */
    double seconds;                                   /* of the region */
    double busy_seconds;                              /* at least one kernel, copy or fill was running */
    double kernel_seconds;                            /* at least one kernel was */
    double idle_seconds;                              /* seconds − busy_seconds */
    int64_t gaps;       /* stretches of idle time, also before the first and behind the last activity */
    double longest_gap; /* seconds */
} td_gpu_profile;

/* `activity` in the order of the starts; what lies outside 0 … seconds is cut off there. TD_BAD_PARAM where they are
 * out of order, end before they start, or seconds is not above 0. */
td_status td_gpu_profile_of(const td_activity *activity, int64_t count, double seconds, td_gpu_profile *out,
                            td_error *err);

/* Cells of the current row, everything for one of `steps` equal steps: launches, copies, uploaded_mb, step_ms, busy_ms,
 * idle_ms, idle_percent, gaps, longest_gap_ms (of all steps). */
void td_gpu_profile_cells(td_record *record, const td_gpu_profile *profile, int steps);

#endif
