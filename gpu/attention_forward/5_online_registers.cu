/* Rung 5: both products in registers, and the next piece of K or V on its way while this one is multiplied.
 *
 * The idea: a multiplication that loads both operands from shared memory, as rung 4's do, waits for shared memory. Here
 * a thread keeps 8 × 8 scores and 8 × 8 elements of O in registers (register_tile.h) and loads 16 numbers, 16 bytes at
 * a time, for 64 multiplications: 4 loads where rung 4 needs about 48. FFMA are then 9 of 10 instructions of the loop.
 *
 * A block takes ROWS queries through the keys, D at a time, so that S (ROWS,D) and O (ROWS,D) have the same shape and
 * owners: row r's m, l and the factor that rescales O stay in the registers of 8 lanes. P goes once through shared
 * memory, to be the left operand. K and V come in chunks of 16 from global memory, through registers, into the one of
 * two buffers that is not being multiplied: one barrier a chunk, two chunks ahead. Q is scaled once, when it is loaded.
 * Under a causal mask whole chunks that a warp's rows may not read are left out, and the longest rows start first.
 *
 * Rounding points            Q, K, V   q·k, m, l, P, a   O, LSE
 *   online_registers_f32     float     float             float, then their tensor's dtype */
#include "attention_forward.h"
#include "register_tile.h"

/* The tile of a block: D is d rounded up, ROWS its queries, BLOCKS how many a multiprocessor is to hold. A chunk is
 * LOADS fours a thread. As V's rows, thread t brings 4 columns of row t / (D / 4) and of every STEP-th after it; as K's
 * columns, neighbours in c of row t mod D, so that a warp writes 32 neighbours. */
template <int ROWS_, int D_, int BLOCKS_> struct td_tile {
    static constexpr int ROWS = ROWS_, D = D_, BLOCKS = BLOCKS_, ACROSS = D / WARP_COLUMNS;
    static constexpr int THREADS = ROWS * D / (SIDE * SIDE), LOADS = CHUNK * D / 4 / THREADS, STEP = THREADS * 4 / D;
    static constexpr int FLOATS = 2 * ROWS * D + 2 * CHUNK * D + ACROSS * ROWS; /* of shared memory */
};

/* The chunks in the order in which they are multiplied: for each D keys, K by columns, then V by rows. */
template <typename tile, bool VECTOR> struct td_feed {
    const float *k, *v; /* of this thread's row in the chunk to fetch next */
    int64_t k_row, k_step, v_row, v_step;
    int d, end, keys; /* keys: first of the D keys to fetch from */
    int at;           /* first column of K or row of V, among the D */
    bool by_columns, fetched_columns;
    float4 four[tile::LOADS];
};

template <typename tile, bool VECTOR> static __device__ __forceinline__ void fetch(td_feed<tile, VECTOR> &f) {
    int thread = threadIdx.x;
    f.fetched_columns = f.by_columns;
    if (f.by_columns) {
        int c = f.at + thread / tile::D * tile::LOADS * 4, d = f.keys + thread % tile::D < f.end ? f.d : 0;
#pragma unroll
        for (int n = 0; n < tile::LOADS; n++) f.four[n] = td_four<VECTOR>(f.k, f.k_step, c + 4 * n, d);
        f.at += CHUNK;
        if (f.at >= f.d) f.by_columns = false, f.at = 0, f.k += tile::D * f.k_row;
    } else {
        int row = f.keys + f.at + thread / (tile::D / 4), c = thread % (tile::D / 4) * 4;
#pragma unroll
        for (int n = 0; n < tile::LOADS; n++)
            f.four[n] =
                td_four<VECTOR>(f.v + n * tile::STEP * f.v_row, f.v_step, c, row + n * tile::STEP < f.end ? f.d : 0);
        f.at += CHUNK, f.v += CHUNK * f.v_row;
        if (f.at >= min(f.end - f.keys, tile::D)) f.by_columns = true, f.at = 0, f.keys += tile::D;
    }
}

