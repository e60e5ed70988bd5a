/* Bias and exact GELU in one pass over the product's result, which is kept without its bias: backward adds it again,
 * and sums the bias' gradient while it computes dx. */
#include "internal.h"
#include "rows.h"

static constexpr int THREADS = 256, COLUMNS = 16;
#define SQRT_HALF 0.70710678118654752f
#define INV_SQRT_TWO_PI 0.39894228040143268f

/* Φ(x), the normal distribution */
static __device__ __forceinline__ float normal_cdf(float x) {
    return 0.5f * (1 + erff(x * SQRT_HALF));
}

template <int W, typename F>
__global__ __launch_bounds__(THREADS) void bias_gelu(F *y, const float *x, const float *bias, int64_t count,
                                                     int64_t outs) {
    int64_t e = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * W;
    if (e >= count) return;
    td_few<W> v, b;
    td_get(x + e, v), td_get(bias + e % outs, b);
#pragma unroll
    for (int i = 0; i < W; i++) {
        float z = v.x[i] + b.x[i];
        v.x[i] = z * normal_cdf(z);
    }
    td_put(y + e, v);
}

/* dy/dz = Φ(z) + z·φ(z), φ(z) = exp(−z²/2)/√(2π) */
template <typename F>
__global__ __launch_bounds__(TD_COLUMN_THREADS) void bias_gelu_columns(F *dx, float *dbias, const float *dy,
                                                                       const float *x, const float *bias, int64_t N,
                                                                       int64_t outs) {
    __shared__ float room[TD_COLUMN_THREADS];
    int64_t c = (int64_t)blockIdx.x * COLUMNS + threadIdx.x % COLUMNS;
    float sum = 0, b = c < outs ? bias[c] : 0;
    if (c < outs)
#pragma unroll 4
        for (int64_t n = threadIdx.x / COLUMNS; n < N; n += TD_COLUMN_THREADS / COLUMNS) {
            float z = x[n * outs + c] + b, density = INV_SQRT_TWO_PI * expf(-0.5f * z * z);
            td_few<1> d = {{dy[n * outs + c] * fmaf(z, density, normal_cdf(z))}};
            sum += d.x[0];
            td_put(dx + n * outs + c, d);
        }
    sum = td_column_total(room, sum, COLUMNS);
    if (threadIdx.x < COLUMNS && c < outs) dbias[c] += sum;
}

template <typename F>
static td_status forward(F *y, const float *x, const float *bias, int64_t count, int64_t outs, void *stream,
                         td_error *err) {
    if (td_in_fours(outs, y, x, bias, NULL))
        return TD_LAUNCH(err, (bias_gelu<4, F>), td_blocks(count, 4 * THREADS), dim3(THREADS), 0, stream, y, x, bias,
                         count, outs);
    return TD_LAUNCH(err, (bias_gelu<1, F>), td_blocks(count, THREADS), dim3(THREADS), 0, stream, y, x, bias, count,
                     outs);
}

td_status TD_GPU(bias_gelu_forward)(void *y, td_dtype factor, const float *x, const float *bias, int64_t N,
                                    int64_t outs, void *stream, td_error *err) {
    return factor == TD_BF16 ? forward((td_bf16 *)y, x, bias, N * outs, outs, stream, err)
                             : forward((float *)y, x, bias, N * outs, outs, stream, err);
}

td_status TD_GPU(bias_gelu_backward)(void *dx, td_dtype factor, float *dbias, const float *dy, const float *x,
                                     const float *bias, int64_t N, int64_t outs, void *stream, td_error *err) {
    if (N == 0) return TD_OK;
    dim3 grid = td_blocks(outs, COLUMNS), block(TD_COLUMN_THREADS);
    return factor == TD_BF16 ? TD_LAUNCH(err, bias_gelu_columns<td_bf16>, grid, block, 0, stream, (td_bf16 *)dx, dbias,
                                         dy, x, bias, N, outs)
                             : TD_LAUNCH(err, bias_gelu_columns<float>, grid, block, 0, stream, (float *)dx, dbias, dy,
                                         x, bias, N, outs);
}
