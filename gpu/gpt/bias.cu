/* The bias of a linear layer, and rounding to bf16: what of a layer the product does not do. The bias' gradient is the
 * column sums of dy; where dy is about to be a product's factor, the same reading rounds it. */
#include "internal.h"
#include "rows.h"

static constexpr int THREADS = 256, COLUMNS = 16;

template <int W>
__global__ __launch_bounds__(THREADS) void round_to_bf16(td_bf16 *to, const float *from, int64_t count) {
    int64_t e = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * W;
    if (e >= count) return;
    td_few<W> v;
    td_get(from + e, v), td_put(to + e, v);
}

template <int W>
__global__ __launch_bounds__(THREADS) void add_bias(float *y, const float *bias, int64_t count, int64_t outs) {
    int64_t e = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * W;
    if (e >= count) return;
    td_few<W> v, b;
    td_get(y + e, v), td_get(bias + e % outs, b);
#pragma unroll
    for (int i = 0; i < W; i++) v.x[i] += b.x[i];
    td_put(y + e, v);
}

template <int WIDTH, typename F>
__global__ __launch_bounds__(TD_COLUMN_THREADS) void column_sums(float *dbias, td_bf16 *rounded, const F *dy,
                                                                 float scale, int64_t N, int64_t outs) {
    __shared__ float room[TD_COLUMN_THREADS];
    int64_t c = (int64_t)blockIdx.x * WIDTH + threadIdx.x % WIDTH;
    float sum = 0;
    if (c < outs)
#pragma unroll 4
        for (int64_t n = threadIdx.x / WIDTH; n < N; n += TD_COLUMN_THREADS / WIDTH) {
            float d = td_float(dy[n * outs + c]);
            sum += d;
            if (rounded) rounded[n * outs + c].bits = td_f32_to_bf16(d);
        }
    sum = td_column_total(room, sum, WIDTH);
    if (threadIdx.x < WIDTH && c < outs) dbias[c] = fmaf(scale, sum, dbias[c]);
}

/* `count` elements; the last that do not fill four go alone. */
td_status TD_GPU(round)(void *to, const float *from, int64_t count, void *stream, td_error *err) {
    td_bf16 *out = (td_bf16 *)to;
    int64_t fours = td_in_fours(0, to, from, NULL, NULL) ? count / 4 * 4 : 0;
    td_status s =
        TD_LAUNCH(err, round_to_bf16<4>, td_blocks(fours, 4 * THREADS), dim3(THREADS), 0, stream, out, from, fours);
    return s ? s
             : TD_LAUNCH(err, round_to_bf16<1>, td_blocks(count - fours, THREADS), dim3(THREADS), 0, stream,
                         out + fours, from + fours, count - fours);
}

td_status TD_GPU(bias_add)(float *y, const float *bias, int64_t N, int64_t outs, void *stream, td_error *err) {
    int64_t count = N * outs;
    if (td_in_fours(outs, y, bias, NULL, NULL))
        return TD_LAUNCH(err, add_bias<4>, td_blocks(count, 4 * THREADS), dim3(THREADS), 0, stream, y, bias, count,
                         outs);
    return TD_LAUNCH(err, add_bias<1>, td_blocks(count, THREADS), dim3(THREADS), 0, stream, y, bias, count, outs);
}

template <int WIDTH, typename F>
static td_status sums(float *dbias, void *rounded, const F *dy, float scale, int64_t N, int64_t outs, void *stream,
                      td_error *err) {
    return TD_LAUNCH(err, (column_sums<WIDTH, F>), td_blocks(outs, WIDTH), dim3(TD_COLUMN_THREADS), 0, stream, dbias,
                     (td_bf16 *)rounded, dy, scale, N, outs);
}

td_status TD_GPU(bias_backward)(float *dbias, void *rounded, const void *dy, td_dtype dtype, float scale, int64_t N,
                                int64_t outs, void *stream, td_error *err) {
    if (N == 0) return TD_OK;
    /* of 16-bit elements, 32 make whole pieces of memory */
    if (dtype == TD_BF16) return sums<2 * COLUMNS>(dbias, rounded, (const td_bf16 *)dy, scale, N, outs, stream, err);
    return sums<COLUMNS>(dbias, rounded, (const float *)dy, scale, N, outs, stream, err);
}
