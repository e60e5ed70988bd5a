#include "../marks.h"
#include "clock.h"
#include "tandem/device.h"
#include <stdlib.h>

struct td_gpu_marks {
    cudaStream_t stream;
    td_cuda_clock clock;
    int n;
    bool *set;
    cudaEvent_t *event;
};

extern "C" void td_gpu_marks_delete(td_gpu_marks *m) {
    if (!m) return;
    for (int i = 0; m->event && i < m->n; i++)
        if (m->event[i]) cudaEventDestroy(m->event[i]);
    if (m->clock.base) cudaEventDestroy(m->clock.base);
    free(m->event), free(m->set), free(m);
}

extern "C" td_status td_gpu_marks_new(td_gpu_marks **out, int n, td_error *err) {
    const td_device *device = td_cuda_device(err);
    *out = NULL;
    if (!device) return TD_NO_DEVICE;
    td_gpu_marks *m = (td_gpu_marks *)calloc(1, sizeof *m);
    if (!m) return td_fail(err, TD_NO_MEMORY, "no memory for %d marks", n);
    m->stream = (cudaStream_t)device->stream, m->n = n;
    m->set = (bool *)calloc((size_t)n, sizeof *m->set);
    m->event = (cudaEvent_t *)calloc((size_t)n, sizeof *m->event);
    cudaError_t error = m->set && m->event ? cudaSuccess : cudaErrorMemoryAllocation;
    for (int i = 0; i < n && error == cudaSuccess; i++) error = cudaEventCreate(&m->event[i]);
    if (error == cudaSuccess) error = td_cuda_clock_set(&m->clock, m->stream);
    if (error != cudaSuccess) return td_gpu_marks_delete(m), td_cuda_status(error, "marks", err);
    *out = m;
    return TD_OK;
}

extern "C" td_status td_gpu_marks_set(td_gpu_marks *m, int i, td_error *err) {
    m->set[i] = true;
    return td_cuda_status(cudaEventRecord(m->event[i], m->stream), "mark", err);
}

extern "C" td_status td_gpu_marks_read(td_gpu_marks *m, double *seconds, td_error *err) {
    td_status status = td_cuda_status(cudaStreamSynchronize(m->stream), "marks", err);
    for (int i = 0; i < m->n && !status; i++) seconds[i] = m->set[i] ? td_cuda_clock_read(&m->clock, m->event[i]) : 0;
    return status;
}
