/* Rung 4, registers: the plan of rung 2, with every product tiled for registers, all loads of 16 bytes, and the next
 * queries on their way while these are computed.
 *
 * A block of 256 threads owns a tile of keys (128 for d ≤ 64, else 64), visits its queries 128 at a time, and holds Q,
 * dO, K, V and one matrix of pairs, first P, then dS, in 193 or 225 KiB of shared memory. A thread owns 8×8 or 8×4
 * elements of S and dP, and keeps its 64 of dK and dV in registers for the block's life; see register_tiles.h. dO's
 * place is free once dP is known, and Q's after dK: the next tile's rows are copied there with no help of the threads.
 *
 * Gain expected: rung 2 loads 1.25 floats from shared memory for a multiply-add, and is bound by that; here it is 0.25
 * or 0.375, four to an access, so that the multiply-adds themselves become the bound.
 * dQ: five products and atomicAdd (backward_registers), or seven and no atomics (backward_registers_two_pass, rung 3's
 * plan: the same bits in every run, at 1.4 times the time).
 * Measured (as rung 1), TFLOP/s at d 64, 128: 39.8, 38.5; in two passes 27.7, 27.3; PyTorch's memory-efficient
 * backward in the same run 35.3, 36.7. Bound by issue: 73 % of cycles issue an instruction, and 17 of 20 of those are
 * multiply-adds; in the others both warps of a scheduler wait, for operands to leave the registers or for a step's
 * first loads. */
#include "register_rows.h"

/* Queries and keys of a tile; and how many of them a thread has of S and dP. */
enum { ROWS = 128, R = ROWS / TD_SIDE };
template <int D> static constexpr int keys_of = D == 64 ? 128 : 64;
template <int D> static constexpr int C = keys_of<D> / TD_SIDE;

/* A block's shared memory. */
template <int D> struct register_tiles {
    float Q[ROWS * D], dO[ROWS * D], K[keys_of<D> * D], V[keys_of<D> * D];
    float W[ROWS * keys_of<D>]; /* P, then dS: a row a query */
    float LSE[ROWS], rowsum[ROWS];
};

/* Which inputs come in vectors. */
struct vectors {
    bool Q, K, V, dO;
};

/* What a query brings, in two parts, since dO is done with first: its rows of dO; and those of Q, with LSE and D. */
template <int D>
static __device__ __forceinline__ void copy_dO(register_tiles<D> &s, const td_backward &w, vectors v, int64_t b,
                                               int64_t h, int64_t i) {
    td_copy_rows<ROWS, D, R>(s.dO, w.t[TD_DO], v.dO, b, h, i);
}
template <int D>
static __device__ __forceinline__ void copy_Q(register_tiles<D> &s, const td_backward &w, vectors v, int64_t b,
                                              int64_t h, int64_t i) {
    td_copy_rows<ROWS, D, R>(s.Q, w.t[TD_Q], v.Q, b, h, i);
    int r = threadIdx.x;
    if (r >= ROWS) return;
    bool inside = i + r < w.Tq;
    const td_tensor &t = w.t[TD_LSE];
    td_copy1_async(s.LSE + r, (const float *)t.data + (inside ? td_offset(&t, b, h, i + r, 0) : 0), inside);
    td_copy1_async(s.rowsum + r, w.D + (inside ? (b * w.Hq + h) * w.Tq + i + r : 0), inside);
}

template <int D>
static __device__ __forceinline__ void copy_K(register_tiles<D> &s, const td_backward &w, vectors v, int64_t b,
                                              int64_t kv, int64_t j) {
    td_copy_rows<keys_of<D>, D, C<D>>(s.K, w.t[TD_K], v.K, b, kv, j);
}
template <int D>
static __device__ __forceinline__ void copy_V(register_tiles<D> &s, const td_backward &w, vectors v, int64_t b,
                                              int64_t kv, int64_t j) {
    td_copy_rows<keys_of<D>, D, C<D>>(s.V, w.t[TD_V], v.V, b, kv, j);
}

/* The tile of queries i … and keys j …: does the mask cross it, does it lie wholly within mask and ends? */
struct tile {
    int64_t i, j;
    int shift; /* its row r may read its columns c ≤ r + shift */
    bool masked, whole;
};

template <int D> static __device__ __forceinline__ tile tile_at(const td_backward &w, int64_t i, int64_t j) {
    int64_t shift = i + w.diagonal - j, keys = keys_of<D>;
    bool masked = shift < keys - 1;
    return {i, j, masked ? (int)shift : 0, masked, !masked && i + ROWS <= w.Tq && j + keys <= w.Tk};
}

