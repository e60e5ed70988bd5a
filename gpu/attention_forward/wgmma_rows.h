/* What the rungs on Hopper's instructions share: how tiles of Q, K and V come and lie, and the online softmax on a
 * warpgroup's fragment of 64 rows.
 *
 * A tile of rows lies in shared memory as columns of 64 elements, one box of the tensor memory accelerator each,
 * swizzled (hopper/wgmma.h). Rows and columns beyond the tensor come as zeros: that pads any d to 64, 128 or 256. The
 * boxes of K and V end at the last key that any query may read, so that what lies beyond never gets here.
 *
 * A thread of a warpgroup holds parts of two rows, 8 apart: element e of a fragment (hopper/wgmma.h) is of row e / 2
 * mod 2, in column 8 (e / 4) + e mod 2 from its own first one. Four lanes share a row. */
#ifndef TANDEM_GPU_WGMMA_ROWS_H
#define TANDEM_GPU_WGMMA_ROWS_H

#include "attention_forward.h"
#include "hopper.h"
#include "mma.h"

enum {
    WARPGROUP = 128,
    WARPGROUP_ROWS = 64,
    WARP_ROWS = 16,
    BOX_COLUMNS = 64,
    BOX_ROW_BYTES = 128,
    TILE_ALIGNMENT = 1024
};

/* What a kernel is given. Scores are first multiplied by `turn`, 1, −1 or 0, and then by a scale above 0, so that the
 * largest score stays the largest. */
struct td_forward_boxes {
    CUtensorMap Q, K, V, O;
    td_forward x;
    float turn;
    bool box_out; /* boxes of a warp's rows can write O, which is of the inputs' dtype */
};

/* Host. Whether boxes can fetch Q, K and V, and there is anything to fetch. */
static inline bool td_boxes_fit(const td_forward *x) {
    const int64_t most = INT32_MAX - 512; /* rows and keys are counted in 32 bits, by tiles, and so are tiles */
    int64_t tiles = x->a.B * x->a.Hq * ((x->a.Tq + WARPGROUP_ROWS - 1) / WARPGROUP_ROWS);
    return td_tensor_map_fits(&x->Q) && td_tensor_map_fits(&x->K) && td_tensor_map_fits(&x->V) && x->a.B > 0 &&
           x->a.Hq > 0 && x->a.Tq > 0 && x->a.Tq <= most && x->a.Tk <= most && tiles <= INT32_MAX / 2 &&
           td_allowed_keys(x->a.mask, x->a.Tq - 1, x->a.Tq, x->a.Tk) > 0;
}

/* Host. Boxes of `rows` queries and `keys` keys. */
static inline td_status td_forward_boxes_of(td_forward_boxes *boxes, const td_forward *x, int rows, int keys,
                                            td_error *err) {
    int64_t read = td_allowed_keys(x->a.mask, x->a.Tq - 1, x->a.Tq, x->a.Tk);
    boxes->x = *x;
    boxes->turn = x->scale > 0 ? 1 : x->scale < 0 ? -1 : 0;
    boxes->x.scale = x->scale == 0 ? 1 : fabsf(x->scale);
    boxes->box_out = x->O.data && x->O.dtype == x->Q.dtype && td_tensor_map_fits(&x->O);
    td_status s = td_tensor_map(&boxes->Q, &x->Q, 0, x->a.Tq, rows, BOX_COLUMNS, true, err);
    if (!s && boxes->box_out) s = td_tensor_map(&boxes->O, &x->O, 0, x->a.Tq, WARP_ROWS, BOX_COLUMNS, true, err);
    if (!s) s = td_tensor_map(&boxes->K, &x->K, 0, read, keys, BOX_COLUMNS, true, err);
    return s ? s : td_tensor_map(&boxes->V, &x->V, 0, read, keys, BOX_COLUMNS, true, err);
}

