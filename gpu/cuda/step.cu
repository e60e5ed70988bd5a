/* The step of gpu/step.h: products by cuBLAS, what lies between them by four small kernels, all on one stream. */
#include "../blas.h"
#include "../step.h"
#include "tandem/philox.h"
#include <math.h>
#include <stdlib.h>

enum { BLOCK = 256, MOST_LAYERS = 64 };
static const float rate = 0.1f;

struct td_gpu_step {
    const td_device *device;
    cublasHandle_t blas;
    int64_t layers, rows, width;
    float *pinned[2];           /* X then Y of a batch, on the host */
    float *x[MOST_LAYERS + 1];  /* X_l, on the device */
    float *w[MOST_LAYERS], *dw; /* dw: of one layer at a time */
    float *dx[2];               /* of the layer above and of this one */
    float *y, *loss;
    float *memory; /* holds them all */
};

static __global__ void draw_normal(float *out, int64_t count, uint64_t tensor, float factor) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < count) out[i] = factor * (float)td_normal(1, tensor, (uint64_t)i);
}

static __global__ void relu(float *x, int64_t count) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < count) x[i] = fmaxf(x[i], 0);
}

static __global__ void relu_backward(float *dx, const float *x, int64_t count) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < count && !(x[i] > 0)) dx[i] = 0;
}

/* Σ (x − y)² into *loss, and its mean's gradient, 2 (x − y) / count, into dx. */
static __global__ void squared_error(const float *x, const float *y, float *dx, float *loss, int64_t count) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    float difference = i < count ? x[i] - y[i] : 0, sum = difference * difference;
    if (i < count) dx[i] = 2 * difference / (float)count;
    for (int offset = 16; offset; offset /= 2) sum += __shfl_xor_sync(0xFFFFFFFFu, sum, offset);
    if (threadIdx.x % 32 == 0) atomicAdd(loss, sum);
}

static __global__ void descend(float *w, const float *dw, float step, int64_t count) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < count) w[i] -= step * dw[i];
}

static dim3 blocks(int64_t count) {
    return dim3((unsigned)((count + BLOCK - 1) / BLOCK));
}

/* C (m,n) = A (m,k) B (k,n), either factor transposed first, all row-major: to cuBLAS, which counts columns first, it
 * is Cᵀ = Bᵀ Aᵀ. */
static td_status product(td_gpu_step *s, int ta, int tb, int64_t m, int64_t n, int64_t k, const float *a,
                         const float *b, float *c, td_error *err) {
    const float one = 1, zero = 0;
    return td_blas_status(cublasSgemm(s->blas, tb ? CUBLAS_OP_T : CUBLAS_OP_N, ta ? CUBLAS_OP_T : CUBLAS_OP_N, (int)n,
                                      (int)m, (int)k, &one, b, (int)(tb ? k : n), a, (int)(ta ? m : k), &zero, c,
                                      (int)n),
                          "matrix product", err);
}

static td_status forward(td_gpu_step *s, td_error *err) {
    const int64_t R = s->rows, C = s->width, L = s->layers;
    td_status status = TD_OK;
    for (int64_t l = 0; !status && l < L; l++) {
        status = product(s, 0, 0, R, C, C, s->x[l], s->w[l], s->x[l + 1], err);
        if (!status && l + 1 < L)
            status = TD_LAUNCH(err, relu, blocks(R * C), dim3(BLOCK), 0, s->device->stream, s->x[l + 1], R * C);
    }
    return status;
}

static td_status backward(td_gpu_step *s, td_error *err) {
    const int64_t R = s->rows, C = s->width;
    td_status status = TD_OK;
    float *above = s->dx[0], *here = s->dx[1];
    for (int64_t l = s->layers - 1; !status && l >= 0; l--) {
        status = product(s, 1, 0, C, C, R, s->x[l], above, s->dw, err);
        if (!status && l > 0) status = product(s, 0, 1, R, C, C, above, s->w[l], here, err);
        if (!status && l > 0)
            status = TD_LAUNCH(err, relu_backward, blocks(R * C), dim3(BLOCK), 0, s->device->stream, here,
                               (const float *)s->x[l], R * C);
        if (!status)
            status = TD_LAUNCH(err, descend, blocks(C * C), dim3(BLOCK), 0, s->device->stream, s->w[l],
                               (const float *)s->dw, rate, C * C);
        float *swap = above;
        above = here, here = swap;
    }
    return status;
}

static td_status upload(td_gpu_step *s, float *to, const float *from, td_error *err) {
    return td_cuda_status(cudaMemcpyAsync(to, from, (size_t)(s->rows * s->width) * sizeof *to, cudaMemcpyHostToDevice,
                                          (cudaStream_t)s->device->stream),
                          "upload of a batch", err);
}