/* Four of the thread's own pairs in W: query R y + r, keys C x + 4 g + 0 … 3. */
template <int D> static __device__ __forceinline__ float *own_pairs(float *W, int y, int x, int r, int g) {
    return W + td_piece<keys_of<D>, R>(R * y, C<D> / 4 * x + g) + r * keys_of<D>;
}

/* W = 0 in the thread's own pairs outside the mask or beyond the ends, whatever was computed for them. */
template <int D>
static __device__ __forceinline__ void drop_pairs(float *W, const td_backward &w, tile t, int y, int x) {
    int64_t end = w.Tk - t.j;
#pragma unroll 1
    for (int r = 0; r < R; r++) {
        int64_t allowed = t.i + R * y + r >= w.Tq ? 0 : t.masked ? min(end, (int64_t)(R * y + r + t.shift + 1)) : end;
#pragma unroll 1
        for (int g = 0; g < C<D> / 4; g++) {
            float4 v = td_load4(own_pairs<D>(W, y, x, r, g));
            int column = C<D> * x + 4 * g;
            td_store4(own_pairs<D>(W, y, x, r, g),
                      float4{column < allowed ? v.x : 0, column + 1 < allowed ? v.y : 0, column + 2 < allowed ? v.z : 0,
                             column + 3 < allowed ? v.w : 0});
        }
    }
}

/* W = P = exp(scale · Q Kᵀ − LSE) */
template <int D>
static __device__ __forceinline__ void weights(register_tiles<D> &s, const td_backward &w, tile t, int y, int x) {
    float S[R][C<D>] = {};
    td_rows_by_rows<D>(S, s.Q, s.K, y, x);
#pragma unroll
    for (int r = 0; r < R; r++) {
        float lse = s.LSE[R * y + r];
#pragma unroll
        for (int g = 0; g < C<D> / 4; g++) {
            const float *q = &S[r][4 * g];
            float4 p = {td_weight(q[0], w.scale, lse), td_weight(q[1], w.scale, lse), td_weight(q[2], w.scale, lse),
                        td_weight(q[3], w.scale, lse)};
            td_store4(own_pairs<D>(s.W, y, x, r, g), p);
        }
    }
    if (!t.whole) drop_pairs<D>(s.W, w, t, y, x);
}

/* W = dS = P ∘ (dP − D), P from W */
template <int D>
static __device__ __forceinline__ void score_gradients(register_tiles<D> &s, const float (&dP)[R][C<D>],
                                                       const td_backward &w, tile t, int y, int x) {
#pragma unroll
    for (int r = 0; r < R; r++) {
        float sum = s.rowsum[R * y + r];
#pragma unroll
        for (int g = 0; g < C<D> / 4; g++) {
            const float *q = &dP[r][4 * g];
            float4 p = td_load4(own_pairs<D>(s.W, y, x, r, g));
            p = {p.x * (q[0] - sum), p.y * (q[1] - sum), p.z * (q[2] - sum), p.w * (q[3] - sum)};
            td_store4(own_pairs<D>(s.W, y, x, r, g), p);
        }
    }
    if (!t.whole) drop_pairs<D>(s.W, w, t, y, x);
}

/* sum += Wᵀ B: dV from P and dO, dK from dS and Q. */
template <int D>
static __device__ __forceinline__ void add_to_keys(float (&sum)[keys_of<D> / TD_SIDE][D / TD_SIDE], const float *W,
                                                   const float *B, tile t, int y, int x) {
    if (t.masked)
        td_columns_by_columns<ROWS, keys_of<D>, D, R, true>(sum, W, B, y, x, t.shift);
    else
        td_columns_by_columns<ROWS, keys_of<D>, D, R, false>(sum, W, B, y, x, 0);
}

/* sum += dS K */
template <int D>
static __device__ __forceinline__ void add_to_queries(float (&sum)[R][D / TD_SIDE], const register_tiles<D> &s, tile t,
                                                      int y, int x) {
    if (t.masked)
        td_rows_by_columns<keys_of<D>, D, C<D>, true>(sum, s.W, s.K, y, x, t.shift);
    else
        td_rows_by_columns<keys_of<D>, D, C<D>, false>(sum, s.W, s.K, y, x, 0);
}

/* dK and dV; ATOMIC: and each tile's part of dQ, added to a float matrix with rows of `width`. The longest blocks, by a
 * causal mask the first, start first. */
