/* The online softmax straight to P, rounded and packed as the left operand of P V; and one that looks for the maximum
 * of a tile only when it must.
 *
 * The idea of the latter: any m will do in p = 2^(s' − m), O = Σ p v / Σ p: the maximum only keeps p from overflowing.
 * So trust the m of the tiles before, compute p, and look at the sum, which is needed anyhow: if no p was too large,
 * the tile is done without a comparison, without shuffles, and without a wait between the scores and the first
 * exponential. Else do it again, with the maximum: S must live until then.
 *
 * Too large is not only what overflows. P is rounded to 16 bits while l is not; the largest weight of a row whose m is
 * its maximum is 1, which rounds to itself, and any other weight that outweighs the row shows its rounding in O. So
 * what a lane adds in a tile must stay below half of what its row has: in the tile after the first one a lane's share
 * of the row is a quarter on average, and later less, but a single weight of more than half is always seen. */
#ifndef TANDEM_GPU_PACKED_SOFTMAX_H
#define TANDEM_GPU_PACKED_SOFTMAX_H

#include "wgmma_rows.h"

/* Scores that `row` and the row 8 below may not read become −∞; their keys count from `begin`. */
template <int N>
static __device__ __forceinline__ void td_mask_from(float (&S)[N], const td_attention_problem &a, int row, int begin) {
    int column = threadIdx.x % 4 * 2;
    int limit[2] = {(int)td_allowed_keys(a.mask, row, a.Tq, a.Tk) - begin - column,
                    (int)td_allowed_keys(a.mask, row + 8, a.Tq, a.Tk) - begin - column};
    td_mask_scores(S, limit);
}

/* P of S with the maxima that `shift` was made of, and what it adds to l. */
template <typename T, int N>
static __device__ __forceinline__ void td_weigh(uint32_t (&P)[N / 8][4], const float (&S)[N], const float (&shift)[2],
                                                float (&sum)[2], float scale) {
    float part[2][2] = {};
#pragma unroll
    for (int e = 0; e < N; e += 2) {
        int i = e / 2 % 2;
        float p0 = td_exp2(fmaf(S[e], scale, -shift[i])), p1 = td_exp2(fmaf(S[e + 1], scale, -shift[i]));
        part[i][0] += p0, part[i][1] += p1;
        P[e / 8][e / 2 % 4] = td_pack<T>(p0, p1);
    }
    sum[0] = part[0][0] + part[0][1], sum[1] = part[1][0] + part[1][1];
}

/* As td_softmax and td_round, but the scores are kept. */
template <typename T, int N>
static __device__ __forceinline__ void td_softmax_packed(uint32_t (&P)[N / 8][4], const float (&S)[N], float (&m)[2],
                                                         float (&l)[2], float (&alpha)[2], float scale) {
    float shift[2], sum[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        float most = fmaxf(S[2 * i], S[2 * i + 1]); /* NaN loses, and comes back through l */
#pragma unroll
        for (int e = 2 * i + 4; e < N; e += 4) most = fmaxf(most, fmaxf(S[e], S[e + 1]));
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
        float m_new = fmaxf(m[i], most * scale);
        shift[i] = td_shift(m_new);
        alpha[i] = td_exp2(m[i] - shift[i]);
        m[i] = m_new;
    }
    td_weigh<T>(P, S, shift, sum, scale);
#pragma unroll
    for (int i = 0; i < 2; i++) l[i] = alpha[i] * l[i] + sum[i];
}

/* Far below float16's largest number. */
enum { LARGEST_SUM = 8192 };

/* What a lane may add to its row's l without a look at the maximum: nothing, while the row has none. */
static __device__ __forceinline__ void td_trust(float (&bound)[2], const float (&m)[2], const float (&l)[2]) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
        float row = l[i] + __shfl_xor_sync(0xffffffffu, l[i], 1);
        row += __shfl_xor_sync(0xffffffffu, row, 2);
        bound[i] = m[i] == -INFINITY ? -1 : fminf(LARGEST_SUM, row / 2);
    }
}

/* As td_softmax_packed; false if O need not be rescaled. */
template <typename T, int N>
static __device__ __forceinline__ bool td_softmax_trusting(uint32_t (&P)[N / 8][4], const float (&S)[N], float (&m)[2],
                                                           float (&l)[2], float (&bound)[2], float (&alpha)[2],
                                                           float scale) {
    float sum[2];
    td_weigh<T>(P, S, m, sum, scale);
    bool trusted = sum[0] <= bound[0] && sum[1] <= bound[1]; /* NaN is not */
    trusted = __all_sync(0xffffffffu, trusted);
    if (trusted)
        l[0] += sum[0], l[1] += sum[1];
    else
        td_softmax_packed<T>(P, S, m, l, alpha, scale);
    td_trust(bound, m, l);
    return !trusted;
}

#endif
