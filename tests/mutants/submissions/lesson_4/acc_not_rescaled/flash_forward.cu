/* A thread has a query. The threads of a block go through the keys together, a tile at a time in shared memory. */
#include "gpu.h"
#include "tandem/exercise/flash_forward.h"
#include <math.h>

enum { THREADS = 64, TILE = 16, D_MAX = 128 };

static __device__ float element(const td_tensor &t, int64_t b, int64_t h, int64_t i, int64_t c) {
    return ((const float *)t.data)[td_offset(&t, b, h, i, c)];
}

__global__ void attend(td_attention_problem p, td_tensor Q, td_tensor K, td_tensor V, td_tensor O, td_tensor LSE) {
    __shared__ float k[TILE][D_MAX], v[TILE][D_MAX];
    int64_t tiles = (p.Tq + THREADS - 1) / THREADS, d = p.d;
    int64_t head = blockIdx.x / tiles, first = blockIdx.x % tiles * THREADS, i = first + threadIdx.x;
    int64_t b = head / p.Hq, h = head % p.Hq, hk = h / (p.Hq / p.Hkv);
    bool inside = i < p.Tq;
    int64_t keys = inside ? td_allowed_keys(p.mask, i, p.Tq, p.Tk) : 0;
    int64_t last = first + (THREADS - 1) < p.Tq ? first + (THREADS - 1) : p.Tq - 1;
    int64_t most = td_allowed_keys(p.mask, last, p.Tq, p.Tk); /* of any query in this block */

    float acc[D_MAX], m = -INFINITY, l = 0;
    for (int64_t c = 0; c < d; c++) acc[c] = 0;
    for (int64_t j0 = 0; j0 < most; j0 += TILE) {
        int64_t n = most - j0 < TILE ? most - j0 : (int64_t)TILE;
        for (int64_t x = threadIdx.x; x < n * d; x += THREADS) {
            k[x / d][x % d] = element(K, b, hk, j0 + x / d, x % d);
            v[x / d][x % d] = element(V, b, hk, j0 + x / d, x % d);
        }
        __syncthreads(); /* the tile is whole */
        for (int64_t j = 0; j < n && j0 + j < keys; j++) {
            float dot = 0;
            for (int64_t c = 0; c < d; c++) dot += element(Q, b, h, i, c) * k[j][c];
            float s = (float)(p.scale * dot), m_new = fmaxf(m, s);
            float shift = m_new == -INFINITY ? 0 : m_new;
            float alpha = expf(m - shift), w = expf(s - shift);
            l = l * alpha + w;
            for (int64_t c = 0; c < d; c++) acc[c] = acc[c] + w * v[j][c];
            m = m_new;
        }
        __syncthreads(); /* nobody reads it any more */
    }
    if (!inside) return;
    for (int64_t c = 0; c < d; c++) td_set(&O, b, h, i, c, keys > 0 ? acc[c] / l : 0);
    td_set(&LSE, b, h, i, 0, keys == 0 ? -INFINITY : l == 0 ? NAN : m + logf(l));
}

td_status exercise_flash_forward(const td_attention_problem *problem, const td_tensor *Q, const td_tensor *K,
                                 const td_tensor *V, const td_tensor *O, const td_tensor *LSE, void *stream,
                                 td_error *err) {
    int64_t tiles = (problem->Tq + THREADS - 1) / THREADS, blocks = problem->B * problem->Hq * tiles;
    return TD_LAUNCH(err, attend, dim3((unsigned)blocks), dim3(THREADS), 0, stream, *problem, *Q, *K, *V, *O, *LSE);
}
