/* A block's share of attention on the matrix units: S (ROWS,KEYS) = Q Kᵀ and O (ROWS,D) += P V, all four operands in
 * shared memory, S and O in registers, in mma.h's fragments of C.
 *
 * The warps lie DOWN × ACROSS over S and over O alike: a warp has ROWS / DOWN rows, and of these KEYS / ACROSS columns
 * of S and D / ACROSS of O. The more of both, the more products each fragment it loads serves. */
#ifndef TANDEM_GPU_MMA_TILE_H
#define TANDEM_GPU_MMA_TILE_H

#include "../mma.h"
#include "attention_forward.h"

/* D is d rounded up, BLOCKS how many of them a multiprocessor is to hold. */
template <int ROWS_, int KEYS_, int D_, int DOWN_, int ACROSS_, int BLOCKS_, bool SWIZZLED_> struct td_mma_tile {
    static constexpr int ROWS = ROWS_, KEYS = KEYS_, D = D_, DOWN = DOWN_, ACROSS = ACROSS_, BLOCKS = BLOCKS_;
    static constexpr bool SWIZZLED = SWIZZLED_;
    static constexpr int THREADS = 32 * DOWN * ACROSS;
    /* fragments of a warp: 16 rows each, 8 columns each */
    static constexpr int DOWNWARD = ROWS / DOWN / 16, S_WIDE = KEYS / ACROSS / 8, O_WIDE = D / ACROSS / 8;
};

/* Where a warp's part of S and O begins, and in it the first element of this lane. */
struct td_lane {
    int row, key, column, across;
    int g, p;
};

template <typename tile> static __device__ __forceinline__ td_lane td_lane_of(void) {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, across = warp % tile::ACROSS;
    return {warp / tile::ACROSS * (tile::ROWS / tile::DOWN),
            across * (tile::KEYS / tile::ACROSS),
            across * (tile::D / tile::ACROSS),
            across,
            lane / 4,
            lane % 4 * 2};
}

/* Element (row, column) of a tile of Q, K or V. ldmatrix reads 16 bytes of 8 rows at once; a row is a multiple of
 * 128 bytes, all banks, so that all 8 lie in the same 4 banks. SWIZZLED: the pieces of 16 bytes of row r change places,
 * piece k to k ^ (r mod 8): now they lie in 32 banks. */
template <typename tile> static __device__ __forceinline__ int td_at(int row, int column) {
    return row * tile::D + (tile::SWIZZLED ? column / 64 * 64 + (column % 64 ^ row % 8 * 8) : column);
}

/* Whether every row of a tensor of 16-bit elements may be read in pieces of 16 bytes, and its rows counted in 32 bits.
 */
static inline bool td_fits_eights(const td_tensor *t) {
    return t->stride[3] == 1 && t->size[3] % 8 == 0 && t->stride[0] % 8 == 0 && t->stride[1] % 8 == 0 &&
           t->stride[2] % 8 == 0 && (uintptr_t)t->data % 16 == 0 && t->stride[2] == (int)t->stride[2];
}

/* Rows first … first + LENGTH − 1 of a head to shared memory; zeros beyond d and from row `end` on. EIGHTS: see
 * td_fits_eights. */
template <typename tile, int LENGTH, typename T>
static __device__ __forceinline__ void td_load_tile(T *to, const T *head, const td_tensor &t, int first, int end, int d,
                                                    bool eights) {
    if (eights) {
        constexpr int STEP = tile::THREADS * 8 / tile::D;
        int r = threadIdx.x / (tile::D / 8), c = threadIdx.x % (tile::D / 8) * 8, there = c < d ? end - first : 0;
        const T *from = head + (int64_t)(first + r) * (int)t.stride[2] + c;
#pragma unroll
        for (int n = 0; n < LENGTH / STEP; n++, r += STEP, from += STEP * (int64_t)(int)t.stride[2]) {
            float4 x = {0, 0, 0, 0};
            if (r < there) x = td_load4((const float *)from);
            td_store4((float *)(to + td_at<tile>(r, c)), x);
        }
    } else {
#pragma unroll 1
        for (int e = threadIdx.x; e < LENGTH * tile::D; e += tile::THREADS) {
            int r = e / tile::D, c = e % tile::D;
            bool there = first + r < end && c < d;
            to[td_at<tile>(r, c)] = there ? head[(first + r) * t.stride[2] + c * t.stride[3]] : T{0};
        }
    }
}

