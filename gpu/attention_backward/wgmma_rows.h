/* What stands around the kernel of rungs 7 and 8: what it is given, the pass before it, and the pass after.
 *
 * Queries that may read no key, and keys that no query may read, are left out from the start: the tensor maps end
 * before them, so that whatever stands there is read as 0. What remains is a problem with its own Tq, Tk and diagonal ≥
 * 0.
 *
 * dQ's sums lie in the workspace as the tensor cores leave them: a tile of queries is two pieces, one a warpgroup, of
 * 64 × 64 floats each, and in a piece the four floats of thread t and number n stand at 128 n + t. So they are written
 * in vectors that meet all banks, and are added to memory as one run of 16 KiB. The pass after the kernel, which scales
 * and rounds them, also puts them in order. */
#ifndef TANDEM_GPU_ATTENTION_BACKWARD_WGMMA_ROWS_H
#define TANDEM_GPU_ATTENTION_BACKWARD_WGMMA_ROWS_H

#include "../hopper.h"
#include "../mma.h"
#include "attention_backward.h"

/* Keys of a block, queries of a tile. d up to 64 leaves registers for twice as many. */
enum { TD_KEYS = 128, TD_PIECE = 64 * 64 };
template <int D> static constexpr int td_queries = D == 64 ? 128 : 64;

/* What the kernels receive. */
struct td_wgmma_backward {
    CUtensorMap Q, K, V, dO, dK, dV, rows; /* rows: LSE and D of a tile of queries */
    td_tensor t[TD_ATTENTION_TENSORS];
    bool fast_dQ, fast_dK, fast_dV;        /* wanted, of the inputs' type, and as a tensor map or vectors need it */
    int B, Hq, Hkv, d;                     /* the problem's own */
    int skipped, Tq, Tk, diagonal, all_Tk; /* queries left out; then the problem that remains; all keys */
    int tiles, key_tiles, together;        /* tiles of Tq and of all_Tk; heads whose blocks are mixed */
    float scale, scale_log2;               /* and times log₂e */
    float *dQ, *LSE, *D;                   /* the workspace: pieces; LSE · log₂e and D of `tiles` whole tiles */
};

/* The problem without what is left out. */
static inline void td_wgmma_shape(td_wgmma_backward *p, const td_attention_problem *a) {
    int64_t diagonal = a->mask == TD_MASK_NONE ? a->Tk : a->mask == TD_MASK_CAUSAL_TOP_LEFT ? 0 : a->Tk - a->Tq;
    int64_t skipped = diagonal < 0 ? -diagonal : 0, Tk = a->Tq + diagonal < a->Tk ? a->Tq + diagonal : a->Tk;
    int queries = a->d <= 64 ? td_queries<64> : td_queries<128>;
    p->B = (int)a->B, p->Hq = (int)a->Hq, p->Hkv = (int)a->Hkv, p->d = (int)a->d;
    p->skipped = (int)skipped, p->Tq = (int)(a->Tq - skipped), p->Tk = (int)(a->mask == TD_MASK_NONE ? a->Tk : Tk);
    p->diagonal = (int)(diagonal + skipped), p->all_Tk = (int)a->Tk;
    p->tiles = (p->Tq + queries - 1) / queries, p->key_tiles = (p->all_Tk + TD_KEYS - 1) / TD_KEYS;
    p->scale = (float)a->scale, p->scale_log2 = (float)(a->scale * 1.4426950408889634);
}

/* Rows of all tiles. */
static inline int64_t td_wgmma_rows(const td_wgmma_backward *p) {
    return (int64_t)p->B * p->Hq * p->tiles * (p->d <= 64 ? td_queries<64> : td_queries<128>);
}
/* The workspace: of each row its part of the pieces, its LSE and its D. */
static inline size_t td_wgmma_bytes(const td_problem *problem) {
    td_wgmma_backward p;
    td_wgmma_shape(&p, &problem->attention);
    return p.tiles > 0 ? (size_t)td_wgmma_rows(&p) * ((p.d <= 64 ? 64 : 128) + 2) * sizeof(float) : 0;
}

