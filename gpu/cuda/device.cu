/* The GPU as a td_device: device 0 of those that CUDA_VISIBLE_DEVICES leaves, one stream, and events as its clock. */
#include "../cuda.h"
#include "tandem/device.h"
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static td_device gpu;
static td_error reason; /* why there is none */
static cudaStream_t stream;
static cudaEvent_t began, ended;
static const char *last_kernel;

extern "C" void td_cuda_launched(const char *kernel) {
    last_kernel = kernel;
}

/* A kernel's fault comes to light in whichever call is next, so the kernel launched last is named. */
static td_status explain(cudaError_t error, const char *what, td_error *err) {
    if (error == cudaSuccess) return TD_OK;
    char text[160];
    snprintf(text, sizeof text, "%s, %s %.80s", what, last_kernel ? "launched last:" : "no kernel launched",
             last_kernel ? last_kernel : "");
    return td_cuda_status(error, text, err);
}

static void *device_alloc(void *context, size_t bytes, td_tag tag) {
    void *pointer = NULL;
    (void)context, (void)tag;
    if (cudaMalloc(&pointer, bytes ? bytes : 1) == cudaSuccess) return pointer;
    cudaGetLastError(); /* too little memory is an answer, not a fault that later calls should meet again */
    return NULL;
}

static void device_free(void *context, void *pointer) {
    (void)context;
    cudaFree(pointer);
}

static td_status copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, const char *what, td_error *err) {
    if (bytes == 0) return TD_OK;
    cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, stream);
    return explain(error == cudaSuccess ? cudaStreamSynchronize(stream) : error, what, err);
}

static td_status upload(void *device, const void *host, size_t bytes, td_error *err) {
    return copy(device, host, bytes, cudaMemcpyHostToDevice, "upload", err);
}

static td_status download(void *host, const void *device, size_t bytes, td_error *err) {
    return copy(host, device, bytes, cudaMemcpyDeviceToHost, "download", err);
}

static td_status poison(void *device, size_t bytes, td_error *err) {
    return bytes ? explain(cudaMemsetAsync(device, 0xFF, bytes, stream), "poison", err) : TD_OK;
}

static td_status expose(void *device, size_t bytes, td_error *err) {
    (void)device, (void)bytes, (void)err; /* the guard bands tell afterwards */
    return TD_OK;
}

static td_status synchronize(td_error *err) {
    return explain(cudaDeviceSynchronize(), "synchronize", err);
}

/* No waiting here: while the device still works on what the stream holds, launches get in line behind this event, and
 * the time of launching is not in the interval. */
static td_status start(td_error *err) {
    return explain(cudaEventRecord(began, stream), "start of the clock", err);
}

static td_status stop(double *seconds, td_error *err) {
    float milliseconds = 0;
    cudaError_t error = cudaDeviceSynchronize();
    if (error == cudaSuccess) error = cudaEventRecord(ended, stream);
    if (error == cudaSuccess) error = cudaEventSynchronize(ended);
    if (error == cudaSuccess) error = cudaEventElapsedTime(&milliseconds, began, ended);
    *seconds = 1e-3 * milliseconds;
    return explain(error, "stop of the clock", err);
}

/* "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build": the first word of digits and
 * dots. Where the file is not shown to us, the newest CUDA that the driver knows. */
static void read_driver(char *out, size_t size) {
    char line[256] = "";
    int version = 0;
    cudaDriverGetVersion(&version);
    snprintf(out, size, "CUDA %d.%d", version / 1000, version % 1000 / 10);
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    if (!file) return;
    if (fgets(line, sizeof line, file))
        for (char *rest = line, *word; (word = strtok_r(rest, " \t\n", &rest)) != NULL;)
            if (isdigit((unsigned char)*word) && strchr(word, '.') && !word[strspn(word, "0123456789.")]) {
                snprintf(out, size, "%.30s", word);
                break;
            }
    fclose(file);
}

static td_status open_gpu(td_error *err) {
    cudaDeviceProp properties;
    td_status s;
    if ((s = td_cuda_status(cudaGetDeviceProperties(&properties, 0), "GPU", err))) return s;
    if (properties.major != 9)
        return td_fail(err, TD_NO_DEVICE, "%.60s: compute capability %d.%d, but this build's kernels are for 9.0",
                       properties.name, properties.major, properties.minor);
    /* A stream that waits for the default stream's work, as a caller with tensors of its own expects. */
    if ((s = td_cuda_status(cudaStreamCreate(&stream), "stream", err)) ||
        (s = td_cuda_status(cudaEventCreate(&began), "event", err)) ||
        (s = td_cuda_status(cudaEventCreate(&ended), "event", err)))
        return s;
    gpu.backend = TD_CUDA;
    snprintf(gpu.name, sizeof gpu.name, "%.60s", properties.name);
    read_driver(gpu.driver, sizeof gpu.driver);
    gpu.memory_bytes = properties.totalGlobalMem;
    gpu.cache_bytes = (size_t)properties.l2CacheSize;
    gpu.multiprocessors = properties.multiProcessorCount;
    gpu.shared_bytes = properties.sharedMemPerBlockOptin;
    gpu.stream = stream;
    gpu.allocator = {NULL, device_alloc, device_free};
    gpu.upload = upload, gpu.download = download;
    gpu.poison = poison, gpu.expose = expose;
    gpu.synchronize = synchronize;
    gpu.start = start, gpu.stop = stop;
    return TD_OK;
}

static void open_once(void) {
    int count = 0, version = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && count > 0) {
        open_gpu(&reason);
        return;
    }
    cudaDriverGetVersion(&version);
    td_fail(&reason, TD_NO_DEVICE, "no GPU: %s",
            version == 0 ? "no NVIDIA driver is installed"
            : error      ? cudaGetErrorString(error)
                         : "the driver shows none");
}

const td_device *td_cuda_device(td_error *why) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_once);
    if (reason.status == TD_OK) return &gpu;
    td_fail(why, TD_NO_DEVICE, "%s", reason.message);
    return NULL;
}