template <int D, bool ATOMIC>
__global__ __launch_bounds__(TD_REGISTER_THREADS, 1) void registers_keys(const td_backward w, const vectors v,
                                                                         float *dQ, int width) {
    TD_DYNAMIC_SHARED(register_tiles<D>, shared);
    register_tiles<D> &s = *shared;
    constexpr int KEYS = keys_of<D>;
    int y = td_place_y(), x = td_place_x();
    int64_t kv = blockIdx.x % w.Hkv, b = blockIdx.x / w.Hkv % w.B, j = blockIdx.x / w.Hkv / w.B * KEYS;
    int64_t group = w.Hq / w.Hkv, first = j > w.diagonal ? (j - w.diagonal) / ROWS * ROWS : 0;
    int64_t tiles = first < w.Tq ? (w.Tq - first + ROWS - 1) / ROWS : 0;
    float dK[KEYS / TD_SIDE][D / TD_SIDE] = {}, dV[KEYS / TD_SIDE][D / TD_SIDE] = {};
    int64_t h = kv * group, i = first;
    copy_K<D>(s, w, v, b, kv, j), copy_V<D>(s, w, v, b, kv, j);
    if (tiles) copy_Q<D>(s, w, v, b, h, i), copy_dO<D>(s, w, v, b, h, i);
    for (int64_t left = group * tiles; left > 0; left--) {
        tile t = tile_at<D>(w, i, j);
        int64_t next_h = i + ROWS < w.Tq ? h : h + 1, next_i = i + ROWS < w.Tq ? i + ROWS : first;
        td_copies_wait();
        __syncthreads();
        weights<D>(s, w, t, y, x);
        __syncthreads();
        add_to_keys<D>(dV, s.W, s.dO, t, y, x);
        float dP[R][C<D>] = {};
        td_rows_by_rows<D>(dP, s.dO, s.V, y, x);
        __syncthreads(); /* nobody reads P and dO any more */
        if (left > 1) copy_dO<D>(s, w, v, b, next_h, next_i);
        score_gradients<D>(s, dP, w, t, y, x);
        __syncthreads();
        add_to_keys<D>(dK, s.W, s.Q, t, y, x);
        __syncthreads(); /* nor Q */
        if (left > 1) copy_Q<D>(s, w, v, b, next_h, next_i);
        if (ATOMIC) {
            float sum[R][D / TD_SIDE] = {};
            add_to_queries<D>(sum, s, t, y, x);
            td_add_rows(dQ + ((b * w.Hq + h) * w.Tq + i) * width, width, w.Tq - i, sum, y, x);
        }
        h = next_h, i = next_i;
    }
    td_copies_wait(); /* of K and V, which no tile waited for if there was none */
    __syncthreads();
    td_put_rows<D, C<D>, true>(s.K, dK, y, x);
    td_put_rows<D, C<D>, true>(s.V, dV, y, x);
    __syncthreads();
    td_store_rows<KEYS, D, C<D>>(w.t[TD_DK], s.K, w.scale, b, kv, j);
    td_store_rows<KEYS, D, C<D>>(w.t[TD_DV], s.V, 1, b, kv, j);
}

/* dQ with no atomics; the longest blocks, by a causal mask the last, start first. */
template <int D>
__global__ __launch_bounds__(TD_REGISTER_THREADS, 1) void registers_queries(const td_backward w, const vectors v) {
    TD_DYNAMIC_SHARED(register_tiles<D>, shared);
    register_tiles<D> &s = *shared;
    constexpr int KEYS = keys_of<D>;
    int y = td_place_y(), x = td_place_x();
    int64_t number = gridDim.x - 1 - blockIdx.x;
    int64_t h = number % w.Hq, b = number / w.Hq % w.B, i = number / w.Hq / w.B * ROWS;
    int64_t kv = h / (w.Hq / w.Hkv), keys = min(w.Tk, i + ROWS + w.diagonal);
    float dQ[R][D / TD_SIDE] = {};
    copy_Q<D>(s, w, v, b, h, i), copy_dO<D>(s, w, v, b, h, i);
    if (keys > 0) copy_K<D>(s, w, v, b, kv, 0), copy_V<D>(s, w, v, b, kv, 0);
    for (int64_t j = 0; j < keys; j += KEYS) {
        tile t = tile_at<D>(w, i, j);
        td_copies_wait();
        __syncthreads();
        weights<D>(s, w, t, y, x);
        float dP[R][C<D>] = {};
        td_rows_by_rows<D>(dP, s.dO, s.V, y, x);
        score_gradients<D>(s, dP, w, t, y, x);
        __syncthreads(); /* nobody reads V any more */
        if (j + KEYS < keys) copy_V<D>(s, w, v, b, kv, j + KEYS);
        add_to_queries<D>(dQ, s, t, y, x);
        __syncthreads(); /* nor K */
        if (j + KEYS < keys) copy_K<D>(s, w, v, b, kv, j + KEYS);
    }
    td_copies_wait();
    __syncthreads();
    td_put_rows<D, R, false>(s.Q, dQ, y, x);
    __syncthreads();
    td_store_rows<ROWS, D, R>(w.t[TD_DQ], s.Q, w.scale, b, h, i);
}