/* The same, started and not awaited; it must fit eights. */
template <typename tile, int LENGTH, typename T>
static __device__ __forceinline__ void td_copy_tile(T *to, const T *head, const td_tensor &t, int first, int end,
                                                    int d) {
    constexpr int STEP = tile::THREADS * 8 / tile::D;
    int r = threadIdx.x / (tile::D / 8), c = threadIdx.x % (tile::D / 8) * 8, there = c < d ? end - first : 0;
    const T *from = head + (int64_t)(first + r) * (int)t.stride[2] + c;
#pragma unroll
    for (int n = 0; n < LENGTH / STEP; n++, r += STEP, from += STEP * (int64_t)(int)t.stride[2])
        td_copy16_async(to + td_at<tile>(r, c), from, r < there);
}

/* This lane's 16 bytes for ldmatrix of the (16,16) elements from (row, column) on, both multiples of 16. Its matrices
 * are their quarters, in the order in which A takes Q's, and B two times two of V's: down, then across. B takes K's, as
 * K lies by columns, across, then down. */
template <typename tile, typename T>
static __device__ __forceinline__ const T *td_down(const T *from, int row, int column) {
    int lane = threadIdx.x % 32, own = td_at<tile>(lane % 16, lane / 16 * 8);
    return from + row * tile::D + column / 64 * 64 + (own ^ column % 64);
}
template <typename tile, typename T>
static __device__ __forceinline__ const T *td_across(const T *from, int row, int column) {
    int lane = threadIdx.x % 32, own = td_at<tile>(lane % 8 + lane / 16 * 8, lane / 8 % 2 * 8);
    return from + row * tile::D + column / 64 * 64 + (own ^ column % 64);
}

/* S += Q Kᵀ, 16 of d at a time. */
template <typename tile, typename T>
static __device__ __forceinline__ void td_add_qk(float (&S)[tile::DOWNWARD][tile::S_WIDE][4], const T *Q, const T *K,
                                                 td_lane at) {
#pragma unroll
    for (int k = 0; k < tile::D; k += 16) {
        uint32_t a[tile::DOWNWARD][4], r[4];
#pragma unroll
        for (int i = 0; i < tile::DOWNWARD; i++) td_ldmatrix4(a[i], td_down<tile>(Q, at.row + 16 * i, k));
#pragma unroll
        for (int j = 0; j < tile::S_WIDE; j += 2) {
            td_ldmatrix4(r, td_across<tile>(K, at.key + 8 * j, k));
            uint32_t left[2] = {r[0], r[1]}, right[2] = {r[2], r[3]};
#pragma unroll
            for (int i = 0; i < tile::DOWNWARD; i++)
                td_mma<T>(S[i][j], a[i], left), td_mma<T>(S[i][j + 1], a[i], right);
        }
    }
}

/* O += P V for the 16 keys from k on; a: these columns of P. */
template <typename tile, typename T>
static __device__ __forceinline__ void td_add_pv(float (&O)[tile::DOWNWARD][tile::O_WIDE][4],
                                                 const uint32_t (&a)[tile::DOWNWARD][4], const T *V, int k,
                                                 td_lane at) {
#pragma unroll
    for (int j = 0; j < tile::O_WIDE; j += 2) {
        uint32_t r[4];
        td_ldmatrix4_transposed(r, td_down<tile>(V, k, at.column + 8 * j));
        uint32_t left[2] = {r[0], r[1]}, right[2] = {r[2], r[3]};
#pragma unroll
        for (int i = 0; i < tile::DOWNWARD; i++) td_mma<T>(O[i][j], a[i], left), td_mma<T>(O[i][j + 1], a[i], right);
    }
}

template <typename tile>
static __device__ __forceinline__ void td_scale(float (&S)[tile::DOWNWARD][tile::S_WIDE][4], float scale) {
#pragma unroll
    for (int i = 0; i < tile::DOWNWARD; i++)
#pragma unroll
        for (int j = 0; j < tile::S_WIDE; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) S[i][j][e] *= scale;
}

/* Scores that the mask forbids, or beyond the last key, become −∞: row r has the first limit + r of `keys`. */
template <typename tile>
static __device__ __forceinline__ void td_mask_scores(float (&S)[tile::DOWNWARD][tile::S_WIDE][4], td_lane at, int keys,
                                                      int limit) {
#pragma unroll
    for (int i = 0; i < tile::DOWNWARD; i++)
#pragma unroll
        for (int e = 0; e < 4; e++) {
            int allowed = min(keys, limit + at.row + 16 * i + at.g + e / 2 * 8) - at.key - at.p - e % 2;
#pragma unroll
            for (int j = 0; j < tile::S_WIDE; j++)
                if (8 * j >= allowed) S[i][j][e] = -INFINITY;
        }
}