/* Host. A block for every plan::ROWS queries, and tiles of plan::KEYS keys. */
template <typename plan>
static inline td_status td_launch_boxes(const char *name, void (*kernel)(td_forward_boxes), const td_forward *x,
                                        void *stream, td_error *err) {
    dim3 grid((unsigned)(x->a.B * x->a.Hq * ((x->a.Tq + plan::ROWS - 1) / plan::ROWS)));
    td_forward_boxes boxes;
    td_status s = td_forward_boxes_of(&boxes, x, plan::ROWS, plan::KEYS, err);
    return s ? s : td_launch(err, name, kernel, grid, plan::THREADS, plan::BYTES, stream, boxes);
}

/* Host. What takes the tensors that boxes cannot fetch. */
template <typename T> static inline const td_variant *td_lower_rung(void);
template <> inline const td_variant *td_lower_rung<td_bf16>(void) {
    return &TD_GPU(attention_forward_mma_bf16);
}
template <> inline const td_variant *td_lower_rung<td_fp16>(void) {
    return &TD_GPU(attention_forward_mma_fp16);
}
#define TD_LIMIT_BOXES                                                                                                 \
    "; needs Hopper (sm_90a); tensors whose rows do not begin at multiples of 16 bytes go to mma; d is padded to 64, " \
    "128 or 256 with zeros"

/* A block's queries, `first` and on, of one head; they read keys 0 … end − 1. A causal mask leaves the last rows most
 * keys: of a head, they start first. */
struct td_block_rows {
    int b, h, kv, first, end;
};

template <int ROWS> static __device__ __forceinline__ td_block_rows td_block_rows_of(const td_attention_problem &a) {
    int tiles = ((int)a.Tq + ROWS - 1) / ROWS, head = blockIdx.x / tiles, h = head % (int)a.Hq;
    int first = (tiles - 1 - blockIdx.x % tiles) * ROWS, last = min(first + ROWS, (int)a.Tq) - 1;
    return {head / (int)a.Hq, h, h / ((int)a.Hq / (int)a.Hkv), first, (int)td_allowed_keys(a.mask, last, a.Tq, a.Tk)};
}

/* A thread's two rows, `row` and the one 8 below: how many keys each may read, and how many all of the warpgroup's may,
 * of which `first` is the first. */
struct td_thread_rows {
    int row, keys[2], least;
};

static __device__ __forceinline__ td_thread_rows td_thread_rows_of(const td_attention_problem &a, int first) {
    int thread = threadIdx.x % WARPGROUP, row = first + thread / 32 * 16 + thread % 32 / 4;
    return {row,
            {(int)td_allowed_keys(a.mask, row, a.Tq, a.Tk), (int)td_allowed_keys(a.mask, row + 8, a.Tq, a.Tk)},
            (int)td_allowed_keys(a.mask, first, a.Tq, a.Tk)};
}

/* The first multiple of 1024 in the block's dynamic shared memory. */
static __device__ __forceinline__ unsigned char *td_tiles(unsigned char *shared) {
    return shared + (TILE_ALIGNMENT - td_shared_address(shared) % TILE_ALIGNMENT) % TILE_ALIGNMENT;
}

/* One thread asks for a tile of ROWS rows, D wide. `full` ends its phase when all has landed. */
template <int ROWS, int D>
static __device__ __forceinline__ void td_fetch(unsigned char *tile, const CUtensorMap *map, uint64_t *full, int b,
                                                int h, int i) {
    td_mbarrier_expect(full, ROWS * D * 2);
#pragma unroll
    for (int c = 0; c < D; c += BOX_COLUMNS) td_tma_load(tile + c * ROWS * 2, map, full, b, h, i, c);
}

/* S = Q Kᵀ of a warpgroup's 64 rows and KEYS keys: `q` its first row in a tile of ROWS. Their descriptors, or where
 * they are. */
