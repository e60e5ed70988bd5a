/* Rung 5: both products in registers, and the next piece of K or V on its way while this one is multiplied.
 *
 * The idea: a multiplication that loads both operands from shared memory, as rung 4's do, waits for shared memory. Here
 * a thread keeps 8 × 8 scores and 8 × 8 elements of O in registers (register_tile.h) and loads 16 numbers, 16 bytes at
 * a time, for 64 multiplications: 4 loads where rung 4 needs some 100. Nine of ten instructions then are FFMA.
 *
 * A block takes ROWS queries through the keys, D at a time, so that S (ROWS,D) and O (ROWS,D) have the same shape and
 * owners: row r's m, l and the factor that rescales O stay in the registers of 8 lanes. P goes once through shared
 * memory, to be the left operand. K and V come in chunks of 16 from global memory, through registers, into the one of
 * two buffers that is not being multiplied: one barrier a chunk. Q is scaled once, when it is loaded. Under a causal
 * mask a warp leaves out the chunks that none of its rows may read, and the longest rows start first.
 *
 * Measured (H200, 2026-11-30; T 2048, B 4, H·d 2048, no mask), beside PyTorch's memory-efficient attention in the same
 * run: 3.18 ms at d 64, 43.2 TFLOP/s (PyTorch 34.4); 3.15 ms at d 128, 43.6 TFLOP/s (44.6). B 8, T 1024, 12 heads of
 * 64, causal: 0.395 ms (0.504). cuBLAS's SGEMM reached 50.7 TFLOP/s. What bounds it (Nsight Compute, d 128): 78 % of
 * the cycles issue an instruction. 230 registers a thread leave each scheduler two warps: a fifth of their time they
 * wait for shared memory, 5 % for a port of the register file. Unrolling a chunk of 32 whole lost 6 %: it no longer
 * fits the instruction cache. Wider tiles of O (8 × 16) lost 5 %: all 255 registers, and the compiler can order
 * nothing.
 *
 * Rounding points            Q, K, V   q·k, m, l, P, a   O, LSE
 *   online_registers_f32     float     float             float, then their tensor's dtype */
#include "attention_forward.h"
#include "register_tile.h"
#include "vectors.h"

/* The tile of a block: D is d rounded up, ROWS its queries, BLOCKS how many a multiprocessor is to hold. */
template <int ROWS_, int D_, int BLOCKS_> struct td_tile {
    static constexpr int ROWS = ROWS_, D = D_, BLOCKS = BLOCKS_, ACROSS = D / WARP_COLUMNS, LEFT = td_left(ROWS);
    static constexpr int THREADS = ROWS * D / (SIDE * SIDE), LOADS = CHUNK * D / 4 / THREADS, STEP = THREADS * 4 / D;
    static constexpr int FLOATS = 2 * LEFT * D + 2 * CHUNK * D + ACROSS * ROWS; /* of shared memory */
};

/* A chunk on its way from global memory to B (CHUNK,D), LOADS fours a thread. K's rows become columns: thread t brings
 * neighbours in c of row t mod D, so that a warp writes 32 neighbours of a row of B. V's rows stay: thread t brings 4
 * columns of row t / (D / 4) and of every STEP-th after it. Past the last row comes the last one again: its P is 0, and
 * every query that a 0 times it may reach reads the last row anyway. */
template <typename tile, bool VECTOR>
static __device__ __forceinline__ void fetch_k(const float *row, int64_t step, int c, int d, float4 next[]) {
#pragma unroll
    for (int n = 0; n < tile::LOADS; n++) next[n] = td_four<VECTOR>(row, step, c + 4 * n, d);
}

template <typename tile> static __device__ __forceinline__ void put_k(const float4 next[], float *to) {
#pragma unroll
    for (int n = 0; n < tile::LOADS; n++, to += 4 * tile::D)
        to[0] = next[n].x, to[tile::D] = next[n].y, to[2 * tile::D] = next[n].z, to[3 * tile::D] = next[n].w;
}

template <typename tile, bool VECTOR>
static __device__ __forceinline__ void fetch_v(const float *head, const td_tensor &V, int row, int end, int c, int d,
                                               float4 next[]) {
#pragma unroll
    for (int n = 0; n < tile::LOADS; n++) {
        int r = min(row + n * tile::STEP, end - 1);
        /* one instruction, where a 64-bit stride takes five */
        int64_t offset = VECTOR ? (int64_t)r * (int)V.stride[2] : r * V.stride[2];
        next[n] = td_four<VECTOR>(head + offset, V.stride[3], c, d);
    }
}

