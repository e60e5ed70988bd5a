/* Three kernels, a thread each for: a row's D; a row of dQ; a row of dK and dV. Slow, but nobody adds to another
 * thread's sum, and every run gives the same bits. */
#include "gpu.h"
#include "tandem/exercise/flash_backward.h"
#include <math.h>

enum { THREADS = 64, D_MAX = 128 };

struct Tensors {
    td_tensor q, k, v, o, lse, g, dq, dk, dv; /* g is dO */
};

static __device__ float at(const td_tensor &t, int64_t b, int64_t h, int64_t i, int64_t c) {
    return ((const float *)t.data)[td_offset(&t, b, h, i, c)];
}

static __device__ float dot(const td_tensor &x, int64_t hx, int64_t i, const td_tensor &y, int64_t hy, int64_t j,
                            int64_t b, int64_t d) {
    float sum = 0;
    for (int64_t c = 0; c < d; c++) sum += at(x, b, hx, i, c) * at(y, b, hy, j, c);
    return sum;
}

__global__ void row_sums(td_attention_problem a, Tensors t, float *D) {
    int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= a.B * a.Hq * a.Tq) return;
    int64_t i = row % a.Tq, h = row / a.Tq % a.Hq, b = row / a.Tq / a.Hq;
    D[row] = dot(t.g, h, i, t.o, h, i, b, a.d);
}

__global__ void queries(td_attention_problem a, Tensors t, const float *D) {
    int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= a.B * a.Hq * a.Tq) return;
    int64_t i = row % a.Tq, h = row / a.Tq % a.Hq, b = row / a.Tq / a.Hq, hk = h / (a.Hq / a.Hkv);
    int64_t keys = td_allowed_keys(a.mask, i, a.Tq, a.Tk);
    float sum[D_MAX], scale = (float)a.scale;
    for (int64_t c = 0; c < a.d; c++) sum[c] = 0;
    for (int64_t j = 0; j < keys; j++) {
        float p = expf(scale * dot(t.q, h, i, t.k, hk, j, b, a.d) - at(t.lse, b, h, i, 0));
        float ds = p * (dot(t.g, h, i, t.v, hk, j, b, a.d) - D[row]);
        for (int64_t c = 0; c < a.d; c++) sum[c] += ds * at(t.k, b, hk, j, c);
    }
    for (int64_t c = 0; c < a.d; c++) td_set(&t.dq, b, h, i, c, scale * sum[c]);
}

__global__ void keys_and_values(td_attention_problem a, Tensors t, const float *D) {
    int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= a.B * a.Hkv * a.Tk) return;
    int64_t j = row % a.Tk, hk = row / a.Tk % a.Hkv, b = row / a.Tk / a.Hkv, group = a.Hq / a.Hkv;
    float dk[D_MAX], dv[D_MAX], scale = (float)a.scale;
    for (int64_t c = 0; c < a.d; c++) dk[c] = dv[c] = 0;
    for (int64_t h = hk * group; h < (hk + 1) * group; h++)
        for (int64_t i = 0; i < a.Tq; i++) {
            if (j >= td_allowed_keys(a.mask, i, a.Tq, a.Tk)) continue;
            float p = expf(scale * dot(t.q, h, i, t.k, hk, j, b, a.d) - at(t.lse, b, h, i, 0));
            float ds = p * (dot(t.g, h, i, t.v, hk, j, b, a.d) - D[(b * a.Hq + h) * a.Tq + i]);
            for (int64_t c = 0; c < a.d; c++) {
                dv[c] += p * at(t.g, b, h, i, c);
                dk[c] += ds * at(t.q, b, h, i, c);
            }
        }
    for (int64_t c = 0; c < a.d; c++) {
        td_set(&t.dk, b, hk, j, c, scale * dk[c]);
        td_set(&t.dv, b, hk, j, c, dv[c]);
    }
}

static dim3 blocks(int64_t threads) {
    return dim3((unsigned)((threads + THREADS - 1) / THREADS));
}

td_status exercise_flash_backward_kernels(const td_attention_problem *problem, const td_tensor *t, float *D,
                                          void *stream, td_error *err) {
    const td_attention_problem a = *problem;
    Tensors x = {t[TD_Q], t[TD_K], t[TD_V], t[TD_O], t[TD_LSE], t[TD_DO], t[TD_DQ], t[TD_DK], t[TD_DV]};
    int64_t rows = a.B * a.Hq * a.Tq;
    td_status status = TD_LAUNCH(err, row_sums, blocks(rows), dim3(THREADS), 0, stream, a, x, D);
    if (!status) status = TD_LAUNCH(err, queries, blocks(rows), dim3(THREADS), 0, stream, a, x, D);
    if (!status)
        status = TD_LAUNCH(err, keys_and_values, blocks(a.B * a.Hkv * a.Tk), dim3(THREADS), 0, stream, a, x, D);
    return status;
}