template <typename T, int ROWS, int KEYS, int D>
static __device__ __forceinline__ void td_scores(float (&S)[KEYS / 2], uint64_t q, uint64_t k) {
#pragma unroll
    for (int c = 0; c < D; c += 16) {
        int column = c / BOX_COLUMNS * BOX_ROW_BYTES, within = c % BOX_COLUMNS * 2;
        td_wgmma<T, 0, 0>(S, td_descriptor_at(q, column * ROWS + within), td_descriptor_at(k, column * KEYS + within),
                          c > 0);
    }
}
template <typename T, int ROWS, int KEYS, int D>
static __device__ __forceinline__ void td_scores(float (&S)[KEYS / 2], const unsigned char *q, const unsigned char *k) {
    td_scores<T, ROWS, KEYS, D>(S, td_descriptor_by_rows(q), td_descriptor_by_rows(k));
}

/* O += P V. */
template <typename T, int KEYS, int D>
static __device__ __forceinline__ void td_weighted_sum(float (&O)[D / 2], const uint32_t (&P)[KEYS / 16][4],
                                                       uint64_t v) {
#pragma unroll
    for (int n = 0; n < KEYS / 16; n++) td_wgmma<T, 1>(O, P[n], td_descriptor_at(v, n * 16 * BOX_ROW_BYTES), 1);
}
template <typename T, int KEYS, int D>
static __device__ __forceinline__ void td_weighted_sum(float (&O)[D / 2], const uint32_t (&P)[KEYS / 16][4],
                                                       const unsigned char *v) {
    td_weighted_sum<T, KEYS, D>(O, P, td_descriptor_by_columns(v, KEYS * BOX_ROW_BYTES));
}

/* Scores of columns from limit[i] on become −∞ in row i; `limit` counts from the thread's own first column. */
template <int N> static __device__ __forceinline__ void td_mask_scores(float (&S)[N], const int (&limit)[2]) {
#pragma unroll
    for (int e = 0; e < N; e++)
        if (8 * (e / 4) + e % 2 >= limit[e / 2 % 2]) S[e] = -INFINITY;
}

/* The same where a tile of 2 N keys, from `begin` on, needs it. */
template <int N>
static __device__ __forceinline__ void td_mask_tile(float (&S)[N], const td_thread_rows &mine, int begin) {
    if (begin + 2 * N <= mine.least) return;
    int first = begin + threadIdx.x % 4 * 2, limit[2] = {mine.keys[0] - first, mine.keys[1] - first};
    td_mask_scores(S, limit);
}

template <int N> static __device__ __forceinline__ void td_turn(float (&S)[N], float turn) {
    if (turn == 1) return;
#pragma unroll
    for (int e = 0; e < N; e++) S[e] *= turn;
}

/* From S to unrounded P in place; m, of scaled scores, and l, of this thread's columns, follow. What was summed with
 * the old m is to be multiplied by alpha. */
template <int N>
static __device__ __forceinline__ void td_softmax(float (&S)[N], float (&m)[2], float (&l)[2], float (&alpha)[2],
                                                  float scale) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
        float most = S[2 * i], sum = 0; /* NaN loses, and comes back through l */
#pragma unroll
        for (int e = 2 * i; e < N; e += 4) most = fmaxf(most, fmaxf(S[e], S[e + 1]));
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
        float m_new = fmaxf(m[i], most * scale), shift = td_shift(m_new);
        alpha[i] = td_exp2(m[i] - shift);
#pragma unroll
        for (int e = 2 * i; e < N; e += 4) {
            S[e] = td_exp2(fmaf(S[e], scale, -shift));
            S[e + 1] = td_exp2(fmaf(S[e + 1], scale, -shift));
            sum += S[e] + S[e + 1];
        }
        l[i] = alpha[i] * l[i] + sum;
        m[i] = m_new;
    }
}

/* P rounded, as the next product's left operand: it is the same thread's. */
template <typename T, int N> static __device__ __forceinline__ void td_round(uint32_t (&P)[N / 8][4], float (&S)[N]) {
#pragma unroll
    for (int e = 0; e < N; e += 2) P[e / 8][e / 2 % 4] = td_pack<T>(S[e], S[e + 1]);
}