template <typename tile> static __device__ __forceinline__ void put_v(const float4 next[], float *to) {
#pragma unroll
    for (int n = 0; n < tile::LOADS; n++) td_store4(to + 4 * n * tile::THREADS, next[n]);
}

/* Eight numbers a thread, one a row, of all warps that share the rows: they meet in shared memory. */
template <typename tile>
static __device__ __forceinline__ void meet(float *room, td_place at, const float mine[SIDE],
                                            float all[tile::ACROSS][SIDE]) {
    if (at.column % WARP_COLUMNS == 0) {
        float *to = room + at.column / WARP_COLUMNS * tile::ROWS + at.row;
        td_store4(to, {mine[0], mine[1], mine[2], mine[3]});
        td_store4(to + 16, {mine[4], mine[5], mine[6], mine[7]});
    }
    __syncthreads();
#pragma unroll
    for (int w = 0; w < tile::ACROSS; w++) td_eight(all[w], room + w * tile::ROWS + at.row, 16);
}

/* Scores that the mask forbids, or beyond the last key, become −∞: row r has the first limit + r of `keys`. */
static __device__ __forceinline__ void mask_scores(float S[SIDE][SIDE], td_place at, int keys, int limit) {
#pragma unroll
    for (int i = 0; i < SIDE; i++)
#pragma unroll
        for (int j = 0; j < SIDE; j++)
            if (td_column_of(at, j) >= min(keys, limit + td_row_of(at, i))) S[i][j] = -INFINITY;
}

/* From S to P in place; m, l (of this thread's keys) and O follow. */
template <typename tile>
static __device__ __forceinline__ void softmax(float S[SIDE][SIDE], float O[SIDE][SIDE], float m[SIDE], float l[SIDE],
                                               float *room, td_place at) {
    float most[SIDE], all[tile::ACROSS][SIDE];
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
        most[i] = S[i][0]; /* NaN loses, and comes back through l */
#pragma unroll
        for (int j = 1; j < SIDE; j++) most[i] = fmaxf(most[i], S[i][j]);
        most[i] = td_max_across(most[i]);
    }
    if (tile::ACROSS > 1) {
        meet<tile>(room, at, most, all);
#pragma unroll
        for (int i = 0; i < SIDE; i++)
#pragma unroll
            for (int w = 0; w < tile::ACROSS; w++) most[i] = fmaxf(most[i], all[w][i]);
    }
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
        float m_new = fmaxf(m[i], most[i]), shift = td_shift(m_new), alpha = td_exp2(m[i] - shift), sum = 0;
#pragma unroll
        for (int j = 0; j < SIDE; j++) sum += S[i][j] = td_exp2(S[i][j] - shift);
        l[i] = alpha * l[i] + sum;
        m[i] = m_new;
#pragma unroll
        for (int j = 0; j < SIDE; j++) O[i][j] *= alpha;
    }
}