/* Whether rungs 7 and 8 themselves take it: whole vectors, d up to 128, something to do, counts that fit an int. */
static inline bool td_wgmma_takes(const td_problem *problem, const td_tensor *t) {
    const td_attention_problem *a = &problem->attention;
    int64_t rows = a->Tq > a->Tk ? a->Tq : a->Tk;
    bool takes = a->d % 8 == 0 && a->d <= 128 && a->B * a->Hq > 0 && a->Tq > 0 && a->Tk > 0 && rows < INT32_MAX - 256 &&
                 a->B * a->Hq * (rows / 64 + 1) < INT32_MAX / 2 && (a->scale < 0 ? -a->scale : a->scale) < 0x1p127;
    for (int k = TD_Q; k <= TD_DO; k++) takes = takes && (k == TD_LSE || td_tensor_map_fits(&t[k]));
    return takes;
}

template <typename T> static bool td_wgmma_fast(const td_tensor *t) {
    return t->data && t->dtype == (td_same<T, td_bf16> ? TD_BF16 : TD_FP16) && td_tensor_map_fits(t);
}

/* Fills in the rest. Blocks start with the longest, by a causal mask those of the first keys, of as many heads as have
 * Q, dO and dQ in 16 MiB, a third of the second-level cache. */
template <typename T>
static td_status td_wgmma_plan(td_wgmma_backward *p, const td_problem *problem, const td_tensor *t, float *workspace,
                               td_error *err) {
    const td_attention_problem *a = &problem->attention;
    td_wgmma_shape(p, a);
    int width = a->d <= 64 ? 64 : 128, queries = a->d <= 64 ? td_queries<64> : td_queries<128>;
    int64_t head_bytes = a->Hq / a->Hkv * a->Tq * width * 8, heads = a->B * a->Hkv, cached = (16 << 20) / head_bytes;
    p->together = (int)(cached < 1 ? 1 : cached > heads ? heads : cached);
    p->dQ = workspace, p->LSE = workspace + td_wgmma_rows(p) * width, p->D = p->LSE + td_wgmma_rows(p);
    for (int k = 0; k < TD_ATTENTION_TENSORS; k++) p->t[k] = t[k];
    p->fast_dQ = td_wgmma_fast<T>(&t[TD_DQ]), p->fast_dK = td_wgmma_fast<T>(&t[TD_DK]);
    p->fast_dV = td_wgmma_fast<T>(&t[TD_DV]);
    const td_tensor rows = td_contiguous(p->LSE, TD_F32, 1, 2, td_wgmma_rows(p) / queries, queries);
    td_status s = td_tensor_map(&p->rows, &rows, 0, rows.size[2], 1, queries, false, err);
    if (s == TD_OK) s = td_tensor_map(&p->Q, &t[TD_Q], p->skipped, a->Tq, queries, 64, true, err);
    if (s == TD_OK) s = td_tensor_map(&p->dO, &t[TD_DO], p->skipped, a->Tq, queries, 64, true, err);
    if (s == TD_OK) s = td_tensor_map(&p->K, &t[TD_K], 0, p->Tk, TD_KEYS, 64, true, err);
    if (s == TD_OK) s = td_tensor_map(&p->V, &t[TD_V], 0, p->Tk, TD_KEYS, 64, true, err);
    if (s == TD_OK && p->fast_dK) s = td_tensor_map(&p->dK, &t[TD_DK], 0, a->Tk, 64, 64, true, err);
    if (s == TD_OK && p->fast_dV) s = td_tensor_map(&p->dV, &t[TD_DV], 0, a->Tk, 64, 64, true, err);
    return s;
}

/* 8 elements from column c of row (b, h, i), as floats. */
template <typename T>
static __device__ __forceinline__ void td_read8(float (&x)[8], const td_tensor &t, int b, int h, int i, int c) {
    T v[8];
    float4 bytes = td_load4((const float *)((const T *)t.data + td_offset(&t, b, h, i, c)));
    memcpy(v, &bytes, sizeof v);
#pragma unroll
    for (int k = 0; k < 8; k++) x[k] = td_float(v[k]);
}

/* Before: D = rowsum(dO ∘ O) and LSE · log₂e of every query, zeros for dQ's sums, and dQ = 0 of the queries left out. 8
 * columns a thread. A row beyond the end gets LSE = ∞, hence P = 0, so that the kernel need not look. The last rows
 * first: the kernel begins with the first, and finds them in the cache. */