template <int N> static __device__ __forceinline__ void td_rescale(float (&O)[N], const float (&alpha)[2]) {
#pragma unroll
    for (int e = 0; e < N; e++) O[e] *= alpha[e / 2 % 2];
}

/* The thread's two rows of O and LSE, `row` and the one 8 below. A warp lays its 16 rows of O, COLUMNS columns of 64 at
 * a time, into `tile`, of ROWS rows, swizzled as Q's, where nothing else is any more but what it has laid there before;
 * from there boxes take them. At the kernel's end lane 0 must wait until they have read it. */
template <typename T, int D, int ROWS, int COLUMNS>
static __device__ __forceinline__ void td_put_rows(const td_forward_boxes &boxes, td_block_rows at, int row,
                                                   const float (&O)[D / 2], const float (&m)[2], const float (&l)[2],
                                                   unsigned char *tile) {
    const td_forward &x = boxes.x;
    int lane = threadIdx.x % 32, first = row - at.first - lane / 4; /* of the warp's rows, in the tile */
    float sum[2], inverse[2];
    bool empty[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        sum[i] = l[i] + __shfl_xor_sync(0xffffffffu, l[i], 1);
        sum[i] += __shfl_xor_sync(0xffffffffu, sum[i], 2);
        inverse[i] = __fdividef(1, sum[i]);
        empty[i] = td_allowed_keys(x.a.mask, row + 8 * i, x.a.Tq, x.a.Tk) == 0;
    }
    int q = row + 8 * (lane % 4); /* two of four lanes have a row's LSE to write */
    if (x.LSE.data && lane % 4 < 2 && q < x.a.Tq) {
        bool upper = lane % 4 == 1, none = upper ? empty[1] : empty[0];
        td_set(&x.LSE, at.b, at.h, q, 0, td_lse(none ? 0 : 1, upper ? m[1] : m[0], upper ? sum[1] : sum[0]));
    }
    if (boxes.box_out) {
        uint32_t to = td_shared_address(tile) + (first + lane % 16) * BOX_ROW_BYTES + (lane / 16 ^ lane % 8) * 16;
#pragma unroll
        for (int c = 0; c < D; c += COLUMNS * BOX_COLUMNS) {
            if (lane == 0) td_bulk_wait_read<0>();
            __syncwarp();
#pragma unroll
            for (int k = 0; k < COLUMNS * 4; k++) {
                const float *o = O + c / 2 + 8 * k;
                uint32_t r[4];
#pragma unroll
                for (int e = 0; e < 4; e++)
                    r[e] = empty[e % 2] ? 0 : td_pack<T>(o[2 * e] * inverse[e % 2], o[2 * e + 1] * inverse[e % 2]);
                td_stmatrix4((to ^ k % 4 * 32) + k / 4 * ROWS * BOX_ROW_BYTES, r);
            }
            td_fence_async();
            __syncwarp();
            if (lane != 0) continue;
#pragma unroll
            for (int k = 0; k < COLUMNS; k++)
                td_tma_store(&boxes.O, tile + (k * ROWS + first) * BOX_ROW_BYTES, at.b, at.h, at.first + first,
                             c + k * BOX_COLUMNS);
            td_bulk_commit();
        }
    } else if (x.O.data) {
#pragma unroll
        for (int n = 0; n < D / 2; n += 16)
#pragma unroll 1 /* seldom taken: one store in the code, not sixteen */
            for (int e = 0; e < 16; e++) {
                int i = e / 2 % 2, c = (n + e) / 4 * 8 + lane % 4 * 2 + e % 2;
                float value = O[n];
#pragma unroll
                for (int k = 1; k < 16; k++) value = e == k ? O[n + k] : value;
                if (row + 8 * i < x.a.Tq && c < (int)x.a.d)
                    td_set(&x.O, at.b, at.h, row + 8 * i, c,
                           (i ? empty[1] : empty[0]) ? 0 : value * (i ? inverse[1] : inverse[0]));
            }
    }
}

#endif