/* Over the 4 lanes that share rows. */
static __device__ __forceinline__ float td_max_of_quad(float x) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
    return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}
static __device__ __forceinline__ float td_sum_of_quad(float x) {
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

/* The largest score of each of this lane's rows, in the warp's columns; NaN loses, and comes back through l. */
template <typename tile>
static __device__ __forceinline__ void td_row_max(float (&most)[tile::DOWNWARD][2],
                                                  const float (&S)[tile::DOWNWARD][tile::S_WIDE][4]) {
#pragma unroll
    for (int i = 0; i < tile::DOWNWARD; i++)
#pragma unroll
        for (int r = 0; r < 2; r++) {
            float x = fmaxf(S[i][0][2 * r], S[i][0][2 * r + 1]);
#pragma unroll
            for (int j = 1; j < tile::S_WIDE; j++) x = fmaxf(x, fmaxf(S[i][j][2 * r], S[i][j][2 * r + 1]));
            most[i][r] = td_max_of_quad(x);
        }
}

/* One number a row: of all warps that share the row they meet in shared memory, `room` (ACROSS,ROWS), and become their
 * maximum, or their sum. */
template <typename tile, bool SUM>
static __device__ __forceinline__ void td_meet(float (&x)[tile::DOWNWARD][2], float *room, td_lane at) {
    float *own = room + at.row + at.g;
#pragma unroll
    for (int i = 0; i < tile::DOWNWARD; i++)
#pragma unroll
        for (int r = 0; r < 2; r++)
            if (at.p == 0) own[at.across * tile::ROWS + 16 * i + 8 * r] = x[i][r];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < tile::DOWNWARD; i++)
#pragma unroll
        for (int r = 0; r < 2; r++) {
            x[i][r] = own[16 * i + 8 * r];
#pragma unroll
            for (int w = 1; w < tile::ACROSS; w++) {
                float other = own[w * tile::ROWS + 16 * i + 8 * r];
                x[i][r] = SUM ? x[i][r] + other : fmaxf(x[i][r], other);
            }
        }
}

/* From S to P in place; m and l (of this lane's keys) follow the new maximum, and alpha is what O is to be multiplied
 * by for that. */
template <typename tile>
static __device__ __forceinline__ void
td_softmax(float (&S)[tile::DOWNWARD][tile::S_WIDE][4], float (&m)[tile::DOWNWARD][2], float (&l)[tile::DOWNWARD][2],
           float (&alpha)[tile::DOWNWARD][2], const float (&most)[tile::DOWNWARD][2]) {
#pragma unroll
    for (int i = 0; i < tile::DOWNWARD; i++)
#pragma unroll
        for (int r = 0; r < 2; r++) {
            float m_new = fmaxf(m[i][r], most[i][r]), shift = td_shift(m_new);
            alpha[i][r] = td_exp2(m[i][r] - shift);
            m[i][r] = m_new, l[i][r] *= alpha[i][r];
#pragma unroll
            for (int j = 0; j < tile::S_WIDE; j++)
#pragma unroll
                for (int e = 2 * r; e < 2 * r + 2; e++) l[i][r] += S[i][j][e] = td_exp2(S[i][j][e] - shift);
        }
}

template <typename tile>
static __device__ __forceinline__ void td_rescale(float (&O)[tile::DOWNWARD][tile::O_WIDE][4],
                                                  const float (&alpha)[tile::DOWNWARD][2]) {
#pragma unroll
    for (int i = 0; i < tile::DOWNWARD; i++)
#pragma unroll
        for (int j = 0; j < tile::O_WIDE; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) O[i][j][e] *= alpha[i][e / 2];
}

/* A (16,16) of P from two neighbouring C of S. */
template <typename T>
static __device__ __forceinline__ void td_pack_a(uint32_t (&a)[4], const float (&left)[4], const float (&right)[4]) {
    a[0] = td_pack<T>(left[0], left[1]), a[1] = td_pack<T>(left[2], left[3]);
    a[2] = td_pack<T>(right[0], right[1]), a[3] = td_pack<T>(right[2], right[3]);
}

/* Of this lane, in the fragment of P at (row, k). */
template <typename tile> static __device__ __forceinline__ int td_fragment(int row, int k) {
    return (row / 16 * (tile::KEYS / 16) + k / 16) * 256 + threadIdx.x % 32 * 8;
}