template <typename T, int D, bool ZERO>
__global__ __launch_bounds__(256) void td_wgmma_before(const __grid_constant__ td_wgmma_backward p) {
    constexpr int LANES = D / 8;
    int c = threadIdx.x % LANES * 8, padded = p.tiles * td_queries<D>, rows = p.skipped + padded;
    int64_t number = (int64_t)(gridDim.x - 1 - blockIdx.x) * (256 / LANES) + threadIdx.x / LANES;
    if (number >= (int64_t)p.B * p.Hq * rows) return;
    int head = (int)(number / rows), i = (int)(number % rows), r = i - p.skipped, b = head / p.Hq, h = head % p.Hq;
    if (r < 0) {
        for (int k = c; k < c + 8 && k < p.d && p.t[TD_DQ].data; k++) td_set(&p.t[TD_DQ], b, h, i, k, 0);
        return;
    }
    int64_t row = (int64_t)head * padded + r;
    float sum = 0;
    if (r < p.Tq && c < p.d) {
        float x[8], y[8];
        td_read8<T>(x, p.t[TD_O], b, h, i, c);
        td_read8<T>(y, p.t[TD_DO], b, h, i, c);
#pragma unroll
        for (int k = 0; k < 8; k++) sum = fmaf(x[k], y[k], sum);
    }
    if (ZERO) {
        td_store4(p.dQ + row * D + c, float4{0, 0, 0, 0});
        td_store4(p.dQ + row * D + c + 4, float4{0, 0, 0, 0});
    }
#pragma unroll
    for (int k = LANES / 2; k > 0; k /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, k);
    if (c) return;
    p.D[row] = sum;
    p.LSE[row] = r < p.Tq ? td_read<float>(p.t[TD_LSE], b, h, i, 0) * 0x1.715476p+0f : INFINITY;
}

/* After: dQ = scale · sums, the last ones, which are still in the cache, first. A thread takes rows g and g + 8 of 8
 * columns, 16 floats that stand together. */
template <typename T, int D>
__global__ __launch_bounds__(256) void td_wgmma_after(const __grid_constant__ td_wgmma_backward p) {
    int64_t piece = gridDim.x - 1 - blockIdx.x;
    int n = threadIdx.x % 8, r = threadIdx.x / 8, w = (int)(piece % 2), tile = (int)(piece / 2 % p.tiles);
    int head = (int)(piece / 2 / p.tiles), b = head / p.Hq, h = head % p.Hq;
    int i = tile * td_queries<D> + (D == 64 ? 64 * w : 0) + r / 8 * 16 + r % 8, c = (D == 64 ? 0 : 64 * w) + 8 * n;
    const float *from = p.dQ + piece * TD_PIECE + (n * 32 + r) * 16;
    float x[2][8];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        float4 v = td_load4(from + 4 * k);
        x[0][2 * k] = v.x * p.scale, x[0][2 * k + 1] = v.y * p.scale;
        x[1][2 * k] = v.z * p.scale, x[1][2 * k + 1] = v.w * p.scale;
    }
#pragma unroll
    for (int k = 0; k < 2; k++) {
        int row = i + 8 * k;
        if (row >= p.Tq || c >= p.d) continue;
        row += p.skipped;
        if (p.fast_dQ) {
            const uint32_t words[4] = {td_pack<T>(x[k][0], x[k][1]), td_pack<T>(x[k][2], x[k][3]),
                                       td_pack<T>(x[k][4], x[k][5]), td_pack<T>(x[k][6], x[k][7])};
            float4 packed;
            memcpy(&packed, words, sizeof packed);
            td_store4((float *)((T *)p.t[TD_DQ].data + td_offset(&p.t[TD_DQ], b, h, row, c)), packed);
        } else
            for (int e = 0; e < 8; e++) td_set(&p.t[TD_DQ], b, h, row, c + e, x[k][e]);
    }
}

template <typename T, int D, bool ZERO>
static td_status td_wgmma_before_launch(const td_wgmma_backward &p, void *stream, td_error *err) {
    int64_t rows = (int64_t)p.B * p.Hq * (p.skipped + p.tiles * td_queries<D>), a_block = 256 / (D / 8);
    return TD_LAUNCH(err, (td_wgmma_before<T, D, ZERO>), dim3((unsigned)((rows + a_block - 1) / a_block)), dim3(256), 0,
                     stream, p);
}
template <typename T, int D>
static td_status td_wgmma_after_launch(const td_wgmma_backward &p, void *stream, td_error *err) {
    if (!p.t[TD_DQ].data) return TD_OK;
    return TD_LAUNCH(err, (td_wgmma_after<T, D>), dim3((unsigned)(p.B * p.Hq * p.tiles * 2)), dim3(256), 0, stream, p);
}

#endif