template <typename tile, bool VECTOR>
static __device__ __forceinline__ void put(const td_feed<tile, VECTOR> &f, float *B) {
    int thread = threadIdx.x;
    float *to = B + thread / tile::D * tile::LOADS * 4 * tile::D + thread % tile::D;
#pragma unroll
    for (int n = 0; n < tile::LOADS; n++, to += 4 * tile::D)
        if (f.fetched_columns) {
            to[0] = f.four[n].x, to[tile::D] = f.four[n].y;
            to[2 * tile::D] = f.four[n].z, to[3 * tile::D] = f.four[n].w;
        } else
            td_store4(B + 4 * (thread + n * tile::THREADS), f.four[n]);
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
    constexpr int ROWS = tile::ROWS, D = tile::D;
    TD_DYNAMIC_SHARED(float, Q);
    float *P = Q + ROWS * D, *now = P + ROWS * D, *then = now + CHUNK * D, *room = then + CHUNK * D;
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

#pragma unroll 4
    for (int e = threadIdx.x; e < ROWS * D / 4; e += tile::THREADS) {
        int r = e % ROWS, c = e / ROWS * 4;
        const float *row = td_row<float>(x.Q, b, h, first + r);
        float4 q = td_four<VECTOR>(row, x.Q.stride[3], c, first + r < x.a.Tq ? d : 0);
        float *to = Q + td_left<ROWS>(r, c);
        to[0] = q.x * x.scale, to[ROWS] = q.y * x.scale, to[2 * ROWS] = q.z * x.scale, to[3 * ROWS] = q.w * x.scale;
    }

    td_feed<tile, VECTOR> feed;
    feed.k = td_row<float>(x.K, b, kv, threadIdx.x % D), feed.v = td_row<float>(x.V, b, kv, threadIdx.x / (D / 4));
    feed.k_row = x.K.stride[2], feed.k_step = x.K.stride[3], feed.v_row = x.V.stride[2], feed.v_step = x.V.stride[3];
    feed.d = d, feed.end = end, feed.keys = 0, feed.at = 0, feed.by_columns = true;
    fetch(feed);
    put(feed, now);
    fetch(feed);
    __syncthreads();

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
            put(feed, then);
            fetch(feed);
            if (limit + at.warp_row + WARP_ROWS > 1) td_product<ROWS, D>(S, Q, c, now, at);
            __syncthreads(); /* `then` is written and `now` is read */
            td_swap(&now, &then);
        }

        if (keys < D || limit + at.warp_row < D) mask_scores(S, at, keys, limit);
        softmax<tile>(S, O, m, l, room, at);
#pragma unroll
        for (int j = 0; j < SIDE; j++) {
            float *to = P + td_left<ROWS>(at.row, td_column_of(at, j));
            td_store4(to, {S[0][j], S[1][j], S[2][j], S[3][j]});
            td_store4(to + 16, {S[4][j], S[5][j], S[6][j], S[7][j]});
        }
        __syncthreads();

#pragma unroll 1
        for (int k = 0; k < keys; k += CHUNK) {
            put(feed, then);
            fetch(feed);
            if (k + CHUNK <= limit + at.warp_row)
                td_product<ROWS, D>(O, P, k, now, at);
            else if (k < limit + at.warp_row + WARP_ROWS)
                td_product_below<ROWS, D>(O, P, k, now, at, limit);
            __syncthreads();
            td_swap(&now, &then);
        }
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
    bool vector = td_fits_vectors(&x->Q) && td_fits_vectors(&x->K) && td_fits_vectors(&x->V);
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

extern "C" const td_variant TD_GPU(attention_forward_online_registers_f32) = {
    .name = TD_GPU_NAME("online_registers_f32"),
    .op = TD_OP_ATTENTION_FORWARD,
    .backend = TD_GPU_BACKEND,
    .dtype = TD_F32,
    .rounding = {TD_F32, TD_F32, TD_F32, TD_EXP2_ULP},
    .idea = "both products in registers, 8 x 8 a thread; 16-byte loads; K and V on their way ahead",
    .limits = "scores beyond 3.4e38 overflow",
    .mistake = NULL,
    .workspace_tag = TD_MEM_WORKSPACE,
    .supports = supports,
    .workspace_bytes = td_no_workspace,
    .run = run,
    .flops = td_attention_forward_flops,
    .bytes = td_attention_forward_bytes_f32,
};
