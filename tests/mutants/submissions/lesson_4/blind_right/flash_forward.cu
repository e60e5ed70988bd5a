#include "gpu.h"
#include "tandem/exercise/flash_forward.h"

/* One thread has one query; a block of threads shares a tile of keys. */
enum { QUERIES = 64, KEYS = 16, MOST = 128 };

struct forward {
    td_attention_problem a;
    td_tensor Q, K, V, O, LSE;
};

__global__ void attend(forward x) {
    __shared__ float tile_k[KEYS * MOST], tile_v[KEYS * MOST];
    const td_attention_problem &a = x.a;
    int64_t tiles = (a.Tq + QUERIES - 1) / QUERIES;
    int64_t tile = blockIdx.x % tiles, head = blockIdx.x / tiles;
    int64_t h = head % a.Hq, b = head / a.Hq, hk = h / (a.Hq / a.Hkv);
    int64_t i = tile * QUERIES + threadIdx.x;
    int64_t last = (tile + 1) * QUERIES < a.Tq ? (tile + 1) * QUERIES - 1 : a.Tq - 1;
    int64_t most = td_allowed_keys(a.mask, last, a.Tq, a.Tk);
    int64_t n = i < a.Tq ? td_allowed_keys(a.mask, i, a.Tq, a.Tk) : 0;
    const float *K = (const float *)x.K.data, *V = (const float *)x.V.data, *Q = (const float *)x.Q.data;
    float acc[MOST];
    for (int c = 0; c < a.d; c++) acc[c] = 0.0f;
    float m = -INFINITY, l = 0.0f;
    float scale = (float)a.scale;

    for (int64_t j0 = 0; j0 < most; j0 += KEYS) {
        int rows = most - j0 < KEYS ? (int)(most - j0) : KEYS;
        for (int e = threadIdx.x; e < rows * a.d; e += QUERIES) {
            int j = e / (int)a.d, c = e % (int)a.d;
            tile_k[j * MOST + c] = K[td_offset(&x.K, b, hk, j0 + j, c)];
            tile_v[j * MOST + c] = V[td_offset(&x.V, b, hk, j0 + j, c)];
        }
        __syncthreads();
        int count = n - j0 < rows ? (int)(n - j0) : rows;
        if (count > 0) {
            float s[KEYS];
            float m_new = m;
            for (int j = 0; j < count; j++) {
                float dot = 0.0f;
                for (int c = 0; c < a.d; c++) dot += Q[td_offset(&x.Q, b, h, i, c)] * tile_k[j * MOST + c];
                s[j] = dot * scale;
                if (s[j] > m_new) m_new = s[j];
            }
            float correction = m == m_new ? 1.0f : expf(m - m_new);
            l *= correction;
            for (int c = 0; c < a.d; c++) acc[c] *= correction;
            for (int j = 0; j < count; j++) {
                float p = s[j] == -INFINITY ? 0.0f : expf(s[j] - m_new);
                l += p;
                for (int c = 0; c < a.d; c++) acc[c] += p * tile_v[j * MOST + c];
            }
            m = m_new;
        }
        __syncthreads();
    }

    if (i < a.Tq) {
        float *O = (float *)x.O.data, *LSE = (float *)x.LSE.data;
        for (int c = 0; c < a.d; c++) O[td_offset(&x.O, b, h, i, c)] = n > 0 ? acc[c] / l : 0.0f;
        LSE[td_offset(&x.LSE, b, h, i, 0)] = n == 0 ? -INFINITY : l > 0.0f ? m + logf(l) : NAN;
    }
}

td_status exercise_flash_forward(const td_attention_problem *problem, const td_tensor *Q, const td_tensor *K,
                                 const td_tensor *V, const td_tensor *O, const td_tensor *LSE, void *stream,
                                 td_error *err) {
    forward x = {*problem, *Q, *K, *V, *O, *LSE};
    int64_t blocks = (problem->Tq + QUERIES - 1) / QUERIES * problem->Hq * problem->B;
    return TD_LAUNCH(err, attend, dim3((unsigned)blocks), dim3(QUERIES), 0, stream, x);
}
