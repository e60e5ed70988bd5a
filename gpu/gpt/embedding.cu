/* Token and position embedding. Backward adds up, for each row of a table, the gradients of every place that used it:
 * positions are the same places in each sequence; of a token's places the first gathers them all, in order, so that no
 * two blocks add to the same row, and the bits do not depend on who comes first. Looking for a token's other places
 * reads N² numbers of 4 bytes in all, from the caches: 16 MB for 2048 tokens. */
#include "internal.h"
#include "rows.h"

enum { THREADS = 256, WARPS = THREADS / 32 };

template <int W>
__global__ __launch_bounds__(THREADS) void embedding(float *x, const int32_t *tokens, const float *token,
                                                     const float *position, int64_t N, int64_t T, int64_t C) {
    int64_t e = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * W, n = e / C, c = e % C;
    if (n >= N) return;
    td_few<W> a, b;
    td_get(token + tokens[n] * C + c, a), td_get(position + n % T * C + c, b);
#pragma unroll
    for (int i = 0; i < W; i++) a.x[i] += b.x[i];
    td_put(x + e, a);
}

template <int W>
__global__ __launch_bounds__(THREADS) void position_gradient(float *dposition, const float *dx, int64_t B, int64_t T,
                                                             int64_t C) {
    int64_t e = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * W;
    if (e >= T * C) return;
    td_few<W> sum, next;
    td_get(dposition + e, sum);
    for (int64_t b = 0; b < B; b++) {
        td_get(dx + b * T * C + e, next);
#pragma unroll
        for (int i = 0; i < W; i++) sum.x[i] += next.x[i];
    }
    td_put(dposition + e, sum);
}

/* The places among n0 … n0 + 255 that hold `wanted`, in order, into `place`; returns how many. Each thread looks at one
 * place; a warp's votes give each of its finds a number. */
static __device__ int find_places(int *place, int *found, const int32_t *tokens, int64_t n0, int64_t N, int wanted) {
    int t = threadIdx.x, warp = t / 32, first = 0, all = 0;
    bool mine = n0 + t < N && tokens[n0 + t] == wanted;
    unsigned votes = __ballot_sync(0xffffffffu, mine);
    if (t % 32 == 0) found[warp] = __popc(votes);
    __syncthreads();
    for (int w = 0; w < WARPS; w++) {
        if (w < warp) first += found[w];
        all += found[w];
    }
    if (mine) place[first + __popc(votes & ((1u << t % 32) - 1))] = t;
    __syncthreads();
    return all;
}

/* Block (n, part): W · THREADS of the C columns of the row of token n. */
template <int W>
__global__ __launch_bounds__(THREADS) void token_gradient(float *dtoken, const float *dx, const int32_t *tokens,
                                                          int64_t N, int64_t C) {
    __shared__ int place[THREADS], found[WARPS];
    int64_t n = blockIdx.x, c = ((int64_t)blockIdx.y * THREADS + threadIdx.x) * W;
    int wanted = tokens[n];
    for (int64_t n0 = 0; n0 < n; n0 += THREADS)
        if (find_places(place, found, tokens, n0, n, wanted) > 0) return; /* an earlier place gathers it */
    td_few<W> sum = {}, next;
    for (int64_t n0 = n; n0 < N; n0 += THREADS) {
        int count = find_places(place, found, tokens, n0, N, wanted);
        if (c < C)
#pragma unroll 4
            for (int k = 0; k < count; k++) {
                td_get(dx + (n0 + place[k]) * C + c, next);
#pragma unroll
                for (int i = 0; i < W; i++) sum.x[i] += next.x[i];
            }
        __syncthreads(); /* before the list is written anew */
    }
    if (c >= C) return;
    td_get(dtoken + wanted * C + c, next);
#pragma unroll
    for (int i = 0; i < W; i++) next.x[i] += sum.x[i];
    td_put(dtoken + wanted * C + c, next);
}

td_status TD_GPU(embedding_forward)(float *x, const int32_t *tokens, const float *token, const float *position,
                                    int64_t B, int64_t T, int64_t C, void *stream, td_error *err) {
    int64_t N = B * T;
    if (td_in_fours(C, x, token, position, NULL))
        return TD_LAUNCH(err, embedding<4>, td_blocks(N * C, 4 * THREADS), dim3(THREADS), 0, stream, x, tokens, token,
                         position, N, T, C);
    return TD_LAUNCH(err, embedding<1>, td_blocks(N * C, THREADS), dim3(THREADS), 0, stream, x, tokens, token, position,
                     N, T, C);
}

template <int W>
static td_status backward(float *dtoken, float *dposition, const float *dx, const int32_t *tokens, int64_t B, int64_t T,
                          int64_t C, void *stream, td_error *err) {
    dim3 block(THREADS), grid((unsigned)(B * T), td_blocks(C, W * THREADS).x);
    td_status s =
        TD_LAUNCH(err, position_gradient<W>, td_blocks(T * C, W * THREADS), block, 0, stream, dposition, dx, B, T, C);
    return s ? s : TD_LAUNCH(err, token_gradient<W>, grid, block, 0, stream, dtoken, dx, tokens, B * T, C);
}

td_status TD_GPU(embedding_backward)(float *dtoken, float *dposition, const float *dx, const int32_t *tokens, int64_t B,
                                     int64_t T, int64_t C, void *stream, td_error *err) {
    if (B * T == 0) return TD_OK;
    return td_in_fours(C, dtoken, dposition, dx, NULL)
               ? backward<4>(dtoken, dposition, dx, tokens, B, T, C, stream, err)
               : backward<1>(dtoken, dposition, dx, tokens, B, T, C, stream, err);
}
