/* What the GPU did, as the device's own clock saw it: every kernel, copy and fill between a start and a stop. */
#ifndef TANDEM_GPU_ACTIVITY_H
#define TANDEM_GPU_ACTIVITY_H

#include "tandem/status.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum td_activity_kind {
    TD_ACTIVITY_KERNEL = 0,
    TD_ACTIVITY_UPLOAD,   /* a copy from the host to the device */
    TD_ACTIVITY_DOWNLOAD, /* and back */
    TD_ACTIVITY_COPY,     /* within the device */
    TD_ACTIVITY_FILL,
    TD_ACTIVITIES
} td_activity_kind;

static inline const char *td_activity_name(td_activity_kind kind) {
    static const char *const names[] = {"kernel", "upload", "download", "copy", "fill"};
    return (unsigned)kind < (unsigned)TD_ACTIVITIES ? names[kind] : "?";
}

typedef struct td_activity {
    td_activity_kind kind;
    double start, end; /* seconds since the trace was started */
    int64_t bytes;     /* of a copy or a fill; 0 of a kernel */
    char name[64];     /* of a kernel, cut off */
} td_activity;

typedef struct td_trace {
    double seconds;        /* from start to stop, both after a sync */
    td_activity *activity; /* in the order of their starts */
    int64_t count;
    int64_t dropped; /* that did not fit in memory: the counts are then too small */
} td_trace;

/* Through CUPTI, after a device-wide sync. One trace at a time in a process. TD_NO_DEVICE without a GPU;
 * TD_UNSUPPORTED with the reason where CUPTI cannot start (another profiler holds it, or it may not be used here). */
td_status td_trace_start(td_error *err);
/* After a device-wide sync. What it returns is freed by td_trace_free; on an error there is nothing to free. */
td_status td_trace_stop(td_trace *out, td_error *err);
void td_trace_free(td_trace *trace);

#ifdef __cplusplus
}
#endif
#endif