template <typename tile, bool VECTOR>
__global__ void __launch_bounds__(tile::THREADS, tile::BLOCKS) online_registers(td_forward x, bool vector_out) {
    constexpr int ROWS = tile::ROWS, D = tile::D, LEFT = tile::LEFT;
    TD_DYNAMIC_SHARED(float, Q);
    float *P = Q + LEFT * D, *B = P + LEFT * D, *room = B + 2 * CHUNK * D;
    td_place at = td_place_of<D>(threadIdx.x);
    int64_t heads = x.a.B * x.a.Hq, tiles = gridDim.x / heads;
    /* a causal mask leaves the last rows most keys: they start first, of all heads */
    bool causal = x.a.mask != TD_MASK_NONE;
    int64_t head = causal ? blockIdx.x % heads : blockIdx.x / tiles;
    int64_t first = (causal ? tiles - 1 - blockIdx.x / heads : blockIdx.x % tiles) * ROWS;
    int64_t b = head / x.a.Hq, h = head % x.a.Hq, kv = h / (x.a.Hq / x.a.Hkv);
    int64_t last = first + ROWS < x.a.Tq ? first + ROWS - 1 : x.a.Tq - 1;
    int d = (int)x.a.d, end = (int)td_allowed_keys(x.a.mask, last, x.a.Tq, x.a.Tk);
    int reach = (int)(first + 1 + (x.a.mask == TD_MASK_CAUSAL_BOTTOM_RIGHT ? x.a.Tk - x.a.Tq : 0)); /* row 0's keys */

    const float *K = td_row<float>(x.K, b, kv, 0), *V = td_row<float>(x.V, b, kv, 0), *k_row = K;
    /* Of this thread: what it brings of a chunk of K or V, where to, and where its operands begin. All are carried
     * along from chunk to chunk: to compute them anew takes longer than a whole step of the product. */
    int thread = threadIdx.x, key = thread % D, k_part = thread / D * tile::LOADS * 4;
    int v_next = thread / (D / 4), v_column = thread % (D / 4) * 4, k_column = k_part;
    if (VECTOR && v_column >= d) v_column = 0; /* columns that nobody stores */
    float *k_to = B + k_part * D + key, *v_to = B + 4 * thread + CHUNK * D, *right = B + at.column;
    const float *left = Q + at.row;
    int turn = CHUNK * D, chunks = (d + CHUNK - 1) / CHUNK;
    float4 next[tile::LOADS];
    if (end > 0) {
#pragma unroll 4
        for (int e = thread; e < ROWS * chunks * CHUNK / 4; e += tile::THREADS) {
            int r = e % ROWS, c = e / ROWS * 4;
            int64_t i = first + r < last ? first + r : last;
            float4 q = td_four<VECTOR>(td_row<float>(x.Q, b, h, i), x.Q.stride[3], c, d);
            float *to = Q + c * LEFT + r;
            to[0] = q.x * x.scale, to[LEFT] = q.y * x.scale, to[2 * LEFT] = q.z * x.scale, to[3 * LEFT] = q.w * x.scale;
        }
        k_row = K + min(key, end - 1) * x.K.stride[2];
        fetch_k<tile, VECTOR>(k_row, x.K.stride[3], k_column, d, next);
        put_k<tile>(next, k_to);
        k_to += turn, k_column += CHUNK;
        __syncthreads();
    }

    float O[SIDE][SIDE] = {}, m[SIDE], l[SIDE];
#pragma unroll
    for (int i = 0; i < SIDE; i++) m[i] = -INFINITY, l[i] = 0;

#pragma unroll 1
    for (int begin = 0; begin < end; begin += D) {
        /* row r of the tile may read the first `limit` + r of these keys */
        int keys = min(end - begin, D), limit = causal ? min(reach - begin, D) : D;
        float S[SIDE][SIDE] = {};
#pragma unroll 1
        for (int c = 0; c < d; c += CHUNK) {
            bool more = c + CHUNK < d;
            td_operands operands;
            td_load_operands<ROWS, D>(operands, left, right, 0);
            if (more)
                fetch_k<tile, VECTOR>(k_row, x.K.stride[3], k_column, d, next), k_column += CHUNK;
            else
                fetch_v<tile, VECTOR>(V, x.V, v_next, end, v_column, d, next), v_next += CHUNK;
            if (limit + at.warp_row + WARP_ROWS > 1) td_product<ROWS, D, 16>(S, operands, left, right);
            if (more)
                put_k<tile>(next, k_to);
            else
                put_v<tile>(next, v_to);
            __syncthreads(); /* one buffer is written and the other is read */
            left += CHUNK * LEFT, right += turn, k_to -= turn, v_to -= turn, turn = -turn;
        }
        k_row = K + min(begin + D + key, end - 1) * x.K.stride[2], k_column = k_part;
        left = P + at.row;

        if (keys < D || limit + at.warp_row < D) mask_scores(S, at, keys, limit);
        softmax<tile>(S, O, m, l, room, at);
#pragma unroll
        for (int j = 0; j < SIDE; j++) {
            float *to = P + td_column_of(at, j) * LEFT + at.row;
            td_store4(to, {S[0][j], S[1][j], S[2][j], S[3][j]});
            td_store4(to + 16, {S[4][j], S[5][j], S[6][j], S[7][j]});
        }
        __syncthreads();

#pragma unroll 1
        for (int k = 0; k < keys; k += CHUNK) {
            bool more = k + CHUNK < keys;
            td_operands operands;
            td_load_operands<ROWS, D>(operands, left, right, 0);
            if (more)
                fetch_v<tile, VECTOR>(V, x.V, v_next, end, v_column, d, next), v_next += CHUNK;
            else
                fetch_k<tile, VECTOR>(k_row, x.K.stride[3], k_column, d, next), k_column += CHUNK;
            if (k + CHUNK <= limit + at.warp_row)
                td_product<ROWS, D, 16>(O, operands, left, right);
            else if (k < limit + at.warp_row + WARP_ROWS)
                td_product_below<ROWS, D>(O, left, right, at, limit - k);
            if (more)
                put_v<tile>(next, v_to);
            else
                put_k<tile>(next, k_to);
            __syncthreads();
            left += CHUNK * LEFT, right += turn, k_to -= turn, v_to -= turn, turn = -turn;
        }
        left = Q + at.row;
    }

    float all[tile::ACROSS][SIDE];
#pragma unroll
    for (int i = 0; i < SIDE; i++) l[i] = td_sum_across(l[i]);
    meet<tile>(room, at, l, all);
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
        int64_t q = first + td_row_of(at, i), allowed = td_allowed_keys(x.a.mask, q, x.a.Tq, x.a.Tk);
        if (q >= x.a.Tq) continue;
        l[i] = 0;
#pragma unroll
        for (int w = 0; w < tile::ACROSS; w++) l[i] += all[w][i];
        if (x.LSE.data && at.column == 0) td_set(&x.LSE, b, h, q, 0, td_lse(allowed, m[i], l[i]));
        if (!x.O.data) continue;
#pragma unroll
        for (int j = 0; j < SIDE; j += 4) {
            int c = td_column_of(at, j);
            float o[4];
#pragma unroll
            for (int n = 0; n < 4; n++) o[n] = allowed == 0 ? 0 : O[i][j + n] / l[i];
            if (vector_out && c < d)
                td_store4((float *)x.O.data + td_offset(&x.O, b, h, q, c), {o[0], o[1], o[2], o[3]});
#pragma unroll
            for (int n = 0; n < 4; n++)
                if (!vector_out && c + n < d) td_set(&x.O, b, h, q, c + n, o[n]);
        }
    }
}