extern "C" td_status td_gpu_step_submit(td_gpu_step *s, int batch, td_error *err) {
    const int64_t count = s->rows * s->width;
    td_status status;
    if ((status = upload(s, s->x[0], s->pinned[batch], err))) return status;
    if ((status = upload(s, s->y, s->pinned[batch] + count, err))) return status;
    if ((status = td_zero(s->loss, sizeof *s->loss, s->device->stream, err))) return status;
    if ((status = forward(s, err))) return status;
    status = TD_LAUNCH(err, squared_error, blocks(count), dim3(BLOCK), 0, s->device->stream,
                       (const float *)s->x[s->layers], (const float *)s->y, s->dx[0], s->loss, count);
    return status ? status : backward(s, err);
}

extern "C" td_status td_gpu_step_loss(td_gpu_step *s, double *loss, td_error *err) {
    float sum;
    td_status status = s->device->download(&sum, s->loss, sizeof sum, err);
    if (!status) *loss = (double)sum / (double)(s->rows * s->width);
    return status;
}

/* One allocation, divided: each part begins at a multiple of 256 bytes if rows and width are multiples of 8. */
static td_status allocate(td_gpu_step *s, td_error *err) {
    const int64_t batch = s->rows * s->width, weights = s->width * s->width;
    size_t floats = (size_t)((s->layers + 4) * batch + (s->layers + 1) * weights + 64);
    s->memory =
        (float *)s->device->allocator.alloc(s->device->allocator.context, floats * sizeof(float), TD_MEM_ACTIVATIONS);
    if (!s->memory) return td_fail(err, TD_NO_MEMORY, "step: no memory for %zu bytes on the GPU", 4 * floats);
    float *next = s->memory;
    for (int64_t l = 0; l <= s->layers; l++, next += batch) s->x[l] = next;
    s->y = next, s->dx[0] = next + batch, s->dx[1] = next + 2 * batch, next += 3 * batch;
    for (int64_t l = 0; l < s->layers; l++, next += weights) s->w[l] = next;
    s->dw = next, s->loss = next + weights;
    for (int i = 0; i < 2; i++) {
        td_status status = td_cuda_status(cudaMallocHost((void **)&s->pinned[i], 2 * (size_t)batch * sizeof(float)),
                                          "pinned memory", err);
        if (status) return status;
    }
    return TD_OK;
}

/* X by the device, which is faster at it; Y = X / 2 here. */
static td_status draw(td_gpu_step *s, td_error *err) {
    const int64_t batch = s->rows * s->width, weights = s->width * s->width;
    td_status status = TD_OK;
    for (int64_t l = 0; !status && l < s->layers; l++)
        status = TD_LAUNCH(err, draw_normal, blocks(weights), dim3(BLOCK), 0, s->device->stream, s->w[l], weights,
                           (uint64_t)(2 + l), sqrtf(2 / (float)s->width));
    for (int i = 0; !status && i < 2; i++) {
        status = TD_LAUNCH(err, draw_normal, blocks(batch), dim3(BLOCK), 0, s->device->stream, s->x[0], batch,
                           (uint64_t)i, 1.0f);
        if (!status) status = s->device->download(s->pinned[i], s->x[0], (size_t)batch * sizeof(float), err);
        for (int64_t k = 0; !status && k < batch; k++) s->pinned[i][batch + k] = s->pinned[i][k] / 2;
    }
    return status;
}

extern "C" td_status td_gpu_step_new(int64_t layers, int64_t rows, int64_t width, td_gpu_step **out, td_error *err) {
    *out = NULL;
    if (layers < 1 || layers > MOST_LAYERS || rows < 1 || width < 1 || rows > 1 << 20 || width > 1 << 15)
        return td_fail(err, TD_BAD_PARAM, "step: %lld layers of %lld x %lld: must be 1 to %d, 2^20 and 2^15 at most",
                       (long long)layers, (long long)rows, (long long)width, MOST_LAYERS);
    const td_device *device = td_cuda_device(err);
    if (!device) return TD_NO_DEVICE;
    td_gpu_step *s = (td_gpu_step *)calloc(1, sizeof *s);
    if (!s) return td_fail(err, TD_NO_MEMORY, "step: no memory");
    s->device = device, s->layers = layers, s->rows = rows, s->width = width;
    td_status status = td_blas_open(device, &s->blas, err);
    if (!status) status = allocate(s, err);
    if (!status) status = draw(s, err);
    if (status)
        td_gpu_step_delete(s);
    else
        *out = s;
    return status;
}

extern "C" void td_gpu_step_delete(td_gpu_step *s) {
    if (!s) return;
    s->device->synchronize(NULL);
    if (s->memory) s->device->allocator.free(s->device->allocator.context, s->memory);
    for (int i = 0; i < 2; i++)
        if (s->pinned[i]) cudaFreeHost(s->pinned[i]);
    if (s->blas) cublasDestroy(s->blas);
    free(s);
}
