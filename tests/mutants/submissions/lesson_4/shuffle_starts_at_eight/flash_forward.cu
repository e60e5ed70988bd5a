/* A warp has a query: each lane holds every 32nd element of q and of the output. No shared memory. */
#include "gpu.h"
#include "tandem/exercise/flash_forward.h"
#include <math.h>

#define WARPS 4
#define PARTS 4 /* 32 lanes x 4 = 128 >= d */

struct Tensors {
    td_tensor Q, K, V, O, LSE;
};

static __device__ float warp_sum(float x) {
    for (int with = 8; with > 0; with /= 2) x += __shfl_xor_sync(0xffffffffu, x, with);
    return x;
}

static __device__ const float *row(const td_tensor &t, int64_t b, int64_t h, int64_t i) {
    return (const float *)t.data + b * t.stride[0] + h * t.stride[1] + i * t.stride[2];
}

__global__ void warp_per_query(td_attention_problem a, Tensors t, float scale, int64_t rows) {
    int lane = threadIdx.x % 32;
    int64_t r = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    if (r >= rows) return; /* a whole warp at once */
    int64_t i = r % a.Tq, h = r / a.Tq % a.Hq, b = r / a.Tq / a.Hq, hk = h / (a.Hq / a.Hkv);
    int64_t n = td_allowed_keys(a.mask, i, a.Tq, a.Tk);

    float q[PARTS], o[PARTS];
    for (int part = 0; part < PARTS; part++) {
        int64_t c = part * 32 + lane;
        q[part] = c < a.d ? row(t.Q, b, h, i)[c * t.Q.stride[3]] : 0.0f;
        o[part] = 0.0f;
    }
    float m = -INFINITY, l = 0.0f;
    for (int64_t j = 0; j < n; j++) {
        const float *k = row(t.K, b, hk, j), *v = row(t.V, b, hk, j);
        float dot = 0.0f;
        for (int part = 0; part < PARTS; part++) {
            int64_t c = part * 32 + lane;
            if (c < a.d) dot += q[part] * k[c * t.K.stride[3]];
        }
        float s = scale * warp_sum(dot);
        float m_new = fmaxf(m, s);
        float base = isinf(m_new) && m_new < 0 ? 0.0f : m_new;
        float old = expf(m - base), e = expf(s - base);
        l = l * old + e;
        for (int part = 0; part < PARTS; part++) {
            int64_t c = part * 32 + lane;
            if (c < a.d) o[part] = o[part] * old + e * v[c * t.V.stride[3]];
        }
        m = m_new;
    }

    float *out = (float *)t.O.data + b * t.O.stride[0] + h * t.O.stride[1] + i * t.O.stride[2];
    for (int part = 0; part < PARTS; part++) {
        int64_t c = part * 32 + lane;
        if (c < a.d) out[c * t.O.stride[3]] = n == 0 ? 0.0f : o[part] / l;
    }
    if (lane == 0) {
        float *lse = (float *)t.LSE.data + b * t.LSE.stride[0] + h * t.LSE.stride[1] + i * t.LSE.stride[2];
        if (n == 0)
            *lse = -INFINITY;
        else
            *lse = l > 0.0f ? m + logf(l) : NAN;
    }
}

td_status exercise_flash_forward(const td_attention_problem *problem, const td_tensor *Q, const td_tensor *K,
                                 const td_tensor *V, const td_tensor *O, const td_tensor *LSE, void *stream,
                                 td_error *err) {
    int64_t rows = problem->B * problem->Hq * problem->Tq;
    Tensors t = {*Q, *K, *V, *O, *LSE};
    return TD_LAUNCH(err, warp_per_query, dim3((unsigned)((rows + WARPS - 1) / WARPS)), dim3(32 * WARPS), 0, stream,
                     *problem, t, (float)problem->scale, rows);
}
