/* Attention backward in three kernels: D = rowsum(dO ∘ O); dK and dV, where a block of threads owns 32 keys and visits
 * their queries; dQ, where it owns 32 queries and visits their keys. S and dP are computed in both of the last two:
 * that is the price of sums which have one owner and one order, and so the same bits in every run.
 *
 * The two are one plan with the roles exchanged. The block keeps its own rows, say K and V; the visitors' rows, Q and
 * dO, come 32 at a time. A warp has four own rows. While it computes S and dP its lanes lie along the visitors, while
 * it adds up gradients along d; P and dS pass through shared memory between. Dao et al. 2022 (algorithm 4), 2023. */
#include "gpu.h"
#include "tandem/exercise/flash_backward.h"

enum { WARPS = 8, THREADS = 32 * WARPS, ROWS = 4, TILE = WARPS * ROWS };
/* A row in shared memory is 4 floats longer than W, so that 8 lanes that read 16 bytes each, of 8 rows, meet 32 banks.
 */
enum { PAD = 4 };

struct backward {
    td_attention_problem a;
    float scale;
    int64_t diagonal; /* query i may read key j iff j ≤ i + diagonal */
    td_tensor t[TD_ATTENTION_TENSORS];
    float *D;
};

/* own: K, V or Q, dO; visiting: the other two. */
template <int W> struct tiles {
    __align__(16) float own[2][TILE * W], visiting[2][TILE * (W + PAD)], P[TILE * TILE], dS[TILE * TILE];
};

static __device__ __forceinline__ float get(const td_tensor &t, int64_t b, int64_t h, int64_t i, int64_t c) {
    return ((const float *)t.data)[td_offset(&t, b, h, i, c)];
}

static __device__ __forceinline__ bool allowed(const backward &x, int64_t i, int64_t j) {
    return i < x.a.Tq && j < x.a.Tk && j <= i + x.diagonal;
}

/* A warp a query. */
__global__ void __launch_bounds__(THREADS) rowsum(backward x) {
    int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    if (row >= x.a.B * x.a.Hq * x.a.Tq) return;
    int64_t i = row % x.a.Tq, h = row / x.a.Tq % x.a.Hq, b = row / x.a.Tq / x.a.Hq;
    float sum = 0;
    for (int64_t c = threadIdx.x % 32; c < x.a.d; c += 32)
        sum = fmaf(get(x.t[TD_DO], b, h, i, c), get(x.t[TD_O], b, h, i, c), sum);
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (threadIdx.x % 32 == 0) x.D[row] = sum;
}

/* 32 rows of a head from `first` on; zeros behind the last row and behind d. */
template <int W>
static __device__ void load(const td_tensor &t, int64_t b, int64_t h, int64_t first, float *tile, int width) {
    for (int e = threadIdx.x; e < TILE * W; e += THREADS) {
        int row = e / W, c = e % W;
        tile[row * width + c] = first + row < t.size[2] && c < t.size[3] ? get(t, b, h, first + row, c) : 0;
    }
}

/* The products of the warp's own rows with this lane's visitor: of the first tensors (S), and of the second (dP). */
template <int W>
static __device__ __forceinline__ void dots(const tiles<W> *tile, int warp, int lane, float (*product)[ROWS]) {
#pragma unroll
    for (int k = 0; k < 2; k++) {
        const float *own = tile->own[k] + warp * ROWS * W, *visitor = tile->visiting[k] + lane * (W + PAD);
#pragma unroll
        for (int r = 0; r < ROWS; r++) product[k][r] = 0;
#pragma unroll 4
        for (int c = 0; c < W; c += 4) {
            float4 y = td_load4(visitor + c);
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                float4 z = td_load4(own + r * W + c);
                product[k][r] = fmaf(y.x, z.x, fmaf(y.y, z.y, fmaf(y.z, z.z, fmaf(y.w, z.w, product[k][r]))));
            }
        }
    }
}

/* sum[r] += Σ pair[r][n] · visitor n, of the visitors that this row meets: 0 · NaN would not be nothing. meets(r, n).
 */
template <int W, typename Meets>
static __device__ __forceinline__ void add(float (*sum)[W / 32], const float *pair, const float *visiting, int lane,
                                           Meets meets) {
    for (int n = 0; n < TILE; n++) {
        float v[W / 32];
#pragma unroll
        for (int c = 0; c < W / 32; c++) v[c] = visiting[n * (W + PAD) + lane + 32 * c];
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            if (!meets(r, n)) continue;
            float p = pair[r * TILE + n];
#pragma unroll
            for (int c = 0; c < W / 32; c++) sum[r][c] = fmaf(p, v[c], sum[r][c]);
        }
    }
}

/* The warp's rows, which begin at `first`, times `scale`. */
template <int W>
static __device__ __forceinline__ void store(const td_tensor &t, const float (*sum)[W / 32], float scale, int64_t b,
                                             int64_t h, int64_t first, int lane) {
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int c = 0; c < W / 32; c++)
            if (t.data && first + r < t.size[2] && lane + 32 * c < t.size[3])
                td_set(&t, b, h, first + r, lane + 32 * c, scale * sum[r][c]);
}

