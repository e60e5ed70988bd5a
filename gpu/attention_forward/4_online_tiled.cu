/* Rung 4: sixteen queries go through the keys together, block by block, and share each block in shared memory.
 *
 * The idea: sixteen warps, a query each, load `block` rows of K and V once for all of them: a sixteenth of rung 3's
 * reads of global memory. In shared memory a warp may read any way it likes, so its lanes now lie along the keys: a
 * lane computes whole scores of its own, with no shuffles; m and l are found once a block, not once a key. For O the
 * lanes lie along d, as before. A row of K is padded by 4 floats, so that 8 lanes reading 16 bytes each of 8 rows meet
 * 32 different banks.
 *
 * `block` keys: more of them means fewer rescales and barriers, and 2·block·d floats of shared memory, hence fewer
 * blocks at once on a multiprocessor; with 16, half of the lanes have no key.
 *
 * What bounds it: both operands of every FFMA come from shared memory, 4 numbers a load at best. That is why rung 2,
 * whose products keep a tile in registers, stays ahead of it in time.
 * Measured (H200, 2026-11-30; T 4096, B·T 16384, H·d 2048, no mask; when loading an element still took 33 instructions,
 * now 7), ms for blocks of 16, 32, 64, 128, 256: at d 64 97, 75, 68, 69, 83; at d 128 93, 66, 63, 80, refused. That is
 * 8 TFLOP/s.
 *
 * Rounding points           Q, K, V   q·k, m, l, P, a   O, LSE
 *   online_tiled_f32        float     float             float, then their tensor's dtype
 *   online_tiled_bf16/fp16  16 bits   float             likewise */
#include "attention_forward.h"

enum { WARPS = 16, THREADS = 32 * WARPS, PAD = 4, DEFAULT_BLOCK = 64 };

/* Floats of shared memory: K (block, D + PAD), V (block, D), Q (WARPS, D). D: d rounded up to 64, 128 or 256. */
static int64_t shared_floats(int64_t block, int64_t D) {
    return block * (2 * D + PAD) + WARPS * D;
}

/* Rows first … first + rows − 1 of a head into shared memory; zeros beyond d and from row `end` on. A thread stays in
 * its column, so that going to its next row is one addition. */
template <typename T, int D>
static __device__ __forceinline__ void load_tile(const td_tensor &t, int64_t b, int64_t h, int64_t first, int64_t end,
                                                 int rows, int d, float *tile, int width) {
    constexpr int STEP = THREADS / D;
    int c = threadIdx.x % D, j = threadIdx.x / D;
    const T *from = td_row<T>(t, b, h, first + j) + c * t.stride[3];
    int there = c < d ? (int)(end - first < rows ? end - first : rows) : 0;
    for (; j < rows; j += STEP, from += STEP * t.stride[2]) tile[j * width + c] = j < there ? td_float(*from) : 0;
}

static __device__ __forceinline__ float max_of_warp(float x) {
#pragma unroll
    for (int lane = 16; lane > 0; lane /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, lane));
    return x;
}

template <typename T, int D, int BLOCK> __global__ void __launch_bounds__(THREADS, 2) online_tiled(td_forward x) {
    constexpr int N = D / 32, KEYS = (BLOCK + 31) / 32; /* elements of O, and keys of a block, in each lane */
    TD_DYNAMIC_SHARED(float, K);
    float *V = K + BLOCK * (D + PAD), *Q = V + BLOCK * D;
    int64_t tiles = (x.a.Tq + WARPS - 1) / WARPS, head = blockIdx.x / tiles, first = blockIdx.x % tiles * WARPS;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, d = (int)x.a.d;
    int64_t b = head / x.a.Hq, h = head % x.a.Hq, kv = h / (x.a.Hq / x.a.Hkv), i = first + warp;
    int64_t last = first + WARPS < x.a.Tq ? first + WARPS - 1 : x.a.Tq - 1;
    int64_t end = td_allowed_keys(x.a.mask, last, x.a.Tq, x.a.Tk); /* the last query reads furthest */
    int64_t keys = i < x.a.Tq ? td_allowed_keys(x.a.mask, i, x.a.Tq, x.a.Tk) : 0;

    load_tile<T, D>(x.Q, b, h, first, x.a.Tq, WARPS, d, Q, D);
    float acc[N], m = -INFINITY, l = 0;
#pragma unroll
    for (int k = 0; k < N; k++) acc[k] = 0;

    for (int64_t begin = 0; begin < end; begin += BLOCK) {
        __syncthreads(); /* nobody reads the block before any more */
        load_tile<T, D>(x.K, b, kv, begin, end, BLOCK, d, K, D + PAD);
        load_tile<T, D>(x.V, b, kv, begin, end, BLOCK, d, V, D);
        __syncthreads();

        float s[KEYS], m_new = m, sum = 0;
#pragma unroll
        for (int k = 0; k < KEYS; k++) {
            int j = lane + 32 * k;
            float dot = 0;
            if (begin + j < keys && j < BLOCK)
#pragma unroll 2
                for (int c = 0; c < d; c += 4) {
                    float4 q4 = td_load4(Q + warp * D + c), k4 = td_load4(K + j * (D + PAD) + c);
                    dot += q4.x * k4.x, dot += q4.y * k4.y, dot += q4.z * k4.z, dot += q4.w * k4.w;
                }
            s[k] = begin + j < keys && j < BLOCK ? x.scale * dot : -INFINITY;
            m_new = fmaxf(m_new, s[k]); /* NaN loses, and comes back through l */
        }
        m_new = max_of_warp(m_new);
        float alpha = td_exp2(m - td_shift(m_new));
#pragma unroll
        for (int k = 0; k < KEYS; k++) sum += s[k] = td_exp2(s[k] - td_shift(m_new));
        l = alpha * l + sum; /* of this lane's keys */
        m = m_new;
#pragma unroll
        for (int k = 0; k < N; k++) acc[k] *= alpha;

#pragma unroll
        for (int k = 0; k < KEYS; k++) {
            int most = BLOCK - 32 * k < 32 ? BLOCK - 32 * k : 32;
            int n = keys - begin - 32 * k < most ? (int)(keys - begin - 32 * k) : most;
            for (int j = 0; j < n; j++) {
                float p = __shfl_sync(0xffffffffu, s[k], j);
#pragma unroll
                for (int c = 0; c < N; c++) acc[c] += p * V[(32 * k + j) * D + lane + 32 * c];
            }
        }
    }

#pragma unroll
    for (int step = 16; step > 0; step /= 2) l += __shfl_xor_sync(0xffffffffu, l, step);
    if (i >= x.a.Tq) return;
#pragma unroll
    for (int k = 0; k < N; k++)
        if (x.O.data && lane + 32 * k < d) td_set(&x.O, b, h, i, lane + 32 * k, keys == 0 ? 0 : acc[k] / l);
    if (x.LSE.data && lane == 0) td_set(&x.LSE, b, h, i, 0, td_lse(keys, m, l));
}

