/* Traces through CUPTI's activity records. CUPTI asks for buffers and hands them back filled, from threads of its own;
 * what is in them is copied out at once, and sorted when the trace stops. */
#include "../activity.h"
#include "../cuda.h"
#include "name.h"
#include "tandem/device.h"
#include <cupti.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Small, because CUPTI clears a buffer when it takes it, and the GPU would stand idle meanwhile. */
enum { BUFFER_BYTES = 256 << 10 };

static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                           CUPTI_ACTIVITY_KIND_MEMSET};

static struct {
    pthread_mutex_t lock;
    int is_on;
    uint64_t start; /* nanoseconds of CUPTI's clock */
    td_activity *activity;
    int64_t count, room, dropped;
} trace = {PTHREAD_MUTEX_INITIALIZER, 0, 0, NULL, 0, 0, 0};

static td_status cupti_status(CUptiResult result, const char *what, td_error *err) {
    const char *why = "unknown error";
    if (result == CUPTI_SUCCESS) return TD_OK;
    cuptiGetResultString(result, &why);
    return td_fail(err, TD_UNSUPPORTED, "no trace of the GPU: %s: %s", what, why);
}

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *most_records) {
    *buffer = (uint8_t *)aligned_alloc(64, BUFFER_BYTES); /* NULL: CUPTI drops records and counts them */
    *size = *buffer ? BUFFER_BYTES : 0;
    *most_records = 0; /* as many as fit */
}

static td_activity_kind copy_kind(uint8_t kind) {
    return kind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD   ? TD_ACTIVITY_UPLOAD
           : kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH ? TD_ACTIVITY_DOWNLOAD
                                                     : TD_ACTIVITY_COPY;
}

static double since_start(uint64_t ns) {
    return 1e-9 * (double)(int64_t)(ns - trace.start);
}

static void add(const CUpti_Activity *record) {
    td_activity a;
    memset(&a, 0, sizeof a);
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
        const CUpti_ActivityKernel10 *k = (const CUpti_ActivityKernel10 *)record;
        a.kind = TD_ACTIVITY_KERNEL, a.start = since_start(k->start), a.end = since_start(k->end);
        td_kernel_name(a.name, sizeof a.name, k->name ? k->name : "?");
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
        const CUpti_ActivityMemcpy6 *c = (const CUpti_ActivityMemcpy6 *)record;
        a.kind = copy_kind(c->copyKind), a.start = since_start(c->start), a.end = since_start(c->end);
        a.bytes = (int64_t)c->bytes;
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
        const CUpti_ActivityMemset4 *m = (const CUpti_ActivityMemset4 *)record;
        a.kind = TD_ACTIVITY_FILL, a.start = since_start(m->start), a.end = since_start(m->end);
        a.bytes = (int64_t)m->bytes;
    } else {
        return;
    }
    if (trace.count == trace.room) {
        int64_t room = trace.room ? 2 * trace.room : 1024;
        td_activity *more = (td_activity *)realloc(trace.activity, (size_t)room * sizeof *more);
        if (!more) {
            trace.dropped++;
            return;
        }
        trace.activity = more, trace.room = room;
    }
    trace.activity[trace.count++] = a;
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
    CUpti_Activity *record = NULL;
    size_t dropped = 0;
    (void)size;
    pthread_mutex_lock(&trace.lock);
    while (trace.is_on && cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) add(record);
    if (cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS)
        trace.dropped += (int64_t)dropped;
    pthread_mutex_unlock(&trace.lock);
    free(buffer);
}

static void forget(void) {
    pthread_mutex_lock(&trace.lock);
    free(trace.activity);
    trace.activity = NULL;
    trace.count = trace.room = trace.dropped = 0;
    trace.is_on = 0;
    pthread_mutex_unlock(&trace.lock);
}

static void disable(void) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) cuptiActivityDisable(kinds[i]);
}

extern "C" td_status td_trace_start(td_error *err) {
    const td_device *device = td_cuda_device(err);
    if (!device) return TD_NO_DEVICE;
    if (trace.is_on) return td_fail(err, TD_BAD_PARAM, "trace: one is running already");
    td_status status = cupti_status(cuptiActivityRegisterCallbacks(give_buffer, take_buffer), "callbacks", err);
    for (size_t i = 0; !status && i < sizeof kinds / sizeof *kinds; i++)
        status = cupti_status(cuptiActivityEnable(kinds[i]), "activity records", err);
    if (!status) status = device->synchronize(err);
    /* What was recorded before now does not belong to the trace. */
    if (!status) status = cupti_status(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "flush", err);
    if (!status) status = cupti_status(cuptiGetTimestamp(&trace.start), "clock", err);
    if (status) {
        disable();
        return status;
    }
    pthread_mutex_lock(&trace.lock);
    trace.is_on = 1;
    pthread_mutex_unlock(&trace.lock);
    return TD_OK;
}

static int by_start(const void *a, const void *b) {
    double x = ((const td_activity *)a)->start, y = ((const td_activity *)b)->start;
    return (x > y) - (x < y);
}

extern "C" td_status td_trace_stop(td_trace *out, td_error *err) {
    uint64_t end = 0;
    memset(out, 0, sizeof *out);
    const td_device *device = td_cuda_device(err);
    if (!device || !trace.is_on) return td_fail(err, TD_BAD_PARAM, "trace: none is running");
    td_status status = device->synchronize(err);
    if (!status) status = cupti_status(cuptiGetTimestamp(&end), "clock", err);
    if (!status) status = cupti_status(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "flush", err);
    disable();
    if (!status) {
        pthread_mutex_lock(&trace.lock);
        qsort(trace.activity, (size_t)trace.count, sizeof *trace.activity, by_start);
        *out = (td_trace){since_start(end), trace.activity, trace.count, trace.dropped};
        trace.activity = NULL;
        pthread_mutex_unlock(&trace.lock);
    }
    forget();
    return status;
}

extern "C" void td_trace_free(td_trace *trace) {
    free(trace->activity);
    memset(trace, 0, sizeof *trace);
}
