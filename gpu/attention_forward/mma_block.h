/* What rungs 6 to 9 have in common around their tiles: a block's queries, how its tensors are read and written, and its
 * output. */
#ifndef TANDEM_GPU_MMA_BLOCK_H
#define TANDEM_GPU_MMA_BLOCK_H

#include "mma_tile.h"
#include "vectors.h"

#define TD_LIMIT_PADDED "; d is padded to 64, 128 or 256 with zeros"
#define TD_LIMIT_EIGHTS TD_LIMIT_PADDED "; tensors whose rows do not begin at multiples of 16 bytes go to mma"

/* What the host knows of a problem before it launches: whether Q, K and V, and O in the dtype of Q, fit vectors of 8;
 * and query i may read i + 1 + diagonal keys, as far as there are any. */
struct td_mma_plan {
    bool eights_in, eights_out;
    int64_t diagonal;
};

static inline td_mma_plan td_mma_plan_of(const td_forward *x) {
    const td_attention_problem *a = &x->a;
    bool in = td_fits_vectors(&x->Q) && td_fits_vectors(&x->K) && td_fits_vectors(&x->V);
    bool out = x->O.data && x->O.dtype == x->Q.dtype && td_fits_vectors(&x->O);
    return {in, out, a->mask == TD_MASK_NONE ? a->Tk : a->mask == TD_MASK_CAUSAL_TOP_LEFT ? 0 : a->Tk - a->Tq};
}

/* Queries and keys are counted in 32 bits, and by tiles of up to 128. */
static inline td_status td_mma_supports(const td_problem *problem, td_error *why) {
    const td_attention_problem *a = &problem->attention;
    const int64_t most = INT32_MAX - 512;
    if (a->Tq > most || a->Tk > most)
        return td_fail(why, TD_UNSUPPORTED, "Tq = %lld, Tk = %lld: at most %lld", (long long)a->Tq, (long long)a->Tk,
                       (long long)most);
    return td_forward_no_block(problem, why);
}

/* A block for each ROWS queries of each head. */
template <typename tile> static dim3 td_mma_grid(const td_forward *x) {
    return dim3((unsigned)(x->a.B * x->a.Hq * ((x->a.Tq + tile::ROWS - 1) / tile::ROWS)));
}

/* A block's queries, from `first` on of head (b, h), whose keys are of head kv; `row` counts over (B, Hq, Tq). The
 * first of them may read `reach` keys, less than 0 being none, and the last `end`, which no other exceeds. */
struct td_queries {
    int b, h, kv, first, row, reach, end;
};

template <typename tile>
static __device__ __forceinline__ td_queries td_queries_of(const td_forward &x, const td_mma_plan &plan, int head,
                                                           int number) {
    int b = head / (int)x.a.Hq, h = head % (int)x.a.Hq, Tq = (int)x.a.Tq;
    int first = number * tile::ROWS, last = min(first + tile::ROWS, Tq) - 1;
    return {b,
            h,
            h / (int)(x.a.Hq / x.a.Hkv),
            first,
            head * Tq + first,
            (int)min(x.a.Tk, first + 1 + plan.diagonal),
            (int)min(x.a.Tk, last + 1 + plan.diagonal)};
}

/* O = 0, and of no key yet the maximum and the sum. */
template <typename tile>
static __device__ __forceinline__ void td_begin(float (&O)[tile::DOWNWARD][tile::O_WIDE][4],
                                                float (&m)[tile::DOWNWARD][2], float (&l)[tile::DOWNWARD][2]) {
#pragma unroll
    for (int i = 0; i < tile::DOWNWARD; i++) {
#pragma unroll
        for (int r = 0; r < 2; r++) m[i][r] = -INFINITY, l[i][r] = 0;
#pragma unroll
        for (int j = 0; j < tile::O_WIDE; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) O[i][j][e] = 0;
    }
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

/* What a rung with demands of its own does where they are not met: rung 6 takes everything. */
static inline td_status td_run_mma(const td_problem *problem, const td_tensor *tensors, void *stream, td_error *err) {
    const td_variant *mma =
        tensors[TD_Q].dtype == TD_BF16 ? &TD_GPU(attention_forward_mma_bf16) : &TD_GPU(attention_forward_mma_fp16);
    return mma->run(problem, tensors, NULL, stream, err);
}

#endif