/* dQ's rows in the workspace are padded to whole vectors. */
static int padded(const td_attention_problem *a) {
    return (int)(a->d + 3) / 4 * 4;
}

static size_t sum_bytes(const td_attention_problem *a) {
    return (size_t)(a->B * a->Hq * a->Tq * padded(a)) * sizeof(float);
}

static size_t workspace_bytes_atomic(const td_problem *problem) {
    return td_backward_D_bytes(problem) + sum_bytes(&problem->attention);
}

template <int D, bool ATOMIC>
static td_status launch(const td_backward &w, const vectors &v, float *dQ, int width, void *stream, td_error *err) {
    int64_t key_tiles = (w.Tk + keys_of<D> - 1) / keys_of<D>, query_tiles = (w.Tq + ROWS - 1) / ROWS;
    dim3 block(TD_REGISTER_THREADS), key((unsigned)(w.B * w.Hkv * key_tiles)),
        query((unsigned)(w.B * w.Hq * query_tiles));
    size_t shared = sizeof(register_tiles<D>);
    td_status s = TD_LAUNCH(err, (registers_keys<D, ATOMIC>), key, block, shared, stream, w, v, dQ, width);
    if (s == TD_OK && !ATOMIC && w.t[TD_DQ].data)
        s = TD_LAUNCH(err, (registers_queries<D>), query, block, shared, stream, w, v);
    return s;
}

template <bool ATOMIC>
static td_status run(const td_problem *problem, const td_tensor *t, float *workspace, void *stream, td_error *err) {
    const td_attention_problem *a = &problem->attention;
    if (a->d > 128) /* four tiles of 128 rows are more than shared memory holds */
        return TD_GPU(attention_backward_two_pass_f32).run(problem, t, workspace, stream, err);
    const td_backward w = td_backward_of(problem, t, workspace);
    vectors v = {td_in_vectors(&t[TD_Q]), td_in_vectors(&t[TD_K]), td_in_vectors(&t[TD_V]), td_in_vectors(&t[TD_DO])};
    float *dQ = workspace + td_backward_D_floats(a);
    td_status s = td_rowsum_launch<float>(w, stream, err);
    if (s == TD_OK && ATOMIC) s = td_zero(dQ, sum_bytes(a), stream, err);
    if (s == TD_OK)
        s = w.d <= 64 ? launch<64, ATOMIC>(w, v, dQ, padded(a), stream, err)
                      : launch<128, ATOMIC>(w, v, dQ, padded(a), stream, err);
    return s == TD_OK && ATOMIC ? td_store_sums_launch(w, dQ, padded(a), stream, err) : s;
}

static td_status support(const td_problem *problem, td_error *why) {
    const td_attention_problem *a = &problem->attention;
    int keys = a->d <= 64 ? 128 : a->d <= 128 ? 64 : 32;
    if (a->block == 0 || a->block == keys) return td_scale_fits_float(problem, why);
    return td_fail(why, TD_UNSUPPORTED,
                   "block = %lld: at d = %lld tiles of %d keys (or 0) fill shared memory and registers",
                   (long long)a->block, (long long)a->d, keys);
}

TD_BACKWARD_VARIANT(backward_registers, f32, true, TD_F32, TD_F32, td_attention_backward_bytes_f32,
                    "rung 2 tiled for registers, with 16-byte loads; dQ by atomicAdd of four floats",
                    TD_LIMIT_BITS_VARY "; d above 128: runs backward_two_pass", TD_MEM_WORKSPACE, support,
                    workspace_bytes_atomic);
TD_BACKWARD_VARIANT(backward_registers_two_pass, f32, false, TD_F32, TD_F32, td_attention_backward_bytes_f32,
                    "rung 3 tiled for registers, with 16-byte loads: no atomics, the same bits in every run",
                    "S and dP are computed twice; d above 128: runs backward_two_pass", TD_MEM_WORKSPACE, support,
                    td_backward_D_bytes);
