/* Cross-entropy, forward and backward at once: a block reads a row of logits for its maximum and sum, as an online
 * softmax does, then again, while the row is still in the caches, and leaves the gradient in its place. Logits and
 * probabilities never exist beside each other: with a vocabulary of 50,304 they are the largest arrays of the model. */
#include "internal.h"
#include "rows.h"

enum { THREADS = 512, WARPS = THREADS / 32 };

/* The running maximum and Σ exp(z − m). While all are −∞, exp is taken of z itself: −∞ − (−∞) would be NaN. */
struct running {
    float m, l;
};

static __device__ __forceinline__ float shift_of(float m) {
    return m == -INFINITY ? 0 : m;
}

static __device__ __forceinline__ running merge(running a, running b) {
    float m = fmaxf(a.m, b.m), shift = shift_of(m);
    return {m, a.l * expf(a.m - shift) + b.l * expf(b.m - shift)};
}

static __device__ __forceinline__ running warp_merge(running r) {
    for (int k = 16; k > 0; k /= 2)
        r = merge(r, {__shfl_xor_sync(0xffffffffu, r.m, k), __shfl_xor_sync(0xffffffffu, r.l, k)});
    return r;
}

/* Of a row, in every thread. */
static __device__ running block_merge(running *part, running r) {
    r = warp_merge(r);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = r;
    __syncthreads();
    r = part[0];
    for (int w = 1; w < WARPS; w++) r = merge(r, part[w]);
    return r;
}

template <int W, typename F>
__global__ __launch_bounds__(THREADS) void cross_entropy(float *loss, F *logits, const float *bias,
                                                         const int32_t *targets, int64_t vocab) {
    __shared__ running part[WARPS];
    int64_t n = blockIdx.x;
    F *row = logits + n * vocab;
    int target = targets[n], count = (int)vocab;
    running r = {-INFINITY, 0};
    td_few<W> z, b;
    for (int v = W * threadIdx.x; v < count; v += W * THREADS) {
        td_get(row + v, z), td_get(bias + v, b);
        float m = r.m;
#pragma unroll
        for (int i = 0; i < W; i++) m = fmaxf(m, z.x[i] += b.x[i]); /* NaN loses, and comes back through l */
        if (m > r.m) r.l *= expf(r.m - m), r.m = m;
        float shift = shift_of(m);
#pragma unroll
        for (int i = 0; i < W; i++) r.l += expf(z.x[i] - shift);
    }
    td_few<1> aim = {{0}};
    if (target >= 0 && threadIdx.x == 0) td_get(row + target, aim), aim.x[0] += bias[target];
    r = block_merge(part, r); /* its barrier stands before the row is written */
    float lse = r.m + logf(r.l);
    if (threadIdx.x == 0) loss[n] = target < 0 ? 0 : lse - aim.x[0];
    for (int v = W * threadIdx.x; v < count; v += W * THREADS) {
        td_get(row + v, z), td_get(bias + v, b);
        /* chosen, not multiplied by 0: a NaN in a row that does not count stays there */
#pragma unroll
        for (int i = 0; i < W; i++)
            z.x[i] = target < 0 ? 0 : expf(z.x[i] + b.x[i] - lse) - (v + i == target ? 1.0f : 0.0f);
        td_put(row + v, z);
    }
}

template <typename F>
static td_status launch(float *loss, F *z, const float *bias, const int32_t *targets, int64_t N, int64_t vocab,
                        void *stream, td_error *err) {
    dim3 grid((unsigned)N), block(THREADS);
    if (td_in_fours(vocab, z, bias, NULL, NULL))
        return TD_LAUNCH(err, (cross_entropy<4, F>), grid, block, 0, stream, loss, z, bias, targets, vocab);
    return TD_LAUNCH(err, (cross_entropy<1, F>), grid, block, 0, stream, loss, z, bias, targets, vocab);
}

td_status TD_GPU(cross_entropy)(float *loss, void *z, td_dtype factor, const float *bias, const int32_t *targets,
                                int64_t N, int64_t vocab, void *stream, td_error *err) {
    return factor == TD_BF16 ? launch(loss, (td_bf16 *)z, bias, targets, N, vocab, stream, err)
                             : launch(loss, (float *)z, bias, targets, N, vocab, stream, err);
}