template <int W> __global__ void __launch_bounds__(THREADS) keys(backward x) {
    TD_DYNAMIC_SHARED(tiles<W>, tile);
    int64_t blocks = (x.a.Tk + TILE - 1) / TILE, head = blockIdx.x / blocks, group = x.a.Hq / x.a.Hkv;
    int64_t b = head / x.a.Hkv, kv = head % x.a.Hkv, first = blockIdx.x % blocks * TILE;
    int64_t earliest = max(first - x.diagonal, (int64_t)0) / TILE * TILE; /* query that reads any of these keys */
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int64_t j = first + warp * ROWS;
    float *P = tile->P + warp * ROWS * TILE, *dS = tile->dS + warp * ROWS * TILE;
    float dK[ROWS][W / 32] = {}, dV[ROWS][W / 32] = {};
    load<W>(x.t[TD_K], b, kv, first, tile->own[0], W);
    load<W>(x.t[TD_V], b, kv, first, tile->own[1], W);

    for (int64_t h = kv * group; h < (kv + 1) * group; h++)
        for (int64_t begin = earliest; begin < x.a.Tq; begin += TILE) {
            __syncthreads(); /* nobody reads the queries before any more */
            load<W>(x.t[TD_Q], b, h, begin, tile->visiting[0], W + PAD);
            load<W>(x.t[TD_DO], b, h, begin, tile->visiting[1], W + PAD);
            __syncthreads();
            float product[2][ROWS];
            dots<W>(tile, warp, lane, product);
            int64_t i = begin + lane;
            float lse = i < x.a.Tq ? get(x.t[TD_LSE], b, h, i, 0) : 0;
            float D = i < x.a.Tq ? x.D[(b * x.a.Hq + h) * x.a.Tq + i] : 0;
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                float p = allowed(x, i, j + r) ? expf(fmaf(x.scale, product[0][r], -lse)) : 0;
                P[r * TILE + lane] = p;
                dS[r * TILE + lane] = p * (product[1][r] - D);
            }
            __syncwarp();
            auto meets = [&](int r, int n) { return allowed(x, begin + n, j + r); };
            add<W>(dV, P, tile->visiting[1], lane, meets);
            add<W>(dK, dS, tile->visiting[0], lane, meets);
        }
    store<W>(x.t[TD_DK], dK, x.scale, b, kv, j, lane);
    store<W>(x.t[TD_DV], dV, 1, b, kv, j, lane);
}

template <int W> __global__ void __launch_bounds__(THREADS) queries(backward x) {
    TD_DYNAMIC_SHARED(tiles<W>, tile);
    int64_t blocks = (x.a.Tq + TILE - 1) / TILE, head = blockIdx.x / blocks;
    int64_t b = head / x.a.Hq, h = head % x.a.Hq, kv = h / (x.a.Hq / x.a.Hkv), first = blockIdx.x % blocks * TILE;
    int64_t end = td_allowed_keys(x.a.mask, min(first + TILE, x.a.Tq) - 1, x.a.Tq, x.a.Tk);
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int64_t i = first + warp * ROWS;
    float *dS = tile->dS + warp * ROWS * TILE, dQ[ROWS][W / 32] = {};
    load<W>(x.t[TD_Q], b, h, first, tile->own[0], W);
    load<W>(x.t[TD_DO], b, h, first, tile->own[1], W);

    for (int64_t begin = 0; begin < end; begin += TILE) {
        __syncthreads();
        load<W>(x.t[TD_K], b, kv, begin, tile->visiting[0], W + PAD);
        load<W>(x.t[TD_V], b, kv, begin, tile->visiting[1], W + PAD);
        __syncthreads();
        float product[2][ROWS];
        dots<W>(tile, warp, lane, product);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            float ds = 0;
            if (allowed(x, i + r, begin + lane)) {
                float lse = get(x.t[TD_LSE], b, h, i + r, 0), D = x.D[(b * x.a.Hq + h) * x.a.Tq + i + r];
                ds = expf(fmaf(x.scale, product[0][r], -lse)) * (product[1][r] - D);
            }
            dS[r * TILE + lane] = ds;
        }
        __syncwarp();
        add<W>(dQ, dS, tile->visiting[0], lane, [&](int r, int n) { return allowed(x, i + r, begin + n); });
    }
    store<W>(x.t[TD_DQ], dQ, x.scale, b, h, i, lane);
}

template <int W> static td_status launch(const backward &x, void *stream, td_error *err) {
    dim3 of_keys((unsigned)(x.a.B * x.a.Hkv * ((x.a.Tk + TILE - 1) / TILE)));
    dim3 of_queries((unsigned)(x.a.B * x.a.Hq * ((x.a.Tq + TILE - 1) / TILE)));
    td_status s = TD_LAUNCH(err, (keys<W>), of_keys, THREADS, sizeof(tiles<W>), stream, x);
    return s ? s : TD_LAUNCH(err, (queries<W>), of_queries, THREADS, sizeof(tiles<W>), stream, x);
}

td_status exercise_flash_backward_kernels(const td_attention_problem *problem, const td_tensor *t, float *D,
                                          void *stream, td_error *err) {
    const td_attention_problem *a = problem;
    int64_t diagonal = a->mask == TD_MASK_NONE ? a->Tk : a->mask == TD_MASK_CAUSAL_TOP_LEFT ? 0 : a->Tk - a->Tq;
    backward x = {*a, (float)a->scale, diagonal, {}, D};
    for (int k = 0; k < TD_ATTENTION_TENSORS; k++) x.t[k] = t[k];
    dim3 rows((unsigned)((a->B * a->Hq * a->Tq + WARPS - 1) / WARPS));
    td_status s = TD_LAUNCH(err, rowsum, rows, THREADS, 0, stream, x);
    if (s) return s;
    return a->d <= 64 ? launch<64>(x, stream, err) : launch<128>(x, stream, err);
}