static int64_t padded(int64_t d) {
    return d <= 64 ? 64 : d <= 128 ? 128 : 256;
}

template <typename T, int D, int BLOCK> static td_status launch(const td_forward *x, void *stream, td_error *err) {
    dim3 grid((unsigned)(x->a.B * x->a.Hq * ((x->a.Tq + WARPS - 1) / WARPS)));
    return TD_LAUNCH(err, (online_tiled<T, D, BLOCK>), grid, THREADS, (size_t)shared_floats(BLOCK, D) * sizeof(float),
                     stream, *x);
}

template <typename T, int D> static td_status launch_block(const td_forward *x, void *stream, td_error *err) {
    switch (x->a.block) {
    case 16: return launch<T, D, 16>(x, stream, err);
    case 32: return launch<T, D, 32>(x, stream, err);
    case 0:
    case 64: return launch<T, D, 64>(x, stream, err);
    case 128:
        if constexpr (D <= 128) return launch<T, D, 128>(x, stream, err);
        break;
    case 256:
        if constexpr (D <= 64) return launch<T, D, 256>(x, stream, err);
        break;
    }
    return td_fail(err, TD_INTERNAL, "block = %lld: not compiled for d = %lld", (long long)x->a.block,
                   (long long)x->a.d);
}

static td_status supports(const td_problem *problem, td_error *why) {
    const td_attention_problem *a = &problem->attention;
    int64_t block = a->block ? a->block : (int64_t)DEFAULT_BLOCK, bytes = shared_floats(block, padded(a->d)) * 4;
    if (block != 16 && block != 32 && block != 64 && block != 128 && block != 256)
        return td_fail(why, TD_UNSUPPORTED, "block = %lld: compiled for 16, 32, 64, 128 and 256 keys",
                       (long long)block);
    if (bytes > TD_SHARED_LIMIT)
        return td_fail(why, TD_UNSUPPORTED,
                       "block = %lld: at d = %lld it needs %lld KiB of shared memory; there are %d", (long long)block,
                       (long long)a->d, (long long)(bytes / 1024), TD_SHARED_LIMIT / 1024);
    return td_forward_fits(problem, why);
}

template <typename T>
static td_status run(const td_problem *problem, const td_tensor *tensors, void *stream, td_dtype dtype, td_error *err) {
    td_forward x = td_forward_of(&problem->attention, tensors);
    td_status s = td_forward_takes(tensors, dtype, err);
    if (s) return s;
    switch (padded(x.a.d)) {
    case 64: return launch_block<T, 64>(&x, stream, err);
    case 128: return launch_block<T, 128>(&x, stream, err);
    default: return launch_block<T, 256>(&x, stream, err);
    }
}

#define RUNG(type, T, DTYPE, BYTES)                                                                                    \
    static td_status run_##type(const td_problem *problem, const td_tensor *tensors, void *workspace, void *stream,    \
                                td_error *err) {                                                                       \
        (void)workspace;                                                                                               \
        return run<T>(problem, tensors, stream, DTYPE, err);                                                           \
    }                                                                                                                  \
    TD_FORWARD_VARIANT(                                                                                                \
        online_tiled_##type, DTYPE, BYTES,                                                                             \
        "blocks of keys in shared memory for sixteen queries; a warp a query, lanes along the keys",                   \
        "scores beyond 3.4e38 overflow; blocks of 16, 32, 64, 128, 256 keys as far as shared memory holds",            \
        TD_MEM_WORKSPACE, supports, td_no_workspace, run_##type)

RUNG(f32, float, TD_F32, td_attention_forward_bytes_f32);
RUNG(bf16, td_bf16, TD_BF16, td_attention_forward_bytes_16bit);
RUNG(fp16, td_fp16, TD_FP16, td_attention_forward_bytes_16bit);
