/* FlashAttention forward. A block of threads takes 32 queries of one head and goes through the keys they may read, 32
 * at a time, in shared memory. A warp has four of the queries. While it computes scores its lanes lie along the keys, a
 * key a lane; while it adds up O they lie along d. p goes from one arrangement to the other through shared memory.
 *
 * Dao 2023 (algorithm 1): queries outside, O divided once, at the end. */
#include "gpu.h"
#include "tandem/exercise/flash_forward.h"

enum { WARPS = 8, THREADS = 32 * WARPS, ROWS = 4, QUERIES = WARPS * ROWS, KEYS = 32 };
/* Rows of K are 4 floats longer than D, so that 8 lanes that read 16 bytes each, of 8 rows, meet 32 different banks. */
enum { PAD = 4 };

struct forward {
    td_attention_problem a;
    float scale;
    td_tensor Q, K, V, O, LSE;
};

template <int D> struct tiles {
    __align__(16) float Q[QUERIES * D], K[KEYS * (D + PAD)], V[KEYS * D], P[QUERIES * KEYS];
};

/* 32 rows of a head from `first` on; zeros behind the last row and behind d. */
template <int D>
static __device__ void load(const td_tensor &t, int64_t b, int64_t h, int64_t first, float *tile, int width) {
    for (int e = threadIdx.x; e < 32 * D; e += THREADS) {
        int row = e / D, c = e % D;
        bool inside = first + row < t.size[2] && c < t.size[3];
        tile[row * width + c] = inside ? ((const float *)t.data)[td_offset(&t, b, h, first + row, c)] : 0;
    }
}

/* s[r] = q · k, of the warp's queries and this lane's key. */
template <int D> static __device__ __forceinline__ void dots(const float *Q, const float *K, float s[ROWS]) {
#pragma unroll
    for (int r = 0; r < ROWS; r++) s[r] = 0;
#pragma unroll 4
    for (int c = 0; c < D; c += 4) {
        float4 k = td_load4(K + c);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            float4 q = td_load4(Q + r * D + c);
            s[r] = fmaf(q.x, k.x, fmaf(q.y, k.y, fmaf(q.z, k.z, fmaf(q.w, k.w, s[r]))));
        }
    }
}

/* exp(score − m), where m may still be −∞: then every score so far is, and none weighs anything. */
static __device__ __forceinline__ float weight(float score, float m) {
    return expf(score - (m == -INFINITY ? 0 : m));
}

template <int D> __global__ void __launch_bounds__(THREADS) attend(forward x) {
    constexpr int COLUMNS = D / 32; /* of O, in a lane */
    TD_DYNAMIC_SHARED(tiles<D>, tile);
    int64_t blocks = (x.a.Tq + QUERIES - 1) / QUERIES, head = blockIdx.x / blocks;
    int64_t b = head / x.a.Hq, h = head % x.a.Hq, kv = h / (x.a.Hq / x.a.Hkv);
    int64_t first = blockIdx.x % blocks * QUERIES, last = min(first + QUERIES, x.a.Tq) - 1;
    int64_t end = td_allowed_keys(x.a.mask, last, x.a.Tq, x.a.Tk); /* the last query reads furthest */
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const float *Q = tile->Q + warp * ROWS * D;
    float *P = tile->P + warp * ROWS * KEYS;

    int64_t keys[ROWS];
    float m[ROWS], l[ROWS], O[ROWS][COLUMNS] = {}; /* l: of this lane's keys */
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        int64_t i = first + warp * ROWS + r;
        keys[r] = i <= last ? td_allowed_keys(x.a.mask, i, x.a.Tq, x.a.Tk) : 0;
        m[r] = -INFINITY, l[r] = 0;
    }
    load<D>(x.Q, b, h, first, tile->Q, D);

    for (int64_t begin = 0; begin < end; begin += KEYS) {
        __syncthreads(); /* nobody reads the block before any more */
        load<D>(x.K, b, kv, begin, tile->K, D + PAD);
        load<D>(x.V, b, kv, begin, tile->V, D);
        __syncthreads();

        float s[ROWS];
        dots<D>(Q, tile->K + lane * (D + PAD), s);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            s[r] = begin + lane < keys[r] ? x.scale * s[r] : -INFINITY;
            float most = fmaxf(m[r], s[r]); /* a NaN is left out here, and comes back with p */
            for (int step = 16; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, step));
            float alpha = weight(m[r], most), p = weight(s[r], most);
            m[r] = most;
            l[r] = alpha * l[r] + p;
            P[r * KEYS + lane] = p;
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) O[r][c] *= alpha;
        }
        __syncwarp();

        int64_t left = end - begin;
        for (int j = 0; j < KEYS && j < left; j++) {
            float v[COLUMNS];
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) v[c] = tile->V[j * D + lane + 32 * c];
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                if (begin + j >= keys[r]) continue; /* 0 · NaN would not be nothing */
                float p = P[r * KEYS + j];
#pragma unroll
                for (int c = 0; c < COLUMNS; c++) O[r][c] = fmaf(p, v[c], O[r][c]);
            }
        }
    }

#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        int64_t i = first + warp * ROWS + r;
        for (int step = 16; step > 0; step /= 2) l[r] += __shfl_xor_sync(0xffffffffu, l[r], step);
        if (i > last) continue;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
            if (x.O.data && lane + 32 * c < x.a.d)
                td_set(&x.O, b, h, i, lane + 32 * c, keys[r] == 0 ? 0 : O[r][c] / l[r]);
        float lse = keys[r] == 0 ? -INFINITY : l[r] == 0 ? NAN : m[r] + logf(l[r]);
        if (x.LSE.data && lane == 0) td_set(&x.LSE, b, h, i, 0, lse);
    }
}

template <int D> static td_status launch(const forward &x, void *stream, td_error *err) {
    dim3 grid((unsigned)(x.a.B * x.a.Hq * ((x.a.Tq + QUERIES - 1) / QUERIES)));
    return TD_LAUNCH(err, (attend<D>), grid, THREADS, sizeof(tiles<D>), stream, x);
}

td_status exercise_flash_forward(const td_attention_problem *problem, const td_tensor *Q, const td_tensor *K,
                                 const td_tensor *V, const td_tensor *O, const td_tensor *LSE, void *stream,
                                 td_error *err) {
    forward x = {*problem, (float)problem->scale, *Q, *K, *V, *O, *LSE};
    return problem->d <= 64 ? launch<64>(x, stream, err) : launch<128>(x, stream, err);
}
