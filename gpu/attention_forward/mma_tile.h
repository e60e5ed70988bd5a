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

/* Element (row, column) of a tile of WIDTH columns. ldmatrix reads 16 bytes of 8 rows at once; a row is a multiple of
 * 128 bytes, all banks, so that all 8 lie in the same 4 banks. SWIZZLED: the pieces of 16 bytes of row r change places,
 * piece k to k ^ (r mod 8): now they lie in 32 banks. */
template <int WIDTH, bool SWIZZLED> static __device__ __forceinline__ int td_at(int row, int column) {
    return row * WIDTH + (SWIZZLED ? column / 64 * 64 + (column % 64 ^ row % 8 * 8) : column);
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
static __device__ __forceinline__ void td_load_tile(T *to, const td_tensor &t, int64_t b, int64_t h, int64_t first,
                                                    int64_t end, int d, bool eights) {
    const T *head = td_row<T>(t, b, h, first);
    int rows = (int)(end - first < LENGTH ? end - first : LENGTH);
    if (eights) {
        constexpr int STEP = tile::THREADS * 8 / tile::D;
        int r = threadIdx.x / (tile::D / 8), c = threadIdx.x % (tile::D / 8) * 8, there = c < d ? rows : 0;
        const T *from = head + (int64_t)r * (int)t.stride[2] + c;
#pragma unroll
        for (int n = 0; n < LENGTH / STEP; n++, r += STEP, from += STEP * (int64_t)(int)t.stride[2]) {
            float4 x = {0, 0, 0, 0};
            if (r < there) x = td_load4((const float *)from);
            td_store4((float *)(to + td_at<tile::D, tile::SWIZZLED>(r, c)), x);
        }
    } else {
#pragma unroll 1
        for (int e = threadIdx.x; e < LENGTH * tile::D; e += tile::THREADS) {
            int r = e / tile::D, c = e % tile::D;
            bool there = r < rows && c < d;
            to[td_at<tile::D, tile::SWIZZLED>(r, c)] = there ? head[r * t.stride[2] + c * t.stride[3]] : T{0};
        }
    }
}

/* The same, started and not awaited; EIGHTS is a must. */
template <typename tile, int LENGTH, typename T>
static __device__ __forceinline__ void td_copy_tile(T *to, const td_tensor &t, int64_t b, int64_t h, int64_t first,
                                                    int64_t end, int d) {
    constexpr int STEP = tile::THREADS * 8 / tile::D;
    int r = threadIdx.x / (tile::D / 8), c = threadIdx.x % (tile::D / 8) * 8;
    int there = c < d ? (int)(end - first < LENGTH ? end - first : LENGTH) : 0;
    const T *from = td_row<T>(t, b, h, first) + (int64_t)r * (int)t.stride[2] + c;
#pragma unroll
    for (int n = 0; n < LENGTH / STEP; n++, r += STEP, from += STEP * (int64_t)(int)t.stride[2])
        td_copy16_async(to + td_at<tile::D, tile::SWIZZLED>(r, c), from, r < there);
}

/* A (16,16) at (row, k) of Q or P. */
template <int WIDTH, bool SWIZZLED, typename T>
static __device__ __forceinline__ void td_load_a(uint32_t (&a)[4], const T *tile, int row, int k) {
    int lane = threadIdx.x % 32;
    td_ldmatrix4(a, tile + td_at<WIDTH, SWIZZLED>(row + lane % 16, k + lane / 16 * 8));
}

/* B (16,16) at (k, column) of Kᵀ, which lies by columns, and of V, which lies by rows: left and right half. */
template <int WIDTH, bool SWIZZLED, typename T>
static __device__ __forceinline__ void td_load_k(uint32_t (&left)[2], uint32_t (&right)[2], const T *K, int k,
                                                 int column) {
    int lane = threadIdx.x % 32;
    uint32_t r[4];
    td_ldmatrix4(r, K + td_at<WIDTH, SWIZZLED>(column + lane % 8 + lane / 16 * 8, k + lane / 8 % 2 * 8));
    left[0] = r[0], left[1] = r[1], right[0] = r[2], right[1] = r[3];
}
template <int WIDTH, bool SWIZZLED, typename T>
static __device__ __forceinline__ void td_load_v(uint32_t (&left)[2], uint32_t (&right)[2], const T *V, int k,
                                                 int column) {
    int lane = threadIdx.x % 32;
    uint32_t r[4];
    td_ldmatrix4_transposed(r, V + td_at<WIDTH, SWIZZLED>(k + lane % 16, column + lane / 16 * 8));
    left[0] = r[0], left[1] = r[1], right[0] = r[2], right[1] = r[3];
}

/* S += Q Kᵀ, 16 of d at a time. */
template <typename tile, typename T>
static __device__ __forceinline__ void td_add_qk(float (&S)[tile::DOWNWARD][tile::S_WIDE][4], const T *Q, const T *K,
                                                 td_lane at) {
#pragma unroll 2
    for (int k = 0; k < tile::D; k += 16) {
        uint32_t a[tile::DOWNWARD][4], left[2], right[2];
#pragma unroll
        for (int i = 0; i < tile::DOWNWARD; i++) td_load_a<tile::D, tile::SWIZZLED>(a[i], Q, at.row + 16 * i, k);
#pragma unroll
        for (int j = 0; j < tile::S_WIDE; j += 2) {
            td_load_k<tile::D, tile::SWIZZLED>(left, right, K, k, at.key + 8 * j);
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
        uint32_t left[2], right[2];
        td_load_v<tile::D, tile::SWIZZLED>(left, right, V, k, at.column + 8 * j);
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

/* From S to P in place; m, l (of this lane's keys) and O follow the new maximum. */
template <typename tile>
static __device__ __forceinline__ void
td_softmax(float (&S)[tile::DOWNWARD][tile::S_WIDE][4], float (&O)[tile::DOWNWARD][tile::O_WIDE][4],
           float (&m)[tile::DOWNWARD][2], float (&l)[tile::DOWNWARD][2], const float (&most)[tile::DOWNWARD][2]) {
#pragma unroll
    for (int i = 0; i < tile::DOWNWARD; i++)
#pragma unroll
        for (int r = 0; r < 2; r++) {
            float m_new = fmaxf(m[i][r], most[i][r]), shift = td_shift(m_new), alpha = td_exp2(m[i][r] - shift);
            float sum = 0;
#pragma unroll
            for (int j = 0; j < tile::S_WIDE; j++)
#pragma unroll
                for (int e = 2 * r; e < 2 * r + 2; e++) sum += S[i][j][e] = td_exp2(S[i][j][e] - shift);
            l[i][r] = alpha * l[i][r] + sum;
            m[i][r] = m_new;
#pragma unroll
            for (int j = 0; j < tile::O_WIDE; j++) O[i][j][2 * r] *= alpha, O[i][j][2 * r + 1] *= alpha;
        }
}

/* P, rounded, to shared memory: it is the left operand of all warps that share its rows. */
template <typename tile, typename T>
static __device__ __forceinline__ void td_put_p(T *P, const float (&S)[tile::DOWNWARD][tile::S_WIDE][4], td_lane at) {
#pragma unroll
    for (int i = 0; i < tile::DOWNWARD; i++)
#pragma unroll
        for (int r = 0; r < 2; r++)
#pragma unroll
            for (int j = 0; j < tile::S_WIDE; j++) {
                int place = td_at<tile::KEYS, tile::SWIZZLED>(at.row + 16 * i + 8 * r + at.g, at.key + 8 * j + at.p);
                *(uint32_t *)(P + place) = td_pack<T>(S[i][j][2 * r], S[i][j][2 * r + 1]);
            }
}

/* O and LSE of the block's queries, the first of them `first`; m and l are those of whole rows. EIGHTS: O is of T and
 * fits them; otherwise it goes through `room` (ROWS,D), so that the many ways to write an element stand here once. */
template <typename tile, typename T>
static __device__ __forceinline__ void
td_write(const td_forward &x, int64_t b, int64_t h, int64_t first, const float (&O)[tile::DOWNWARD][tile::O_WIDE][4],
         const float (&m)[tile::DOWNWARD][2], const float (&l)[tile::DOWNWARD][2], td_lane at, float *room,
         bool eights) {
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

/* What a rung with demands of its own does where they are not met: rung 6 takes everything. */
template <typename T>
static td_status td_run_mma(const td_problem *problem, const td_tensor *tensors, void *stream, td_error *err) {
    const td_variant *mma =
        tensors[TD_Q].dtype == TD_BF16 ? &TD_GPU(attention_forward_mma_bf16) : &TD_GPU(attention_forward_mma_fp16);
    return mma->run(problem, tensors, NULL, stream, err);
}

#endif
