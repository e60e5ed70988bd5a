/* A batch on its way to the device: two places of pinned memory, filled in turn, so that the host may prepare one while
 * the other is copied, and does not wait for what the stream holds. Under the emulator all is done at once. */
#ifndef TANDEM_GPU_GPT_STAGING_H
#define TANDEM_GPU_GPT_STAGING_H

#include "../gpu.h"
#include <stdlib.h>

typedef struct td_staging {
    void *place[2];
    int turn;
#ifndef TD_EMULATE
    cudaEvent_t copied[2];
#endif
} td_staging;

#ifdef TD_EMULATE
static inline td_status td_staging_new(td_staging *s, size_t bytes, td_error *err) {
    *s = {};
    s->place[0] = malloc(bytes);
    return s->place[0] ? TD_OK : td_fail(err, TD_NO_MEMORY, "staging: no memory for %zu bytes", bytes);
}
static inline void td_staging_delete(td_staging *s) {
    free(s->place[0]);
}
/* The place to fill next. */
static inline td_status td_staging_next(td_staging *s, void **place, td_error *) {
    *place = s->place[0];
    return TD_OK;
}
/* Copy `bytes` of that place to the device. */
static inline td_status td_staging_send(td_staging *s, void *to, size_t bytes, void *, td_error *err) {
    return td_emulated_device(err)->upload(to, s->place[0], bytes, err);
}
#else
static inline td_status td_staging_new(td_staging *s, size_t bytes, td_error *err) {
    cudaError_t error = cudaSuccess;
    *s = {};
    for (int i = 0; i < 2 && error == cudaSuccess; i++) {
        error = cudaMallocHost(&s->place[i], bytes);
        if (error == cudaSuccess) error = cudaEventCreateWithFlags(&s->copied[i], cudaEventDisableTiming);
    }
    return td_cuda_status(error, "pinned memory of a batch", err);
}
static inline void td_staging_delete(td_staging *s) {
    for (int i = 0; i < 2; i++) {
        if (s->place[i]) cudaFreeHost(s->place[i]);
        if (s->copied[i]) cudaEventDestroy(s->copied[i]);
    }
}
/* The place to fill next, once the copy before last has left it. */
static inline td_status td_staging_next(td_staging *s, void **place, td_error *err) {
    s->turn = !s->turn;
    *place = s->place[s->turn];
    return td_cuda_status(cudaEventSynchronize(s->copied[s->turn]), "the batch before last", err);
}
/* Copy `bytes` of that place to the device, in the stream's order. */
static inline td_status td_staging_send(td_staging *s, void *to, size_t bytes, void *stream, td_error *err) {
    cudaError_t error = cudaMemcpyAsync(to, s->place[s->turn], bytes, cudaMemcpyHostToDevice, (cudaStream_t)stream);
    if (error == cudaSuccess) error = cudaEventRecord(s->copied[s->turn], (cudaStream_t)stream);
    return td_cuda_status(error, "upload of a batch", err);
}
#endif

#endif