/* P, rounded, to shared memory, where it is the left operand of all warps that share its rows. A's fragment is what two
 * neighbouring C leave with each lane: fragment by fragment, 16 bytes a lane, P needs no ldmatrix to come back. */
template <typename tile, typename T>
static __device__ __forceinline__ void td_put_p(T *P, const float (&S)[tile::DOWNWARD][tile::S_WIDE][4], td_lane at) {
#pragma unroll
    for (int i = 0; i < tile::DOWNWARD; i++)
#pragma unroll
        for (int j = 0; j < tile::S_WIDE; j += 2) {
            uint32_t a[4];
            float4 bits;
            td_pack_a<T>(a, S[i][j], S[i][j + 1]);
            memcpy(&bits, a, sizeof bits);
            td_store4((float *)(P + td_fragment<tile>(at.row + 16 * i, at.key + 8 * j)), bits);
        }
}
template <typename tile, typename T>
static __device__ __forceinline__ void td_load_p(uint32_t (&a)[4], const T *P, int row, int k) {
    float4 bits = td_load4((const float *)(P + td_fragment<tile>(row, k)));
    memcpy(a, &bits, sizeof bits);
}

/* O and LSE of the block's queries, from row `begin` over (B, Hq, Tq) on: where that is comes from this one number, so
 * that a rung need not keep more until its end. m and l are those of whole rows. EIGHTS: O is of T and
 * fits them; otherwise it goes through `room` (ROWS,D), so that the many ways to write an element stand here once. */
template <typename tile, typename T>
static __device__ __forceinline__ void
td_write(const td_forward &x, int64_t begin, const float (&O)[tile::DOWNWARD][tile::O_WIDE][4],
         const float (&m)[tile::DOWNWARD][2], const float (&l)[tile::DOWNWARD][2], td_lane at, float *room,
         bool eights) {
    td_query query = td_query_of(x.a, begin);
    int64_t b = query.b, h = query.h, first = query.i;
    int d = (int)x.a.d, rows = (int)(x.a.Tq - first < tile::ROWS ? x.a.Tq - first : tile::ROWS);
    if (!eights) __syncthreads(); /* nobody reads what lies there any more */
#pragma unroll
    for (int i = 0; i < tile::DOWNWARD; i++)
#pragma unroll
        for (int r = 0; r < 2; r++) {
            int row = at.row + 16 * i + 8 * r + at.g;
            int64_t keys = td_allowed_keys(x.a.mask, first + row, x.a.Tq, x.a.Tk);
            if (x.LSE.data && at.across == 0 && at.p == 0 && row < rows)
                td_set(&x.LSE, b, h, first + row, 0, td_lse(keys, m[i][r], l[i][r]));
            float share = 1 / l[i][r];
            T *to = (T *)x.O.data + td_offset(&x.O, b, h, first + row, 0);
#pragma unroll
            for (int j = 0; j < tile::O_WIDE; j++) {
                int c = at.column + 8 * j + at.p;
                float low = keys == 0 ? 0 : O[i][j][2 * r] * share, high = keys == 0 ? 0 : O[i][j][2 * r + 1] * share;
                if (!eights)
                    room[row * tile::D + c] = low, room[row * tile::D + c + 1] = high;
                else if (c < d && row < rows)
                    *(uint32_t *)(to + c) = td_pack<T>(low, high);
            }
        }
    if (eights || !x.O.data) return;
    __syncthreads();
#pragma unroll 1
    for (int e = threadIdx.x; e < rows * tile::D; e += tile::THREADS)
        if (e % tile::D < d) td_set(&x.O, b, h, first + e / tile::D, e % tile::D, room[e]);
}

/* Query i may read i + 1 + this many keys, as far as there are any. */
static inline int64_t td_diagonal(const td_attention_problem *a) {
    return a->mask == TD_MASK_NONE ? a->Tk : a->mask == TD_MASK_CAUSAL_TOP_LEFT ? 0 : a->Tk - a->Tq;
}

/* What a rung with demands of its own does where they are not met: rung 6 takes everything. */
template <typename T>
static td_status td_run_mma(const td_problem *problem, const td_tensor *tensors, void *stream, td_error *err) {
    const td_variant *mma =
        tensors[TD_Q].dtype == TD_BF16 ? &TD_GPU(attention_forward_mma_bf16) : &TD_GPU(attention_forward_mma_fp16);
    return mma->run(problem, tensors, NULL, stream, err);
}

#endif