template <typename tile> static td_status launch(const td_forward *x, void *stream, td_error *err) {
    dim3 grid((unsigned)(x->a.B * x->a.Hq * ((x->a.Tq + tile::ROWS - 1) / tile::ROWS)));
    bool vector = x->a.d % CHUNK == 0 && td_fits_vectors(&x->Q) && td_fits_vectors(&x->K) && td_fits_vectors(&x->V);
    bool vector_out = x->O.dtype == TD_F32 && td_fits_vectors(&x->O);
    size_t bytes = tile::FLOATS * sizeof(float);
    return vector ? TD_LAUNCH(err, (online_registers<tile, true>), grid, tile::THREADS, bytes, stream, *x, vector_out)
                  : TD_LAUNCH(err, (online_registers<tile, false>), grid, tile::THREADS, bytes, stream, *x, vector_out);
}

static td_status run(const td_problem *problem, const td_tensor *tensors, void *workspace, void *stream,
                     td_error *err) {
    (void)workspace;
    td_forward x = td_forward_of(&problem->attention, tensors);
    td_status s = td_forward_takes(tensors, TD_F32, err);
    if (s) return s;
    return x.a.d <= 64    ? launch<td_tile<128, 64, 2>>(&x, stream, err)
           : x.a.d <= 128 ? launch<td_tile<128, 128, 1>>(&x, stream, err)
                          : launch<td_tile<64, 256, 1>>(&x, stream, err);
}

/* Keys are counted in 32 bits, and by blocks of up to 256. */
static td_status supports(const td_problem *problem, td_error *why) {
    const td_attention_problem *a = &problem->attention;
    if (a->Tk > INT32_MAX - 512)
        return td_fail(why, TD_UNSUPPORTED, "Tk = %lld: at most %d", (long long)a->Tk, INT32_MAX - 512);
    return td_forward_no_block(problem, why);
}

TD_FORWARD_VARIANT(online_registers_f32, TD_F32, td_attention_forward_bytes_f32,
                   "both products in registers, 8 x 8 a thread; 16-byte loads; K and V on their way ahead",
                   "scores beyond 3.4e38 overflow", TD_MEM_WORKSPACE, supports, td_no_workspace, run);
